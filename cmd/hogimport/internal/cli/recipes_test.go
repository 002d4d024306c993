package cli_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/vendortest"
	"github.com/hogapi/hogapi/hogapitest"
)

var (
	shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")
	exported   = regexp.MustCompile(`([A-Z_]+)=…|([A-Z_]+)=ph[cx]_…|([A-Z_]+)=[0-9a-z]+`)
)

// The recipes lead from the vendor's keys to a verified import: their commands are run word for word, by a shell.
func TestRecipes(t *testing.T) {
	t.Parallel()
	events := vendortest.Generate(vendortest.GenerateOptions{
		From: time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2023, 12, 10, 0, 0, 0, 0, time.UTC),
		Count: 3000, Offline: 0.02, Duplicated: 0.03, NoID: 0.02, Seed: 7,
	}) // some offline, some twice, some without an id
	for name, vendor := range map[string]http.Handler{
		"mixpanel.md":  newMixpanel(vendortest.MixpanelOptions{Events: events}),
		"amplitude.md": newAmplitude(vendortest.AmplitudeOptions{Events: events}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "recipes", name))
			require.NoError(t, err)
			blocks := shellBlock.FindAllStringSubmatch(string(text), -1)
			require.Len(t, blocks, 3, "how to install, the keys, the commands")
			require.Contains(t, blocks[0][1], "go install github.com/hogapi/hogapi/cmd/hogimport@latest")

			server, p := clitest.Serve(t)
			p.Env = slices.Concat(p.Env, vendorProgram(t, vendor).Env)
			requireKnown(t, blocks[1][1], p.Env)
			p.Env = append(p.Env, "HOGIMPORT_YES=true", "HOGIMPORT_RATE=none")

			commands := strings.Split(strings.TrimSpace(blocks[2][1]), "\n")
			require.Len(t, commands, 4)
			for _, command := range commands {
				r := p.Shell(t, 0, command)
				requireNoSecret(t, r)
				if strings.HasPrefix(command, "hogimport verify") {
					assert.Regexp(t, `Complete: [\d,]+ different events`, r.Stdout, "the export has some records twice")
				}
			}
			for _, page := range []string{"report.html", "verify.html"} {
				assert.FileExists(t, filepath.Join(p.Dir, page))
			}
			requireStored(t, server, events, map[string]string{"mixpanel.md": "$device:"}[name])
		})
	}
}

// requireKnown requires that the recipe sets variables which the test gives too, so that they have the right names.
func requireKnown(t *testing.T, block string, env []string) {
	t.Helper()
	var names []string
	for _, found := range exported.FindAllStringSubmatch(block, -1) {
		names = append(names, strings.Join(found[1:], ""))
	}
	require.GreaterOrEqual(t, len(names), 6)
	for _, name := range names {
		require.True(t, slices.ContainsFunc(env, func(variable string) bool { return strings.HasPrefix(variable, name+"=") }), name)
	}
}

// requireStored requires that the project has each event with an id, once, with its name, person and time.
func requireStored(t *testing.T, server *hogapitest.Server, events []vendortest.Event, visitor string) {
	t.Helper()
	key := func(name, person string, at time.Time) string {
		return strings.Join([]string{at.UTC().Format(time.RFC3339Nano), name, person}, " ")
	}
	var want, have []string
	for _, e := range events {
		person, name := e.User, e.Name
		if person == "" && e.Device != "" {
			person = visitor + e.Device
		}
		if name == "page" {
			name = "$pageview"
		}
		if person != "" {
			want = append(want, key(name, person, e.Time))
		}
	}
	ledger := server.Ledger()
	for e := range ledger.Last() {
		require.True(t, e.Historical)
		have = append(have, key(e.Event, e.DistinctID, e.Time))
	}
	slices.Sort(want)
	slices.Sort(have)
	require.Equal(t, want, have)
	require.Empty(t, ledger.Changed())
}
