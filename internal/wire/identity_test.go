package wire

import (
	"testing"

	"github.com/hogapi/hogapi/event"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestIdentity(t *testing.T) {
	a, b := NewIdentity("one"), NewIdentity("two")
	p := event.Position{Key: "events.jsonl", Offset: 10}
	ids := map[uuid.UUID]bool{}
	for _, d := range []*Identity{a, b} {
		for _, at := range []event.Position{p, {Key: "events.jsonl1", Offset: 0}, {Offset: 10}, {Key: "events.jsonl", Offset: -10}} {
			for n := range uint64(3) {
				id := d.At(at, n)
				assert.False(t, ids[id], "two events share a uuid")
				ids[id] = true
				assert.Equal(t, uuid.Version(5), id.Version())
				assert.Equal(t, uuid.RFC4122, id.Variant())
			}
		}
	}
	assert.Equal(t, "a4ddf1ca-85b4-5719-9d2c-e68505655282", a.At(p, 0).String(), "past imports must stay resumable: this value never changes")
}

// A position needs a key: at offset 0, a position without one would be empty.
func TestIdentityNeedsAKey(t *testing.T) {
	own, keyless, keyed := uuid.MustParse("461fc531-6209-5996-b1b1-a8aa997a6516"), event.Position{Offset: 7}, event.Position{Key: "q"}
	old := NewIdentity("old")
	old.AllowKeyless()
	for name, tt := range map[string]struct {
		d       *Identity
		id      uuid.UUID
		at      event.Position
		refused string
	}{
		"a key with offset 0":            {NewIdentity("x"), uuid.Nil, keyed, ""},
		"no key":                         {NewIdentity("x"), uuid.Nil, keyless, "Position with a Key"},
		"no key, with a uuid of its own": {NewIdentity("x"), own, keyless, ""},
		"no position":                    {NewIdentity("x"), uuid.Nil, event.Position{}, "Position with a Key"},
		"a key without an import":        {NewIdentity(""), uuid.Nil, keyed, "an ID for the import"},
		"an old import: no key":          {old, uuid.Nil, keyless, ""},
		"an old import: no position":     {old, uuid.Nil, event.Position{}, "Position with a Key"},
	} {
		got := tt.d.Check(tt.id, tt.at)
		if tt.refused == "" {
			assert.Nil(t, got, name)
			continue
		}
		require.NotNil(t, got, name)
		assert.Equal(t, event.ReasonNoIdentity, got.Reason, name)
		assert.Contains(t, got.Want, tt.refused, name)
	}
}
