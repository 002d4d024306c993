package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// Times of a project in Pacific time look like UTC, and would be stored 8 hours wrong: run says so before it sends.
func TestLocalTimesAreNamedBeforeTheyAreSent(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	export(t, p.Dir, "e.json", 300, 0, pacific(t))
	args := []string{"run", "e.json", "--format", "mixpanel", "--rate", "none", "--yes", "--state"}
	said := func(args ...string) string {
		r := p.Ends(t, 0, args...)
		return clitest.Words(r.Stderr)
	}
	refused := p.Ends(t, 2, append(args, "none")...)
	says(t, refused.Stderr, "hogimport: the times look local, not UTC: most events would be stored at the wrong hour. Nothing was sent",
		"give --zone America/Los_Angeles, which fits, or another zone with these clocks; or --zone UTC to send the times as they are")
	assert.Empty(t, server.Calls(ops.Capture))
	assert.NoFileExists(t, filepath.Join(p.Dir, "none/import.json"))

	const local = "hogimport: warning: the times look local, not UTC"
	text := said(append(args, "utc", "--zone", "UTC")...)
	assert.Contains(t, text, local, "it is said all the same")
	assert.NotContains(t, said(append(args, "utc", "--zone", "UTC")...), local, "once it is sent it is too late")

	text = said(append(args, "right", "--zone", "US/Pacific")...)
	assert.NotContains(t, text, "warning: the times", "US/Pacific has the clocks of Los Angeles")
	assert.NotContains(t, text, "--zone")
	assert.Contains(t, said(append(args, "other", "--zone", "Asia/Tokyo")...), "warning: the times do not fit Asia/Tokyo")

	lines := said(append(args, "json", "--log", "json", "--zone", "UTC")...)
	var warned bool
	for line := range strings.SplitSeq(strings.ReplaceAll(lines, "} {", "}\n{"), "\n") {
		var fields struct{ Level, Msg string }
		require.NoError(t, json.Unmarshal([]byte(line), &fields), line)
		warned = warned || fields.Level == "WARN" && strings.Contains(fields.Msg, "look local")
	}
	assert.True(t, warned, lines)
}

func TestFilesWhoseZoneCannotBeTested(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, hogapitest.New())
	mixpanelExport(t, p, 30)
	run := []string{"run", "export/*.gz", "--format", "mixpanel", "--yes", "--rate", "none"}
	r := p.Run(t, append(run, "--state", "a")...)
	says(t, r.Stderr, "warning: the time zone could not be tested")
	r = p.Run(t, append(run, "--state", "b", "--zone", "US/Pacific")...)
	assert.NotContains(t, r.Stderr, "warning")
}

// export writes a Mixpanel export of n events, 7 hours apart, in the time of a zone as if it were
// UTC. Every bad-th record has no time; 0: every record has one.
func export(t *testing.T, dir, name string, n, bad int, zone *time.Location) {
	t.Helper()
	var b bytes.Buffer
	at := time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		arrived := at.Add(time.Duration(i) * 7 * time.Hour)
		_, ahead := arrived.In(zone).Zone()
		stamp := fmt.Sprintf(`"time":%d,`, arrived.Unix()+int64(ahead))
		if bad > 0 && i%bad == 0 {
			stamp = ""
		}
		fmt.Fprintf(&b, `{"event":"%s","properties":{%s"distinct_id":"user-%d","$insert_id":"id%06d","plan":"pro <b>","mp_processing_time_ms":%d}}`+"\n",
			[]string{"Sign up", "Search", "<script>alert(1)</script>"}[i%3], stamp, i%19, i, arrived.UnixMilli()+700)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600))
}

func pacific(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("America/Los_Angeles")
	require.NoError(t, err)
	return zone
}
