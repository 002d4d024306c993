package formats_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/generic"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
)

// A report shows the events that the format makes, counts the events of the project by day, and suggests where to cut.
func TestCheck(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	client := server.Client(t)
	var table strings.Builder
	table.WriteString("id,distinct_id,timestamp,plan,event\n")
	ids := []string{"ann@example.com", "4711", "0190a6a5-6f6c-7000-8000-000000000001", "a device"}
	for i := range 40 {
		at := longAgo.AddDate(0, 0, i/4)
		fmt.Fprintf(&table, "%d,%s,%s,team,event %d\n", i%5, ids[i%4], at.Format(time.RFC3339), i%4)
	}
	table.WriteString("x,ann,never,team,e\n")
	path := write(t, "table.csv", table.String())
	format, err := generic.Format(&generic.Options{Map: []string{"uuid=id"}})
	require.NoError(t, err)
	var known strings.Builder // events of a live SDK
	for i := range 30 {
		fmt.Fprintf(&known, `{"event":"live","distinct_id":"x","timestamp":%q}`+"\n", longAgo.AddDate(0, 0, 5+i/3).Format(time.RFC3339))
	}
	_, err = history.Import(t.Context(), client, history.JSONLines(write(t, "live.jsonl", known.String())), &history.Options{ID: "live", Rate: hogapi.RateUnlimited})
	require.NoError(t, err)

	zone := time.FixedZone("UTC+2", 7200)
	r, err := formats.Check(t.Context(), format, &formats.CheckOptions{Client: client, Zone: zone, Test: new(countTest), Import: &history.Options{ID: "x", MaxRejectShare: -1}}, path)
	require.NoError(t, err)
	assert.EqualValues(t, []int64{40, 1, 35}, []int64{r.Good, r.Rejected, r.DoubleIDs})
	assert.Equal(t, map[string]int64{formats.UUIDOfID: 40}, r.UUIDs)
	assert.Equal(t, "2024-05-01T14:00:00+02:00", r.OldestLocal.Format(time.RFC3339))
	assert.Equal(t, "41 records seen", r.Test)
	assert.Equal(t, map[string]int64{"e-mail": 10, "number": 10, "uuid": 10, "text": 10}, r.IDs)
	assert.Equal(t, map[string]int64{"plan": 40}, r.Kept)
	require.Len(t, r.Examples, 4, "three names, and one more kind of ids")
	assert.Contains(t, r.Examples[0].Before, `"plan":"team"`)
	assert.Contains(t, r.Examples[0].After[0], `"event":"event 0"`)
	require.Len(t, r.Held, 5)
	nothing, err := formats.Held(t.Context(), client, history.CheckReport{})
	require.NoError(t, err, "without good events there are no days to ask for")
	assert.Empty(t, nothing)
	_, err = formats.Held(t.Context(), nil, r.CheckReport)
	require.ErrorAs(t, err, new(*hogapi.InputError), "a client that is none")
	assert.Equal(t, formats.HeldDay{Day: "2024-05-06", Project: 3, Files: 4}, r.Held[0])
	assert.Equal(t, "2024-05-06", r.Cut())
	assert.Positive(t, r.DoubleUUIDs.Count)
	for _, want := range []string{`"plan" 40`, "2024-05-06", "import only what is before", "40 events", "billing", "format generic", "from 2024-05-01T14:00:00+02:00", "25.0 %", "41 records seen", "the project has"} {
		assert.Contains(t, r.String(), want)
	}

	text, err := json.Marshal(r)
	require.NoError(t, err)
	for _, want := range []string{`"good":40`, `"double_ids":35`, `"uuids":{"id":40}`, `"cut":"2024-05-06"`, `"oldest_local":"2024-05-01T14:00:00+02:00"`} {
		assert.Contains(t, string(text), want)
	}

	alone, err := formats.Check(t.Context(), format, nil, path)
	require.NoError(t, err)
	assert.Empty(t, alone.Held)
	assert.Empty(t, alone.Cut())
	_, err = formats.Check(t.Context(), history.Format{}, nil, path)
	require.Error(t, err)
}

// countTest counts records.
type countTest struct{ n int }

func (c *countTest) Add([]byte)     { c.n++ }
func (c *countTest) String() string { return fmt.Sprint(c.n, " records seen") }

// Uuids are told apart by where they come from.
func TestCheckOfUUIDs(t *testing.T) {
	t.Parallel()
	format, err := generic.Format(&generic.Options{Map: []string{"uuid=id", "event=const:e"}})
	require.NoError(t, err)
	const rest = `"distinct_id":"ann","timestamp":"2024-05-01T12:00:00Z"}` + "\n"
	path := write(t, "ids.jsonl", `{"id":"0190A6A5-6f6c-7000-8000-000000000001",`+rest+`{"id":"x",`+rest+`{"id":"x","n":1,`+rest+`{`+rest)
	r, err := formats.Check(t.Context(), format, nil, path)
	require.NoError(t, err)
	assert.Equal(t, map[string]int64{formats.UUIDOfVendor: 1, formats.UUIDOfID: 2, formats.UUIDOfContent: 1}, r.UUIDs)
	assert.EqualValues(t, 1, r.DoubleIDs)
}
