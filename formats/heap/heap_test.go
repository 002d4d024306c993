package heap_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/heap"
	"github.com/hogapi/hogapi/formats/internal/formattest"
)

func TestGolden(t *testing.T) {
	t.Parallel()
	formattest.Golden(t, heap.Format(nil), "pageviews.csv", "pageviews.golden.json")
	formattest.Golden(t, heap.Format(nil), "rows.jsonl", "rows.golden.json")
}

// The table in the documentation is the one that the code runs.
func TestDoc(t *testing.T) { formattest.Doc(t, heap.Table) }

// The name of an event that Heap has recorded by itself is in no row.
func TestName(t *testing.T) {
	t.Parallel()
	row := []byte(`{"event_id":"2","user_id":1,"time":"2024-02-29T23:59:59Z","type":"click"}`)
	assert.Contains(t, formattest.Convert(t, heap.Format(nil), row).Reject, "set Options.Event")
	r := formattest.Convert(t, heap.Format(&heap.Options{Event: "Buy - Click"}), row)
	require.Len(t, r.Events, 1)
	assert.Equal(t, "Buy - Click", r.Events[0].Event)
	assert.Contains(t, string(r.Events[0].Properties), `"$event_type":"click"`)
	assert.Equal(t, `mapping 4; event="Buy - Click", person=set`, heap.Format(&heap.Options{Event: "Buy - Click", PersonProperties: formats.PersonSet}).Options)
}

// Tables without events are refused before their first row.
func TestOtherTables(t *testing.T) {
	t.Parallel()
	formattest.Refusals(t, heap.Format(nil), map[string]string{
		"session_id,user_id,time,library": "the table sessions of Heap has no events",
		"a,b":                             "this is not a table of Heap Connect",
		"EVENT_ID,USER_ID,TIME":           "", "from_user_id,to_user_id": "", "user_id,joindate": "",
	})
}

func FuzzConvert(f *testing.F) { formattest.Fuzz(f, "rows.jsonl", true, heap.Format(nil)) }
