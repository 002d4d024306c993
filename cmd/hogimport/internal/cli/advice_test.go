package cli_test

import (
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

// A user can run the commands that a check advises as they are written: with flags that the command
// has for this format, and with the zone and format that the check has found.
func TestAdviceCanBeFollowed(t *testing.T) {
	t.Parallel()
	const event = `{"event":"e","distinct_id":"p","timestamp":"2024-05-01T12:00:00Z"`
	young := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	for name, c := range map[string]struct {
		file, content string
		args          []string
		says, never   []string
	}{
		"a table that needs a zone": {
			"a.csv", "event,distinct_id,timestamp\ne,p,2024-05-01 12:00:00\n", nil,
			[]string{`the time "2024-05-01 12:00:00" has no offset: give --zone, such as UTC`, "hogimport check a.csv --format csv --zone ZONE"},
			[]string{"look like --format", "another format", "Options."},
		},
		"a time of a zone that is not named": {
			"a.csv", "event,distinct_id,at\ne,p,2024-05-01 12:00 PST\n", []string{"--map", "time=at|layout:2006-01-02 15:04 MST"},
			[]string{`PST of the time "2024-05-01 12:00 PST" is not known in UTC: give --zone, a time zone whose clocks have it`}, nil,
		},
		"another format": {
			"a.jsonl", `{"event":"e","properties":{"time":1714564800,"distinct_id":"p"}}` + "\n", nil,
			[]string{"The files look like --format mixpanel.", "hogimport check a.jsonl --format mixpanel --report"}, []string{"--map", "--zone"},
		},
		"lines of PostHog": {
			"a.jsonl", event + `,"what":1}` + "\n", nil, []string{"Correct --format, or the files"}, []string{"--map", "--zone"},
		},
		"two ids in a table": {
			"a.csv", "event,user,distinct_id,timestamp\ne,p,q,2024-05-01T12:00:00Z\n", []string{"--map", "person=user"},
			[]string{"Take the property with --map person=distinct_id, or leave it out with --map drop=distinct_id"}, nil,
		},
		"two ids in lines": {
			"a.jsonl", event + `,"properties":{"distinct_id":"q"}}` + "\n", nil, []string{"Leave the wrong one out of the files"}, []string{"--map"},
		},
		"a young event": {
			"a.jsonl", strings.ReplaceAll(event, "2024-05-01T12:00:00Z", young) + "}\n", nil,
			[]string{"an age of at least 2 days: the service bills younger events (a.jsonl:1"}, []string{"GateOptions"},
		},
		"a merge for good": {
			"a.jsonl", strings.ReplaceAll(event, `"e"`, `"$merge_dangerously"`) + `,"properties":{"alias":"a"}}` + "\n", nil,
			[]string{"so hogimport does not send it", "want another name, since hogimport does not send this: it merges persons"}, []string{"GateOptions", "Allow it"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := clitest.New(t, nil)
			require.NoError(t, os.WriteFile(filepath.Join(p.Dir, c.file), []byte(c.content), 0o600))
			r := p.Ends(t, 3, append([]string{"check", c.file}, c.args...)...)
			for _, text := range c.says {
				says(t, strings.ReplaceAll(r.Stdout+r.Stderr, "\\\n", ""), text)
			}
			for _, text := range c.never {
				assert.NotContains(t, r.Stdout+r.Stderr, text)
			}
		})
	}
}

// The zone that was given stays in the next command where the test of it finds no better one.
func TestTheNextCommandKeepsTheZone(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	export(t, p.Dir, "e.json", 300, 0, time.FixedZone("", 20*3600+900))
	r := p.Ends(t, 3, "check", "e.json", "--format", "mixpanel", "--zone", "Asia/Tokyo")
	says(t, r.Stdout, "hogimport check e.json --format mixpanel --zone Asia/Tokyo --report")
}

// A fix sorts nothing, so nothing is said of --sort.
func TestAFixDoesNotAdviseToSort(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, hogapitest.New())
	var lines strings.Builder
	lines.WriteString("event,distinct_id,timestamp,at\n")
	for i := range 60 {
		at := time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, (i*7)%60)
		lines.WriteString("e,p," + map[bool]string{true: "never", false: at.Format(time.RFC3339)}[i < 40] + "," + at.Format(time.RFC3339) + "\n")
	}
	require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "e.csv"), []byte(lines.String()), 0o600))
	r := p.Ends(t, 0, "run", "e.csv", "--yes", "--rate", "none", "--max-rejects", "none")
	says(t, r.Stdout, "--sort")
	r = p.Ends(t, 0, "fix", "--yes", "--rate", "none", "--map", "time=at")
	says(t, r.Stdout, "40 events acknowledged")
	assert.NotContains(t, r.Stdout+r.Stderr, "--sort")
}

// Advice at the end of a check is advice that can be followed.
func TestAdviceOfAFailedCheckCanBeFollowed(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	put := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(p.Dir, name), []byte(text), 0o600))
	}
	put("loc.csv", "event,distinct_id,timestamp\na,b,2024-05-01 12:00:00\n")
	r := p.Ends(t, 3, "check", "loc.csv")
	says(t, r.Stdout, "--zone ZONE --report report.html")
	assert.NotContains(t, r.Stderr, "allow it with --max-rejects", "an import needs one good event")
	r = p.Ends(t, 3, "check", "loc.csv", "--max-rejects", "none")
	says(t, r.Stderr, "no event would be sent: the files have 1 record; rejected: 1, left out: 0 Are they the right files, and is it the right --format, --zone or --map?")
	r = p.Ends(t, 3, "run", "loc.csv", "--yes")
	says(t, r.Stderr, "Checked the only record: 0 good, 1 rejected, 0 left out.")
	says(t, strings.ReplaceAll(r.Stderr, "\\\n", ""), "All reasons with examples: hogimport check "+filepath.Join(p.Dir, "loc.csv")+" --format csv")

	p.Events(t, "own.jsonl", 3, nil)
	r = p.Ends(t, 3, "run", "own.jsonl", "--format", "mixpanel", "--yes")
	says(t, strings.ReplaceAll(r.Stderr, "\\\n", ""), "all of this would be left out; nothing was sent The files look like --format jsonl. Is it the right --format or --zone? Check them as that format: hogimport check "+filepath.Join(p.Dir, "own.jsonl")+" --format jsonl")

	// No zone fits most of these live events.
	var live strings.Builder
	for i := range 12 {
		at := 1652825148 + int64(i)*600
		fmt.Fprintf(&live, `{"event":"a","properties":{"time":%d,"distinct_id":"p","$insert_id":"i%d","$mp_api_timestamp_ms":%d,"mp_processing_time_ms":%d}}`+"\n",
			at, i, (at+7*3600-int64(i%4/3)*3600)*1000, (at+7*3600-int64(i%4/3)*3600)*1000+50)
	}
	put("live.json", live.String())
	r = p.Ends(t, 3, "check", "live.json", "--format", "mixpanel")
	says(t, r.Stdout, "Say in which zone the times are, such as UTC or US/Pacific. Then check again.")
	says(t, strings.ReplaceAll(r.Stdout, "\\\n", ""), "hogimport check live.json --format mixpanel --zone ZONE --report report.html")
	r = p.Ends(t, 3, "check", "live.json", "--format", "amplitude")
	says(t, r.Stdout, "Warning: Some files need a look 1 file has no record that makes an event. Is --format right?")
	assert.NotContains(t, r.Stdout, "?.")

	server.Script(ops.Query, hogapitest.Status(401))
	r = p.Run(t, "check", "live.json", "--format", "mixpanel", "--zone", "US/Pacific")
	says(t, r.Stderr, "warning: the project was not asked which days it has: counting what the project has: 401 ")
	assert.NotContains(t, r.Stderr+r.Stdout, "hogapi: ")
}
