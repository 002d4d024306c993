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
)

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
	raw, err := os.ReadFile(filepath.Join(p.Dir, "export.jsonl"))
	require.NoError(t, err)
	lines := strings.SplitAfter(string(raw), "\n")
	for _, i := range []int{4, 40} {
		lines[i] = fmt.Sprintf(`{"event":"Search","properties":{"time":1672531200,"$insert_id":"none%d"}}`+"\n", i)
	}
	require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "export.jsonl"), []byte(strings.Join(lines, "")), 0o600))
	r := p.Ends(t, 0, "check", "export.jsonl", "--format", "mixpanel", "--report", "report.html")
	requireNarrow(t, r.Stdout)
	page, err := os.ReadFile(filepath.Join(p.Dir, "report.html"))
	require.NoError(t, err)
	for _, text := range []string{r.Stdout, string(page)} {
		says(t, text, "2 records name no person (no distinct_id, $user_id or $device_id), so PostHog cannot store them")
		says(t, text, "For example export.jsonl:5, export.jsonl:41.")
		says(t, text, "so PostHog cannot store them. Nothing can be done here. For")
		says(t, text, "hogimport check export.jsonl --format mixpanel --left-out left-out.txt")
		assert.NotContains(t, text, "on purpose")
	}
	assert.Equal(t, 2, strings.Count(string(page), ">In the file<"), "a record from before login, and one from after it")
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
	requireNarrow(t, r.Stdout)
	raw, err := os.ReadFile(filepath.Join(p.Dir, "report.html"))
	require.NoError(t, err)
	for where, text := range map[string]string{"the text": strings.ReplaceAll(r.Stdout, " \\\n", ""), "the page": string(raw)} {
		for _, want := range []string{says1, says2, command, "--links joins the ids of each person first"} {
			assert.Contains(t, strings.Join(strings.Fields(text), " "), want, where)
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
	says(t, links.Stdout, "Add --device-prefix, or each person appears twice")
	says(t, strings.ReplaceAll(links.Stdout, " \\\n", ""), command)
	both := p.Run(t, "check", "export.jsonl", "--format", "mixpanel", "--device-prefix", "--links")
	assert.NotContains(t, both.Stdout, "Warning")
	says(t, both.Stdout, "OK: 30 records are from before login")
	says(t, strings.ReplaceAll(both.Stdout, " \\\n", ""), command)
	none := clitest.New(t, nil)
	export(t, none.Dir, "export.jsonl", 100, 0, time.UTC)
	assert.NotContains(t, none.Run(t, "check", "export.jsonl", "--format", "mixpanel").Stdout, "--links")
}
