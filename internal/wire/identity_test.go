package wire

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestIdentity(t *testing.T) {
	a, b := NewIdentity("one", 0), NewIdentity("two", 0)
	p := Position{Key: "events.jsonl", Offset: 10}
	ids := map[uuid.UUID]bool{}
	for _, d := range []*Identity{a, b} {
		for _, at := range []Position{p, {Key: "events.jsonl1", Offset: 0}, {Offset: 10}, {Key: "events.jsonl", Offset: -10}} {
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

func TestContentIdentity(t *testing.T) {
	d := NewIdentity("one", 2)
	first, ok := d.ofContent([]byte("a"))
	require.True(t, ok)
	second, ok := d.ofContent([]byte("a"))
	require.True(t, ok)
	assert.NotEqual(t, first, second, "two equal events are two events")
	_, ok = d.ofContent([]byte("b"))
	require.True(t, ok)
	_, ok = d.ofContent([]byte("c"))
	assert.False(t, ok, "the table is full")
	again, _ := NewIdentity("one", 2).ofContent([]byte("a"))
	assert.Equal(t, first, again)
}
