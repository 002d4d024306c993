package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/vendortest"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
)

const exportSecret = vendortest.Secret

// exporter is a Mixpanel with some events a day, and a program that asks it.
func exporter(t *testing.T, handler http.HandlerFunc) (*clitest.Program, *atomic.Int64) {
	t.Helper()
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		handler(w, r)
	}))
	t.Cleanup(server.Close)
	p := clitest.New(t, nil)
	p.Env = []string{"MIXPANEL_API_SECRET=" + exportSecret, "HOGIMPORT_EXPORT_HOST=" + server.URL}
	return p, &requests
}

func dayOfEvents(w http.ResponseWriter, r *http.Request) {
	day := r.URL.Query().Get("from_date")
	at, _ := time.Parse(time.DateOnly, day)
	for i := range 500 {
		fmt.Fprintf(w, `{"event":"seen","properties":{"time":%d,"distinct_id":"u-%d","$insert_id":"%s-%d"}}`+"\n", at.UnixMilli(), i, day, i)
	}
}

func requireNoSecret(t *testing.T, r clitest.Result) {
	t.Helper()
	r.Never(t, exportSecret, "http://", "from_date").Narrow(t)
}

func TestFetch(t *testing.T) {
	t.Parallel()
	p, requests := exporter(t, dayOfEvents)
	args := []string{"fetch", "mixpanel", "--from", "2024-02-28", "--to", "2024-03-01", "export"}
	r := p.Ends(t, 0, args...)
	requireNoSecret(t, r)
	assert.Regexp(t, `^export has 1,500 events in 3 files, \d+\.\d KB\.\nNext:\n    hogimport plan export/mixpanel-\*\.json\.gz --format mixpanel --write \\\n`+
		`      migration\.yaml\n$`, r.Stdout)
	clitest.Says(t, r.Stderr, "0 of 3 days, 0 bytes, at 2024-02-28")

	p.Ends(t, 0, args...).Err(t, "3 of 3 days are there already.")
	assert.EqualValues(t, 3, requests.Load())

	r = p.Ends(t, 0, append(args, "--json", "--log", "json")...)
	var out map[string]any
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &out))
	assert.EqualValues(t, 1500, out["events"])
	assert.Equal(t, true, out["complete"])
	for line := range strings.Lines(r.Stderr) {
		require.True(t, json.Valid([]byte(line)), line)
	}
}

func TestFetchWithoutAnEvent(t *testing.T) {
	t.Parallel()
	p, _ := exporter(t, func(http.ResponseWriter, *http.Request) {})
	r := p.Ends(t, 0, "fetch", "mixpanel", "--from", "2024-03-01", "--to", "2024-03-01", "export")
	assert.Contains(t, r.Stdout, "There is no event in all of the range: check the dates, the project and\n--export-host.")
}

// Each end has its exit code, and a text with advice.
func TestFetchExitCodes(t *testing.T) {
	t.Parallel()
	today, lately := time.Now().UTC().Format(time.DateOnly), time.Now().UTC().AddDate(0, 0, -9).Format(time.DateOnly)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nobody := "http://" + listener.Addr().String()
	require.NoError(t, listener.Close())
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		env     string
		args    []string
		code    int
		text    string
	}{
		"no vendor":       {nil, "", []string{"fetch"}, 2, "give mixpanel or amplitude"},
		"no folder":       {nil, "", []string{"fetch", "mixpanel", "--from", "2024-01-01", "--to", "2024-01-01"}, 2, "give a new folder"},
		"no dates":        {nil, "", []string{"fetch", "mixpanel", "x"}, 2, "--from is missing"},
		"no day":          {nil, "", []string{"fetch", "mixpanel", "--from", "2024-02-30", "--to", "2024-03-01", "x"}, 2, `--from "2024-02-30" is not a day`},
		"unknown zone":    {nil, "", []string{"fetch", "mixpanel", "--from", "2024-02-03", "--to", "2024-03-01", "--zone", "Mars", "x"}, 2, `--zone "Mars" is not known`},
		"unknown region":  {nil, "HOGIMPORT_EXPORT_HOST=", []string{"fetch", "mixpanel", "--region", "mars", "--from", "2024-01-01", "--to", "2024-01-01", "x"}, 2, "give one of us, eu, in"},
		"wrong key":       {status(401), "", []string{"fetch", "mixpanel", "--from", "2024-01-01", "--to", "2024-01-01", "x"}, 5, "Mixpanel refused the key (401 Unauthorized) check the service account and its secret, that it has access to the project, and --export-host"},
		"refused":         {status(400), "", []string{"fetch", "mixpanel", "--from", "2024-01-01", "--to", "2024-01-01", "x"}, 1, "check the dates, the project and --export-host"},
		"today":           {dayOfEvents, "", []string{"fetch", "mixpanel", "--from", lately, "--to", today, "--days", "31", "x"}, 7, "run the same command again after 2"},
		"no folder there": {dayOfEvents, "", []string{"fetch", "mixpanel", "--from", "2024-01-01", "--to", "2024-01-01", "/proc/x"}, 1, "/proc/x cannot be made"},
		"nobody there":    {nil, "HOGIMPORT_EXPORT_HOST=" + nobody, []string{"fetch", "mixpanel", "--from", "2024-01-01", "--to", "2024-01-01", "x"}, 1, "Mixpanel cannot be reached: dial: connect"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "no folder there" && runtime.GOOS == "windows" {
				t.Skip("the folder can be made")
			}
			p, _ := exporter(t, c.handler)
			if c.env != "" {
				p.Env = append(p.Env, c.env) // the last one counts
			}
			r := p.Ends(t, c.code, c.args...).Err(t, c.text).Never(t, "--region") // the server was given by --export-host
			requireNoSecret(t, r)
		})
	}
}

// A key can be in a file, never in an argument.
func TestFetchWithAKeyFile(t *testing.T) {
	t.Parallel()
	var user atomic.Value
	p, _ := exporter(t, func(w http.ResponseWriter, r *http.Request) {
		name, password, _ := r.BasicAuth()
		user.Store(name + ":" + password)
		dayOfEvents(w, r)
	})
	p.Write(t, "key", exportSecret+"\n")
	p.Env = p.Env[1:]
	p.Ends(t, 0, "fetch", "mixpanel", "--from", "2024-01-01", "--to", "2024-01-01", "--service-account", "me", "--secret-file", "key",
		"--mixpanel-project", "7", "export")
	require.Equal(t, "me:"+exportSecret, user.Load())
}

// The next command reads the export as it was fetched: without the zone its times would be wrong.
func TestFetchKeepsTheZoneForTheNextCommand(t *testing.T) {
	t.Parallel()
	p, _ := exporter(t, dayOfEvents)
	args := []string{"fetch", "mixpanel", "--from", "2024-03-01", "--to", "2024-03-01", "export"}
	r := p.Ends(t, 0, append(args, "--zone", "US/Pacific")...).
		Out(t, "--format mixpanel --zone US/Pacific --write migration.yaml")
	assert.Equal(t, 4, strings.Count(r.Stdout, "\n"), "the command is on two lines")
	p.Ends(t, 2, args...).Err(t, "the download in export began with --zone US/Pacific, and this command is without --zone")
}

// contents are the files of an export.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(dir, "[am]*"))
	require.NoError(t, err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		all[filepath.Base(path)] = string(text)
	}
	return all
}

// Killed at any moment, again and again, a download leaves only files that are whole, and the same command ends with the records of
// the range, each as often as the vendor has it.
func TestFetchKilled(t *testing.T) {
	t.Parallel()
	events := march(4000)
	for kills, at := range map[int]atVendor{
		8:  atMixpanel(events, nil),
		25: atAmplitude(events, 12<<10),
	} {
		t.Run(at.name, func(t *testing.T) {
			t.Parallel()
			p := vendorProgram(t, at.server)
			args := append([]string{"fetch", at.name}, vendorRange...)
			p.Ends(t, 0, append(args, "whole")...)
			given := func() (whole int) {
				for _, r := range at.log.All() {
					if r.Whole {
						whole++
					}
				}
				return whole
			}
			undisturbed := given()
			at.slow(4 * time.Millisecond) // so that a kill finds it under way
			folder := filepath.Join(p.Dir, "killed")
			random := rand.New(rand.NewPCG(18, uint64(kills)))
			done, underWay, have := 0, 0, map[string]string{}
			latest := 150 // milliseconds; a busy machine takes longer to begin a part
			for done < kills || underWay == 0 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(20+random.IntN(latest))*time.Millisecond)
				cmd := p.Command(ctx, t, append(args, "killed")...) // killed with -9 when the context ends
				_ = cmd.Run()
				cancel()
				if cmd.ProcessState.ExitCode() == 0 {
					break // all is there
				}
				done++
				if _, err := os.Stat(filepath.Join(folder, ".hogimport-fetch", "part")); err == nil {
					underWay++
				} else if underWay == 0 {
					latest += latest / 2
				}
				now := contents(t, folder)
				for name, text := range have {
					require.Equal(t, text, now[name], "a file with the name of a part stays: "+name)
				}
				have = now
			}
			require.Positive(t, underWay, "some kills were within a part")
			t.Logf("killed %d times, %d times within a part", done, underWay)
			p.Ends(t, 0, append(args, "killed")...)
			requireExport(t, folder, events, at.isIn)
			assert.LessOrEqual(t, given(), 2*undisturbed+done, "at most one answer is lost to a kill")
		})
	}
}

// Ctrl-C ends a download at once, and it resumes.
func TestFetchInterrupted(t *testing.T) {
	t.Parallel()
	var isFast atomic.Bool
	p, requests := exporter(t, func(w http.ResponseWriter, r *http.Request) {
		if !isFast.Load() && r.URL.Query().Get("from_date") == "2024-03-02" {
			fmt.Fprintln(w, `{"event":"seen","properties":{}}`) // an answer that has begun
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		dayOfEvents(w, r)
	})
	args := []string{"fetch", "mixpanel", "--from", "2024-03-01", "--to", "2024-03-03", "export"}
	r := p.Until(t, func() bool { return requests.Load() == 2 }, os.Interrupt, args...)
	requireNoSecret(t, r)
	require.Equal(t, 4, r.Code, r.Stderr)
	clitest.Says(t, r.Stderr, "run the same command again: it downloads the missing parts")
	assert.Len(t, contents(t, filepath.Join(p.Dir, "export")), 1)

	isFast.Store(true)
	p.Ends(t, 0, args...)
	assert.Len(t, contents(t, filepath.Join(p.Dir, "export")), 3)
	assert.EqualValues(t, 4, requests.Load(), "only the day that was under way comes again")
}

// vendorProgram is a program with the keys of a vendor's server in its environment.
func vendorProgram(t *testing.T, handler http.Handler) *clitest.Program {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	p := clitest.New(t, nil)
	p.Env = []string{
		"HOGIMPORT_EXPORT_HOST=" + server.URL,
		"MIXPANEL_SERVICE_ACCOUNT=" + vendortest.User, "MIXPANEL_SERVICE_ACCOUNT_SECRET=" + exportSecret, "MIXPANEL_PROJECT_ID=" + vendortest.Project,
		"AMPLITUDE_API_KEY=" + vendortest.Key, "AMPLITUDE_SECRET_KEY=" + exportSecret,
	}
	return p
}

// march are 12 days of events: some offline, some twice, some without an id.
func march(count int) []vendortest.Event {
	return vendortest.Generate(time.Date(2024, 2, 25, 0, 0, 0, 0, time.UTC), time.Date(2024, 3, 8, 0, 0, 0, 0, time.UTC), count, 18)
}

// records are the lines of all files of an export, by the beginning of their $insert_id.
func records(t *testing.T, dir string) map[string]int {
	t.Helper()
	ids := map[string]int{}
	format := history.Format{Name: "ids", Convert: func(line []byte) ([]hogapi.Event, error) {
		var record struct {
			ID         string `json:"$insert_id"`
			Properties struct {
				ID string `json:"$insert_id"`
			} `json:"properties"`
		}
		require.NoError(t, json.Unmarshal(line, &record))
		ids[(strings.TrimPrefix(record.ID, "ajs-") + record.Properties.ID)[:8]]++
		return nil, history.Skip("it is counted")
	}}
	for _, err := range history.Files(format, filepath.Join(dir, "[am]*")).Events(t.Context(), hogapi.Position{}) {
		require.NoError(t, err)
	}
	return ids
}

// requireExport requires that the files have exactly the records of a range, as often as the vendor has them.
func requireExport(t *testing.T, dir string, events []vendortest.Event, isIn func(vendortest.Event) bool) {
	t.Helper()
	want := map[string]int{}
	for _, e := range events {
		if isIn(e) {
			want[e.ID[:8]] += e.Copies
		}
	}
	require.NotEmpty(t, want)
	require.Equal(t, want, records(t, dir))
}

var vendorRange = []string{"--from", "2024-02-27", "--to", "2024-03-06"}

// atVendor is a server of a vendor, and how to tell which of its events are in vendorRange.
type atVendor struct {
	name   string
	server http.Handler
	slow   func(pause time.Duration)
	log    *vendortest.Log
	isIn   func(vendortest.Event) bool
}

func atMixpanel(events []vendortest.Event, zone *time.Location) atVendor {
	m := vendortest.NewMixpanel(events, zone)
	return atVendor{"mixpanel", m, m.Slow, &m.Log, func(e vendortest.Event) bool { return m.Day(e) >= "2024-02-27" && m.Day(e) <= "2024-03-06" }}
}

func atAmplitude(events []vendortest.Event, maxBytes int64) atVendor {
	a := vendortest.NewAmplitude(events, maxBytes)
	return atVendor{"amplitude", a, a.Slow, &a.Log, func(e vendortest.Event) bool { return a.Hour(e) >= "20240227T00" && a.Hour(e) <= "20240306T23" }}
}

// Every record of the range is there as often as the vendor has it, and no day or hour is taken twice.
func TestFetchFromVendors(t *testing.T) {
	t.Parallel()
	many, few := march(4000), march(30)
	for name, c := range map[string]struct {
		at       atVendor
		args     []string
		requests int // of Amplitude at least
		says     string
	}{
		"mixpanel":                       {atMixpanel(many, nil), nil, 9, ""},
		"mixpanel, by three days":        {atMixpanel(many, nil), []string{"--days", "3"}, 4, ""},
		"mixpanel, an old project":       {atMixpanel(many, pacific(t)), []string{"--zone", "US/Pacific"}, 9, ""},
		"amplitude":                      {atAmplitude(many, 0), nil, 9, ""},
		"amplitude, too large for a day": {atAmplitude(many, 12<<10), nil, 9 * 3, ""},
		"amplitude, days without events": {atAmplitude(few, 0), nil, 9, "Files without an event: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := vendorProgram(t, c.at.server)
			r := p.Ends(t, 0, slices.Concat([]string{"fetch", c.at.name, "export"}, vendorRange, c.args)...).Out(t, c.says)
			requireNoSecret(t, r)
			events := many
			if c.says != "" {
				events = few
			}
			requireExport(t, filepath.Join(p.Dir, "export"), events, c.at.isIn)
			all := c.at.log.All()
			assert.GreaterOrEqual(t, len(all), c.requests)
			assert.Empty(t, c.at.log.Twice())
			if c.at.name == "mixpanel" {
				assert.Len(t, all, c.requests)
				for _, asked := range all {
					assert.Empty(t, asked.Error)
				}
			}
		})
	}
}

// Any pattern for the files in the folder imports the fetched files, also one that no shell has
// expanded.
func TestFetchedFilesByPattern(t *testing.T) {
	t.Parallel()
	events := march(300)
	for _, pattern := range []string{"export/*", "export/mixpanel-*.json.gz", "exp*/*"} {
		server, p := clitest.Serve(t)
		p.Env = append(p.Env, vendorProgram(t, vendortest.NewMixpanel(events, nil)).Env...)
		p.Ends(t, 0, "fetch", "mixpanel", "--days", "31", "--from", "2024-02-20", "--to", "2024-03-10", "export")
		p.Ends(t, 0, "run", pattern, "--format", "mixpanel", "--yes")
		want := slices.DeleteFunc(slices.Clone(events), func(e vendortest.Event) bool { return e.User+e.Device == "" })
		require.Equal(t, len(want), server.Ledger().Unique())
	}
}

var (
	shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")
	exported   = regexp.MustCompile(`([A-Z_]+)=…|([A-Z_]+)=ph[cx]_…|([A-Z_]+)=[0-9a-z]+`)
)

// The recipes lead from the vendor's keys to a verified import: their commands are run word for word, by a shell.
func TestRecipes(t *testing.T) {
	t.Parallel()
	events := vendortest.Generate(time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2023, 12, 10, 0, 0, 0, 0, time.UTC), 3000, 7)
	for name, vendor := range map[string]http.Handler{
		"mixpanel.md":  vendortest.NewMixpanel(events, nil),
		"amplitude.md": vendortest.NewAmplitude(events, 0),
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
