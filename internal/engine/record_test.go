package engine

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/inside"
)

// enqueue admits a record.
func enqueue(p *Engine, wait bool, events ...*Event) error {
	given := make([]event.Event, len(events))
	for i, ev := range events {
		ev.Public(&given[i])
	}
	return p.Enqueue(context.Background(), given, given[0].Position, wait)
}

// A dryRun gives each event the uuid that an import gives it.
func TestDryRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		own, skipped, placeless := past("own", 4), past("skipped", 3), past("placeless", 0)
		own.UUID, skipped.Skip = uuid.MustParse("461fc531-6209-5996-b1b1-a8aa997a6516"), "x"
		placeless.UUID, placeless.Position = uuid.MustParse("461fc531-6209-5996-b1b1-a8aa997a6517"), event.Position{}
		events := []*Event{
			past("a", 1), past("b", 1), past("", 1), past("c", 1), past("", 2), past("e", 1), past("d", 2), skipped, past("h", 3), own, past("f", 2), placeless, past("g", 2),
		}
		w := newWorld()
		_, err := w.run(t.Context(), t, source(nil, events...))
		require.NoError(t, err)

		rules := w.Gate
		rules.Protocol = event.ProtocolBatch
		r := NewDryRun("imp", rules, w.Stamps, w.Seed)
		var ids []string
		for _, ev := range events {
			if out, _ := r.Next(ev); out != nil {
				ids = append(ids, out.UUID.String())
			}
		}
		assert.Equal(t, w.ids, ids)
	})
}

// A record that made no event is a reject as it was read; of a mapped one the record is kept too.
func TestRejectsOfRecords(t *testing.T) {
	t.Parallel()
	fault := &event.Error{Reason: "bad_record"}
	bad := &Event{Position: at(1), Fault: fault, IsBad: true, Provenance: inside.Provenance{Record: []byte("{"), Where: "f:1", Format: "segment"}}
	rejected := func(ev *Event) *event.Reject {
		ev.reject(fault)
		return ev.rejected
	}
	r := rejected(bad)
	assert.Nil(t, r.Event)
	assert.Equal(t, "{", string(r.Raw))
	assert.Equal(t, "f:1", r.Where)
	assert.Equal(t, "segment", NoteOf(r).Format)
	mapped := past("", 2)
	mapped.Record = []byte("as it was")
	assert.Nil(t, rejected(mapped).Raw)
	mapped.IsMapped = true
	assert.Equal(t, "as it was", string(rejected(mapped).Raw))
	mapped.Properties = map[string]any{"f": func() {}, "g": 1}
	assert.Equal(t, []string{"properties.f"}, NoteOf(rejected(mapped)).LeftOut)
}

// The events of a caller of Enqueue stay on its stack: an event costs no memory of its own.
func TestFillKeepsNoPointer(t *testing.T) {
	onHeap = new(Event)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		given := event.Event{Name: "a", DistinctID: "ann"}
		onHeap.Fill(&given)
	}))
}

var onHeap *Event // as the events of a longer record are
