package hogapi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// visits is a format as a user writes it: a visit becomes an event, or several, or none.
var visits = hogapi.Format{
	Name: "visits",
	Convert: func(record []byte) ([]hogapi.Event, error) {
		var v struct {
			Visitor, Page string
			At            time.Time
			Clicks        int
		}
		if err := json.Unmarshal(record, &v); err != nil {
			return nil, err
		}
		switch v.Page {
		case "":
			return nil, errors.New("a visit of no page")
		case "internal":
			return nil, hogapi.Skip("internal")
		}
		events := []hogapi.Event{{Name: "$pageview", DistinctID: v.Visitor, Timestamp: v.At, Properties: map[string]any{"page": v.Page}}}
		for i := range v.Clicks {
			events = append(events, hogapi.Event{Name: fmt.Sprint("click ", i), DistinctID: v.Visitor, Timestamp: v.At})
		}
		return events, nil
	},
	ID: func(record []byte) uuid.UUID {
		var v struct{ ID uuid.UUID }
		_ = json.Unmarshal(record, &v)
		return v.ID
	},
}

const someVisits = `{"id":"0190a6a5-6f6c-7000-8000-000000000001","visitor":"ann","page":"/","at":"2024-05-01T12:00:00Z"}
{"visitor":"ben","page":"/a","at":"2024-05-01T12:00:00Z","clicks":2}
{"visitor":"ben", "page":"/a", "at":"2024-05-01T12:00:00Z", "clicks":2}
{"id":"0190a6a5-6f6c-7000-8000-000000000002","visitor":"ann","at":"2024-05-01T12:00:01Z"}
{"page":"internal"}
{"visitor":"","page":"/b","at":"2024-05-01T12:00:01Z","clicks":1}
`

func TestFileSource(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	folder := t.TempDir()
	options := hogapi.ImportOptions{
		ID: "visits", Rate: hogapi.Unpaced, MaxRejectShare: -1,
		Checkpoint: hogapi.FileCheckpoint(filepath.Join(folder, "checkpoint")), Rejects: hogapi.RejectFile(filepath.Join(folder, "rejects")),
	}
	path := writeFile(t, "visits.jsonl", someVisits)
	receipt := imported(t, server.Client(t), hogapi.FileSource(visits, path), &options)
	requireBalanced(t, receipt)
	assert.Equal(t, "visits: visits.jsonl", receipt.Source)
	assert.EqualValues(t, []int64{7, 3, 1}, []int64{receipt.Acknowledged, receipt.Rejected, receipt.Skipped})
	assert.Equal(t, 7, server.Ledger().Unique(), "equal records in a file are two events each")
	assert.Equal(t, map[string]int64{"internal": 1}, receipt.Skips)

	// Another mapping is not the same import.
	changed := visits
	changed.Options = "v2"
	_, err := server.Client(t).Import(t.Context(), hogapi.FileSource(changed, path), &options)
	assert.Equal(t, "checkpoint: begun with the source", requireInputError(t, err).Field)

	// What was rejected is imported with a corrected format, and is what the corrected format makes of the file.
	corrected := visits
	corrected.Convert = func(record []byte) ([]hogapi.Event, error) {
		var v map[string]any
		if err := json.Unmarshal(record, &v); err != nil {
			return nil, err
		}
		if v["page"] == nil {
			v["page"] = "(none)"
		}
		if v["visitor"] == "" {
			v["visitor"] = "nobody"
		}
		record, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		return visits.Convert(record)
	}
	again := hogapi.ImportOptions{ID: "visits-rejects", Rate: hogapi.Unpaced}
	imported(t, server.Client(t), hogapi.RejectedRecords(filepath.Join(folder, "rejects"), corrected.Convert), &again)
	direct := hogapitest.New()
	imported(t, direct.Client(t), hogapi.FileSource(corrected, writeFile(t, "other.jsonl", someVisits)), &hogapi.ImportOptions{ID: "visits", Rate: hogapi.Unpaced})
	assert.Equal(t, stored(t, direct), stored(t, server))
}

// Equal records in different files are one event, also where one ends a file and the other begins the next.
func TestEqualRecordsInDifferentFiles(t *testing.T) {
	t.Parallel()
	visit := `{"visitor":"ann","page":"/","at":"2024-05-01T12:00:00Z"}` + "\n"
	source := hogapi.FileSource(visits, writeFile(t, "a.jsonl", visit+visit), writeFile(t, "b.jsonl", visit))
	report, err := hogapi.Check(t.Context(), source, &hogapi.ImportOptions{ID: "visits"})
	require.NoError(t, err)
	assert.EqualValues(t, 1, report.DoubleUUIDs.Count)
	server := hogapitest.New()
	imported(t, server.Client(t), source, &hogapi.ImportOptions{ID: "visits", Rate: hogapi.Unpaced})
	assert.Equal(t, 2, server.Ledger().Unique())
}
