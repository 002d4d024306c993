package cli_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hogapi/hogapi/hogapitest"
	parquetgo "github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/internal/testevents"
)

// exportRow is a row of an export to S3.
type exportRow struct {
	UUID             string    `parquet:"uuid"`
	Event            string    `parquet:"event"`
	DistinctID       string    `parquet:"distinct_id"`
	Properties       *string   `parquet:"properties,optional"`
	PersonProperties *string   `parquet:"person_properties,optional"`
	ElementsChain    string    `parquet:"elements_chain"`
	Timestamp        time.Time `parquet:"timestamp,timestamp(microsecond)"`
	CreatedAt        time.Time `parquet:"created_at,timestamp(microsecond)"`
}

// exportRows are rows of which each later one is older.
func exportRows(first, n int) (rows []exportRow) {
	for i := first; i < first+n; i++ {
		properties := fmt.Sprintf(`{"n":%d,"$set":{"plan":"p%d"}}`, i, i)
		rows = append(rows, exportRow{
			UUID: fmt.Sprintf("0188d3f2-1111-7aaa-8bbb-%012d", i), Event: "e", DistinctID: "p", Properties: &properties,
			Timestamp: time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC).Add(-time.Duration(i) * time.Second),
			CreatedAt: time.Date(2024, 1, 9, 0, 0, 0, 0, time.UTC),
		})
	}
	return rows
}

func writeParquet(t *testing.T, p *clitest.Program, name string, rows []exportRow) {
	t.Helper()
	var b bytes.Buffer
	w := parquetgo.NewGenericWriter[exportRow](&b, parquetgo.Compression(&parquetgo.Zstd))
	_, err := w.Write(rows)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	p.Write(t, name, b.String())
}

func lineOf(r exportRow) string {
	return fmt.Sprintf(`{"uuid":"%s","event":"%s","distinct_id":"%s","properties":%s,"elements_chain":"","timestamp":"%s","created_at":"2024-01-09T00:00:00Z"}`+"\n",
		r.UUID, r.Event, r.DistinctID, *r.Properties, r.Timestamp.Format(time.RFC3339))
}

// The files that PostHog writes by default are Parquet with zstd, in several parts with a manifest. Their rows have no
// order; they are sorted without a flag, and mixed with JSON lines, as after a change of the export.
func TestPostHogParquet(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	bad := exportRows(300, 1)
	bad[0].UUID = "not one"
	writeParquet(t, p, "export/a-0.parquet", append(exportRows(0, 200), bad...))
	writeParquet(t, p, "export/a-1.parquet.zst", exportRows(200, 50))
	writeParquet(t, p, "export/a-2.parquet", nil) // a part without rows
	p.Write(t, "export/a_manifest.json", "{\n  \"files\": [\n    \"a-0.parquet\"\n  ]\n}\n")
	lines := ""
	for _, r := range exportRows(250, 50) {
		lines += lineOf(r)
	}
	p.Write(t, "export/b.jsonl", lines)

	p.Ends(t, 2, "check", "export/a-0.parquet").Err(t, "look like --format posthog")
	p.Ends(t, 0, "check", "export/*", "--format", "posthog").
		Out(t, "read 301", "would be sent 300", "--sort").Never(t, "manifest", "Warning: The files are not in order of time", "of the unpacked text")

	p.Ends(t, 0, "run", "export/*", "--format", "posthog", "--yes").
		Err(t, "a-0.parquet, row 201").Never(t, "without --sort", "of the unpacked text")
	var n []string
	for e := range server.Ledger().Events() {
		assert.Equal(t, "p", e.DistinctID)
		n = append(n, strings.Split(string(e.Properties), `"n":`)[1][:3])
	}
	require.Len(t, n, 300)
	assert.True(t, strings.HasPrefix(n[0], "299") && strings.HasPrefix(n[299], "0"), "oldest first: %v … %v", n[0], n[299])
	sent := len(server.Ledger().Requests())
	p.Ends(t, 0, "run", "export/*", "--format", "posthog", "--yes")
	assert.Len(t, server.Ledger().Requests(), sent, "complete: nothing is sent again")
}

// Whoever has sorted the files says so; an import that an earlier release began unsorted continues in its order.
func TestPostHogIsSortedUnlessSaid(t *testing.T) {
	t.Parallel()
	_, p := clitest.Serve(t)
	writeParquet(t, p, "a.parquet", exportRows(0, 10))
	p.Ends(t, 0, "run", "a.parquet", "--format", "posthog", "--yes", "--sort=false").
		Err(t, "without --sort persons can end with old values")
	_, err := os.Stat(filepath.Join(p.Dir, "hogimport-state", "a", "sorted"))
	require.ErrorIs(t, err, os.ErrNotExist)
	p.Ends(t, 0, "run", "a.parquet", "--format", "posthog", "--yes")
	p.Ends(t, 0, "run", "a.parquet", "--format", "posthog", "--yes", "--state", "other")
	_, err = os.Stat(filepath.Join(p.Dir, "other", "sorted"))
	require.NoError(t, err)
}

// check counts the data that an export does not return, and says how cookieless events change.
func TestPostHogCheckCountsLosses(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	line := func(i int, event, properties string) string {
		return fmt.Sprintf(`{"uuid":"0188d3f2-1111-7aaa-8bbb-%012d","event":"%s","distinct_id":"u","timestamp":"2024-01-02T00:00:00Z","created_at":"2024-01-02T00:00:00Z","properties":%s}`+"\n", i, event, properties)
	}
	p.Write(t, "export.jsonl", line(1, "$identify", `{"$anon_distinct_id":"a"}`)+line(2, "$set", `{"$set":{"a":1}}`)+line(3, "$autocapture", `{}`)+
		line(4, "$ai_generation", `{"$ai_model":"m"}`)+line(5, "$pageview", `{"$cookieless_mode":true,"$groups":{"company":"acme"},"$group_3":"acme","$import_job_id":"old"}`)+
		line(6, "$groupidentify", `{"$group_type":"company","$group_key":"acme"}`))
	p.Ends(t, 0, "check", "export.jsonl", "--format", "posthog").Out(t,
		"1 of 2 $identify and $set events have no properties of the person", "1 of 1 $groupidentify events have no properties of the group",
		"1 of 1 $autocapture events have no elements", "1 of 1 AI events have no input and no output", "1 of 6 events are of cookieless visitors",
		"would be sent 6")
	losses := []string{
		"of 6 rows", "1 of 2 $identify and $set events have no properties of the person", "1 of 1 $groupidentify events have no properties of the group",
		"1 of 1 $autocapture events have no elements", "1 of 1 AI events have no input and no output", "1 of 6 events are of cookieless visitors",
		"1 of 6 events are of an earlier import", "1 of 1 keys of groups in $group_0 to $group_4 stay out",
	}
	p.Ends(t, 0, "run", "export.jsonl", "--format", "posthog", "--yes").Out(t, losses...)
	server.Project(hogapitest.DefaultProject).AddEvent(hogapitest.StoredEvent{ // so that the import's id tells the events apart
		Event: "$pageview", DistinctID: "stranger", Time: time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC),
	})
	p.Ends(t, 0, "verify").Out(t, losses...).Narrow(t)
	require.NoError(t, os.Remove(filepath.Join(p.Dir, "export.jsonl")))
	p.Ends(t, 0, "verify").Out(t, losses...)
	for e := range server.Ledger().Events() {
		assert.NotContains(t, string(e.Properties), "$cookieless_mode")
		assert.NotContains(t, string(e.Properties), "$group_3")
	}
	assert.Equal(t, 6, server.Ledger().Len())
}

// check compares the group types in the rows with the project's.
func TestPostHogCheckComparesGroupTypes(t *testing.T) {
	t.Parallel()
	const row = `{"event":"e","distinct_id":"u","timestamp":"2024-01-02T00:00:00Z","properties":{"$groups":{"company":"acme","team/x":"a"},"$group_0":"acme","$group_1":"a"}}` + "\n"
	const has = `{"$groups":{%s}}`
	for _, c := range []struct{ groups, want, never string }{
		{"", "The project lacks the types of groups company, team/x", "another number"},
		{`"company":1,"team/x":2`, "keys of groups in $group_0 to $group_4 stay out", "types of groups"},
		{`"team/x":1,"company":2`, "2 types of groups have another number in the project company is number 0 in the old project and 1 in this one, team/x is number 1", "lacks"},
		{`"a":1,"b":1,"c":1,"d":1`, "The project has no room for 1 type of groups", "another number"},
		{`"a":1,"b":1,"c":1,"d":1,"e":1`, "The project has no room for 2 types of groups Events have groups of the types company, team/x, which it lacks, and a project has five at most; this one has a, b, c, d, e.", "another number"},
	} {
		server, p := clitest.Serve(t)
		p.Write(t, "a.jsonl", row)
		server.Project(hogapitest.DefaultProject).AddEvent(hogapitest.StoredEvent{Event: "e", DistinctID: "x", Properties: fmt.Appendf(nil, has, c.groups)})
		p.Ends(t, 0, "check", "a.jsonl", "--format", "posthog").Out(t, c.want).Never(t, c.never)
	}
	server := hogapitest.New(hogapitest.WithPersonalKey(hogapitest.DefaultPersonalKey, "query:read"))
	p := clitest.New(t, server)
	p.Write(t, "a.jsonl", row)
	p.Ends(t, 0, "check", "a.jsonl", "--format", "posthog").Out(t, "groups of the types company, team/x", "To compare them with those of the project, the key needs the scope group:read")
	p.With("POSTHOG_PERSONAL_API_KEY=").Ends(t, 0, "check", "a.jsonl", "--format", "posthog").
		Out(t, "groups of the types company, team/x", "set POSTHOG_PERSONAL_API_KEY (scope group:read)")
}

// An import of Parquet that is killed, at random moments while it sorts and while it sends, ends with each event once.
func TestPostHogParquetIsKilled(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	rows, kills, rate := testevents.Sized(2000, 10_000, 333_334), testevents.Sized(4, 20), testevents.Sized("3000", "3000", "none")
	for i := range 3 {
		writeParquet(t, p, fmt.Sprintf("export/%d.parquet", i), exportRows(i*rows, rows))
	}
	run := []string{"run", "export/*.parquet", "--format", "posthog", "--yes", "--rate", rate}
	for kill := range kills {
		least := 0 // sent; the first quarter sorts
		if sends := kill - kills/4; sends >= 0 {
			least = min(max(server.Ledger().Unique(), 3*rows*sends/kills)+1, 3*rows)
		}
		p.Until(t, func() bool {
			if least == 0 {
				found, _ := filepath.Glob(filepath.Join(p.Dir, "hogimport-state", "export", "sorted", "*"))
				return len(found) > 0 && rand.IntN(50) == 0
			}
			return server.Ledger().Unique() >= least && rand.IntN(5) == 0
		}, os.Kill, run...)
	}
	p.Ends(t, 0, append(run[:len(run)-1], "none")...)
	assert.Equal(t, 3*rows, server.Ledger().Unique())
	p.Ends(t, 0, "verify").Out(t, "Nothing that the", "rows have was left out or changed.")
}
