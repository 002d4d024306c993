package hogapi

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is kept of files is bounded by the events in flight: nothing of those that have none, or are settled, and little of each event.
func TestBeginningsOfManyFiles(t *testing.T) {
	const files, lines, line = 1000, 3, 50
	head := make([]byte, lines*line)
	name := func(i int) string { return fmt.Sprint("f", i) }
	readAll := func() *beginnings {
		b := beginningsOf(JSONLinesFile("a.jsonl"), nil)
		for i := range files {
			require.NoError(t, b.open(fmt.Sprint("empty", i), nil))
			require.NoError(t, b.open(name(i), head))
			for n := range lines {
				b.read(Position{Key: name(i), Offset: int64(n+1) * line})
			}
		}
		return b
	}
	b := readAll()
	assert.Len(t, b.marks, files*lines)
	for i := range files {
		for n := range lines {
			upTo := (n + 1) * line
			require.Equal(t, beginning{upTo - 1, digestOf(head[:upTo-1])}, b.upTo(Position{Key: name(i), Offset: int64(upTo)}))
			require.Len(t, b.marks, (files-i)*lines-n-1)
		}
	}

	b = readAll()
	last := Position{Key: name(files - 1), Offset: 2 * line}
	assert.Equal(t, 2*line-1, b.upTo(last).Bytes, "places between may be passed over")
	assert.Len(t, b.marks, 1)
}

// Only the first bytes of a file are marked, and all of them, wherever lines end.
func TestBeginningOfALargeFile(t *testing.T) {
	b := beginningsOf(JSONLinesFile("a.jsonl"), nil)
	head := make([]byte, mostOfBeginning)
	require.NoError(t, b.open("a.jsonl", head))
	for n := int64(1); n < 1000; n++ {
		b.read(Position{Key: "a.jsonl", Offset: n * 1000})
	}
	assert.Len(t, b.marks, 5)
	for n, want := range []int{999, 1999, 2999, 3999, mostOfBeginning, mostOfBeginning} {
		assert.Equal(t, beginning{want, digestOf(head[:want])}, b.upTo(Position{Key: "a.jsonl", Offset: int64(n+1) * 1000}))
	}
	assert.Empty(t, b.marks)
}
