package cli_test

import (
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
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// A user can run the commands that a check advises as they are written: with flags that the command
// has for this format, and with the zone and format that the check has found.
func TestAdviceCanBeFollowed(t *testing.T) {
	t.Parallel()
	const event = `{"event":"e","distinct_id":"p","timestamp":"2024-05-01T12:00:00Z"`
	young := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	live := liveEvents()
	for name, c := range map[string]struct {
		file, content string
		args          []string
		says, never   []string
	}{
		"a table that needs a zone": {
			"a.csv", "event,distinct_id,timestamp\ne,p,2024-05-01 12:00:00\n", nil,
			[]string{`the time "2024-05-01 12:00:00" has no offset: give --zone, such as UTC`, "hogimport check a.csv --format csv --zone ZONE --report report.html"},
			[]string{"look like --format", "another format", "Options.", "allow it with --max-rejects"}, // an import needs one good event
		},
		"no good event": {
			"a.csv", "event,distinct_id,timestamp\na,b,2024-05-01 12:00:00\n", []string{"--max-rejects", "none"},
			[]string{"no event would be sent: the files have 1 record; rejected: 1, left out: 0 Are they the right files, and is it the right --format, --zone or --map?"}, nil,
		},
		"no zone that fits": {
			"live.json", live, []string{"--format", "mixpanel"},
			[]string{"Say in which zone the times are, such as UTC or US/Pacific. Then check again.", "hogimport check live.json --format mixpanel --zone ZONE --report report.html"}, nil,
		},
		"no event in a file": {
			"live.json", live, []string{"--format", "amplitude"},
			[]string{"Warning: Some files need a look 1 file has no record that makes an event. Is --format right?"}, []string{"?."},
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
			p.Write(t, c.file, c.content)
			r := p.Ends(t, 3, append([]string{"check", c.file}, c.args...)...).Never(t, c.never...)
			says(t, r.Stdout+r.Stderr, c.says...)
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
	p.Write(t, "e.csv", lines.String())
	p.Ends(t, 0, "run", "e.csv", "--yes", "--rate", "none", "--max-rejects", "none").Out(t, "--sort")
	p.Ends(t, 0, "fix", "--yes", "--rate", "none", "--map", "time=at").Out(t, "40 events acknowledged").Never(t, "--sort")
}

// liveEvents are records of Mixpanel whose times no zone fits.
func liveEvents() string {
	var live strings.Builder
	for i := range 12 {
		at := 1652825148 + int64(i)*600
		stored := (at + 7*3600 - int64(i%4/3)*3600) * 1000
		fmt.Fprintf(&live, `{"event":"a","properties":{"time":%d,"distinct_id":"p","$insert_id":"i%d","$mp_api_timestamp_ms":%d,"mp_processing_time_ms":%d}}`+"\n",
			at, i, stored, stored+50)
	}
	return live.String()
}

// Advice at the end of a run that sends nothing, and of a check that cannot ask the project.
func TestAdviceOfARunThatSendsNothing(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	p.Write(t, "loc.csv", "event,distinct_id,timestamp\na,b,2024-05-01 12:00:00\n")
	p.Ends(t, 3, "run", "loc.csv", "--yes").Err(t, "Checked the only record: 0 good, 1 rejected, 0 left out.",
		"All reasons with examples: hogimport check "+filepath.Join(p.Dir, "loc.csv")+" --format csv")
	p.Events(t, "own.jsonl", 3, nil)
	p.Ends(t, 3, "run", "own.jsonl", "--format", "mixpanel", "--yes").Err(t, "all of this would be left out; nothing was sent "+
		"The files look like --format jsonl. Is it the right --format or --zone? Check them as that format: hogimport check "+filepath.Join(p.Dir, "own.jsonl")+" --format jsonl")
	server.Script(ops.Query, hogapitest.Status(401))
	p.Write(t, "live.json", liveEvents())
	p.Run(t, "check", "live.json", "--format", "mixpanel", "--zone", "US/Pacific").
		Err(t, "warning: the project was not asked which days it has: counting what the project has: 401 ").Never(t, "hogapi: ")
}

// logins writes an export of ten people of a project with simplified ID merge: each has three records before login and
// two after it.
func logins(t *testing.T, dir, name string) {
	t.Helper()
	var b strings.Builder
	at := time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 50 {
		id := fmt.Sprintf(`"distinct_id":"$device:d%d"`, i%10)
		if i >= 30 {
			id = fmt.Sprintf(`"distinct_id":"user-%d","$user_id":"user-%[1]d","$device_id":"d%[1]d"`, i%10)
		}
		when := at.Add(time.Duration(i) * time.Hour)
		fmt.Fprintf(&b, `{"event":"Search","properties":{"time":%d,%s,"$insert_id":"id%06d","mp_processing_time_ms":%d}}`+"\n", when.Unix(), id, i, when.UnixMilli()+700)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(b.String()), 0o600))
}

// A record that is left out is shown with its reason, its place and advice.
func TestCheckSaysWhatIsLeftOutAndWhere(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	logins(t, p.Dir, "export.jsonl")
	raw := p.Read(t, "export.jsonl")
	lines := strings.SplitAfter(raw, "\n")
	for _, i := range []int{4, 40} {
		lines[i] = fmt.Sprintf(`{"event":"Search","properties":{"time":1672531200,"$insert_id":"none%d"}}`+"\n", i)
	}
	p.Write(t, "export.jsonl", strings.Join(lines, ""))
	r := p.Ends(t, 0, "check", "export.jsonl", "--format", "mixpanel", "--report", "report.html")
	r.Narrow(t)
	page := p.Read(t, "report.html")
	for _, text := range []string{r.Stdout, page} {
		says(t, text, "2 records name no person (no distinct_id, $user_id or $device_id), so PostHog cannot store them")
		says(t, text, "For example export.jsonl:5, export.jsonl:41.")
		says(t, text, "so PostHog cannot store them. Nothing can be done here. For")
		says(t, text, "hogimport check export.jsonl --format mixpanel --left-out left-out.txt")
		assert.NotContains(t, text, "on purpose")
	}
	assert.Equal(t, 2, strings.Count(page, ">In the file<"), "a record from before login, and one from after it")
}

// Without the two flags every person would be there twice, so check says it wherever it is read, and the command has them.
func TestCheckSaysHowPeopleAreJoined(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	logins(t, p.Dir, "export.jsonl")
	const says1 = "30 records are from before login"
	const says2 = "Add --device-prefix --links, or each person appears twice"
	const command = "hogimport run export.jsonl --format mixpanel --device-prefix --links"
	r := p.Ends(t, 0, "check", "export.jsonl", "--format", "mixpanel", "--report", "report.html")
	r.Narrow(t)
	raw := p.Read(t, "report.html")
	for where, text := range map[string]string{"the text": clitest.Words(r.Stdout), "the page": raw} {
		for _, want := range []string{says1, says2, command, "--links joins the ids of each person first"} {
			assert.Contains(t, clitest.Words(text), want, where)
		}
	}
	asJSON := p.Run(t, "check", "export.jsonl", "--format", "mixpanel", "--zone", "UTC", "--json")
	var report formats.CheckReport
	require.NoError(t, json.Unmarshal([]byte(asJSON.Stdout), &report))
	assert.Contains(t, report.Test, says1)
	assert.Contains(t, report.Test, says2)
	assert.NotContains(t, report.Test, "Options.", "flags, and not names of the library")

	with := p.Run(t, "check", "export.jsonl", "--format", "mixpanel", "--device-prefix")
	says(t, with.Stdout, "Add --links, or each person appears twice")
	assert.NotContains(t, with.Stdout, "Add --device-prefix")
	links := p.Run(t, "check", "export.jsonl", "--format", "mixpanel", "--links")
	says(t, links.Stdout, "Add --device-prefix, or each person appears twice", command)
	both := p.Run(t, "check", "export.jsonl", "--format", "mixpanel", "--device-prefix", "--links")
	assert.NotContains(t, both.Stdout, "Warning")
	says(t, both.Stdout, "OK: 30 records are from before login", command)
	none := clitest.New(t, nil)
	export(t, none.Dir, "export.jsonl", 100, 0, time.UTC)
	assert.NotContains(t, none.Run(t, "check", "export.jsonl", "--format", "mixpanel").Stdout, "--links")
}
