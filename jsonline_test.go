package hogapi_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

func TestParseJSONLineMakesTheEventsOfAFile(t *testing.T) {
	t.Parallel()
	lines := []string{
		`{"event":"a","distinct_id":"ann","timestamp":"2024-05-01T12:30:00+02:00","properties":{"n":12345678901234567890.10}}`,
		`{"event":"b","distinct_id":7,"timestamp":"2024-05-01T12:30:00Z","properties":{"x":1},"$set":{"name":"Ann"}}`,
		`{"event":"c","distinct_id":"ben","timestamp":"2024-05-01T12:30:00Z","$set_once":{"first":true}}`,
		`{"event":"d","colour":"red"}`,
		`{"uuid":"498f1d9c-6b1e-4c37-9d2e-0a5b7c1d2e3f","event":"d","colour":"red"}`,
		`no JSON`,
	}
	path := writeFile(t, "a.jsonl", strings.Join(lines, "\n"))
	records, err := readSource(t.Context(), hogapi.JSONLinesFile(path), hogapi.Position{})
	require.NoError(t, err)
	require.Len(t, records, len(lines))

	var events []hogapi.Event // all at once: none shares the memory of another
	var faults []error
	for _, line := range lines {
		ev, err := hogapi.ParseJSONLine([]byte(line))
		events, faults = append(events, ev), append(faults, err)
	}
	for i, want := range records {
		if want.Bad != "" {
			require.Error(t, faults[i])
			assert.Contains(t, want.Bad, faults[i].Error())
			assert.Equal(t, hogapi.Event{UUID: want.UUID}, events[i])
			continue
		}
		require.NoError(t, faults[i])
		got := events[i]
		assert.Equal(t, want.Name, got.Name)
		assert.Equal(t, want.DistinctID, got.DistinctID)
		assert.Equal(t, want.Properties, string(got.RawProperties))
		assert.True(t, got.Position.IsZero())
	}
}

// The uuid of a position is known without an import, and is the one that the import gives.
func TestPositionUUIDIsTheImports(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	line := `{"event":"a","distinct_id":"ann","timestamp":"2024-05-01T12:30:00Z"}` + "\n"
	path := writeFile(t, "a.jsonl", line+line)
	_, err := server.Client(t).Import(t.Context(), hogapi.JSONLinesFile(path), hogapi.ImportOptions{ID: "shop", Rate: hogapi.Unpaced})
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	for _, offset := range []int64{int64(len(line)), info.Size()} {
		id := hogapi.Position{Key: "a.jsonl", Offset: offset}.UUID("shop")
		assert.Len(t, server.Ledger().Find(id), 1)
		assert.Empty(t, server.Ledger().Find(hogapi.Position{Key: "a.jsonl", Offset: offset}.UUID("shop-2")))
	}
}
