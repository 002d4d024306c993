package umami_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/formattest"
	"github.com/hogapi/hogapi/formats/umami"
	"github.com/hogapi/hogapi/history"
)

func TestGolden(t *testing.T) {
	t.Parallel()
	formattest.Golden(t, umami.Format(nil), "website_event.csv", "website_event.golden.json")
	formattest.Golden(t, umami.Format(&umami.Options{LookUpIP: true}), "query.jsonl", "query.golden.json")
}

// The table in the documentation is the one that the code runs.
func TestDoc(t *testing.T) { formattest.Doc(t, umami.Table) }

// Files of other tables, and totals, are refused before their first row.
func TestOtherTables(t *testing.T) {
	t.Parallel()
	formattest.Refusals(t, umami.Format(nil), map[string]string{
		"session_id,website_id,browser":                      "another table of Umami than website_event",
		"session_id,data_key,created_at":                     "another table of Umami than website_event",
		"event_data_id,website_event_id,event_key":           "this is Umami's table event_data, which has properties of events and no events. Join it with website_event",
		"website_id,session_id,event_id,data_key,created_at": "this is Umami's table event_data",
		"x,y":                                    "The export button of Umami writes totals",
		"event_id,session_id,created_at":         "",
		"created_at,event_id,session_id,more,c2": "",
	})
}

// Visits become sessions, and an event of a visit has that of the others.
func TestSessions(t *testing.T) {
	t.Parallel()
	source := formats.Sorted(history.Files(umami.Format(nil), filepath.Join("testdata", "website_event.csv")), t.TempDir())
	var counts formats.SessionCounts
	sessions := formats.Sessions(source, &formats.SessionOptions{Key: umami.SessionKey, OnEnd: func(c formats.SessionCounts) { counts = c }})
	for _, err := range sessions.Events(t.Context(), hogapi.Position{}) {
		require.NoError(t, err)
	}
	assert.EqualValues(t, 1, counts.Sessions)
	assert.EqualValues(t, 4, counts.Events)
}

func FuzzConvert(f *testing.F) { formattest.Fuzz(f, "query.jsonl", true, umami.Format(nil)) }
