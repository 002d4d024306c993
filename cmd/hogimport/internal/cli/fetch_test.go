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
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/vendortest"
)

const exportSecret = "s3cr3t-0123456789abcdef"

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

// noonOf is a time of a day, in milliseconds.
func noonOf(day string) int64 {
	at, _ := time.Parse(time.DateOnly, day)
	return at.Add(12 * time.Hour).UnixMilli()
}

func dayOfEvents(w http.ResponseWriter, r *http.Request) {
	day := r.URL.Query().Get("from_date")
	for i := range 500 {
		fmt.Fprintf(w, `{"event":"seen","properties":{"time":%d,"distinct_id":"u-%d","$insert_id":"%s-%d"}}`+"\n", noonOf(day), i, day, i)
	}
}

func requireNoSecret(t *testing.T, r clitest.Result) {
	t.Helper()
	for _, text := range []string{exportSecret, "http://", "from_date"} {
		require.NotContains(t, r.Stdout+r.Stderr, text)
	}
	for line := range strings.SplitSeq(r.Stdout+r.Stderr, "\n") {
		require.LessOrEqual(t, len(line), 80, line)
	}
}

func TestFetch(t *testing.T) {
	t.Parallel()
	p, requests := exporter(t, dayOfEvents)
	args := []string{"fetch", "mixpanel", "--from", "2024-02-28", "--to", "2024-03-01", "export"}
	r := p.Run(t, args...)
	requireNoSecret(t, r)
	require.Zero(t, r.Code, r.Stderr)
	assert.Regexp(t, `^export has 1,500 events in 3 files, \d+\.\d KB\.\nNext:\n    hogimport check export/mixpanel-\*\.json\.gz --format mixpanel --report \\\n`+
		`      check\.html --left-out left-out\.txt\n$`, r.Stdout)
	says(t, r.Stderr, "0 of 3 days, 0 bytes, at 2024-02-28")

	r = p.Run(t, args...)
	require.Zero(t, r.Code, r.Stderr)
	says(t, r.Stderr, "3 of 3 days are there already.")
	assert.EqualValues(t, 3, requests.Load())

	r = p.Run(t, append(args, "--json", "--log", "json")...)
	require.Zero(t, r.Code, r.Stderr)
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
	r := p.Run(t, "fetch", "mixpanel", "--from", "2024-03-01", "--to", "2024-03-01", "export")
	require.Zero(t, r.Code, r.Stderr)
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
		"no keys":         {nil, "", []string{"fetch", "amplitude", "--from", "2024-01-01", "--to", "2024-01-01", "x"}, 2, "set AMPLITUDE_API_KEY and AMPLITUDE_SECRET_KEY"},
		"unknown region":  {nil, "HOGIMPORT_EXPORT_HOST=", []string{"fetch", "mixpanel", "--region", "mars", "--from", "2024-01-01", "--to", "2024-01-01", "x"}, 2, "give one of us, eu, in"},
		"wrong key":       {status(401), "", []string{"fetch", "mixpanel", "--from", "2024-01-01", "--to", "2024-01-01", "x"}, 5, "Mixpanel refused the key (401 Unauthorized) check the service account and its secret, that it has access to the project, and --export-host"},
		"other project":   {status(403), "", []string{"fetch", "mixpanel", "--from", "2024-01-01", "--to", "2024-01-01", "x"}, 5, "Mixpanel refused the key (403 Forbidden)"},
		"refused":         {status(400), "", []string{"fetch", "mixpanel", "--from", "2024-01-01", "--to", "2024-01-01", "x"}, 1, "check the dates, the project and --export-host"},
		"today":           {dayOfEvents, "", []string{"fetch", "mixpanel", "--from", lately, "--to", today, "--days", "31", "x"}, 7, "run the same command again after 2"},
		"no folder there": {dayOfEvents, "", []string{"fetch", "mixpanel", "--from", "2024-01-01", "--to", "2024-01-01", "/proc/x"}, 1, "/proc/x cannot be made"},
		"nobody there":    {nil, "HOGIMPORT_EXPORT_HOST=" + nobody, []string{"fetch", "mixpanel", "--from", "2024-01-01", "--to", "2024-01-01", "x"}, 1, "Mixpanel cannot be reached: dial: connect: connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := exporter(t, c.handler)
			if c.env != "" {
				p.Env = append(p.Env, c.env) // the last one counts
			}
			r := p.Run(t, c.args...)
			requireNoSecret(t, r)
			require.Equal(t, c.code, r.Code, r.Stderr)
			require.Contains(t, clitest.Words(r.Stderr), c.text)
			require.NotContains(t, r.Stderr, "--region", "the server was given by --export-host")
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
	r := p.Run(t, "fetch", "mixpanel", "--from", "2024-01-01", "--to", "2024-01-01", "--service-account", "me", "--secret-file", "key",
		"--mixpanel-project", "7", "export")
	require.Zero(t, r.Code, r.Stderr)
	require.Equal(t, "me:"+exportSecret, user.Load())
}

// The next command reads the export as it was fetched: without the zone its times would be wrong.
func TestFetchKeepsTheZoneForTheNextCommand(t *testing.T) {
	t.Parallel()
	p, _ := exporter(t, dayOfEvents)
	args := []string{"fetch", "mixpanel", "--from", "2024-03-01", "--to", "2024-03-01", "export"}
	r := p.Ends(t, 0, append(args, "--zone", "US/Pacific")...)
	says(t, r.Stdout, "--format mixpanel --zone US/Pacific --report check.html --left-out left-out.txt")
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
	m := newMixpanel(vendortest.MixpanelOptions{Events: events, Unlimited: true})
	a := newAmplitude(vendortest.AmplitudeOptions{Events: events, MaxBytes: 12 << 10})
	for vendor, c := range map[string]struct {
		server http.Handler
		script *vendortest.Script
		log    *vendortest.Log
		isIn   func(vendortest.Event) bool
		kills  int
	}{"mixpanel": {m, &m.Script, &m.Log, inMixpanel(m), 8}, "amplitude": {a, &a.Script, &a.Log, inAmplitude(a), 25}} {
		t.Run(vendor, func(t *testing.T) {
			t.Parallel()
			p := vendorProgram(t, c.server)
			args := append([]string{"fetch", vendor}, vendorRange...)
			p.Ends(t, 0, append(args, "whole")...)
			undisturbed := len(c.log.All())
			for range 100 {
				c.script.Next(vendortest.Fault{Pause: 4 * time.Millisecond}) // so that a kill finds it under way
			}
			folder := filepath.Join(p.Dir, "killed")
			random := rand.New(rand.NewPCG(18, uint64(c.kills)))
			done, underWay, have := 0, 0, map[string]string{}
			for done < c.kills {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(20+random.IntN(150))*time.Millisecond)
				cmd := p.Command(ctx, t, append(args, "killed")...) // killed with -9 when the context ends
				_ = cmd.Run()
				cancel()
				if cmd.ProcessState.Exited() {
					break // all is there
				}
				done++
				if _, err := os.Stat(filepath.Join(folder, ".hogimport-fetch", "part")); err == nil {
					underWay++
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
			requireExport(t, folder, events, c.isIn)
			// At most one answer is lost to a kill, and a range that is too large may be tried again.
			assert.LessOrEqual(t, len(c.log.All()), 2*(undisturbed+done))
		})
	}
}

// Ctrl-C ends a download at once, and it resumes.
func TestFetchInterrupted(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 10)
	var isSlow atomic.Bool
	isSlow.Store(true)
	p, _ := exporter(t, func(w http.ResponseWriter, r *http.Request) {
		if isSlow.Load() && r.URL.Query().Get("from_date") == "2024-03-02" {
			_, _ = w.Write([]byte(`{"event":`))
			_ = http.NewResponseController(w).Flush()
			arrived <- struct{}{}
			<-r.Context().Done()
			return
		}
		dayOfEvents(w, r)
	})
	args := []string{"fetch", "mixpanel", "--from", "2024-03-01", "--to", "2024-03-03", "export"}
	cmd := p.Command(t.Context(), t, args...)
	finish := clitest.Start(t, cmd)
	<-arrived
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	r := finish()
	requireNoSecret(t, r)
	require.Equal(t, 4, r.Code, r.Stderr)
	says(t, r.Stderr, "run the same command again: it downloads what is not there yet")
	assert.Len(t, contents(t, filepath.Join(p.Dir, "export")), 1)

	isSlow.Store(false)
	r = p.Run(t, args...)
	require.Zero(t, r.Code, r.Stderr)
	assert.Len(t, contents(t, filepath.Join(p.Dir, "export")), 3)
}
