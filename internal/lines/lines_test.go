package lines_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/lines"
)

// read copies all lines of a reader.
func read(r *lines.Reader) (all []lines.Line, err error) {
	for {
		l, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		l.Text = bytes.Clone(l.Text)
		all = append(all, l)
	}
}

// Not parallel, since it measures allocations.
func TestALongLineIsNotHeld(t *testing.T) {
	const size = 256 << 20
	line := bytes.Repeat([]byte("x"), size)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := read(lines.NewReader(io.MultiReader(bytes.NewReader(line), strings.NewReader("\nnext\n")), 0, 1<<20))
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(6*lines.Keep))
	require.NoError(t, err)
	require.Len(t, got, 2)
	assert.True(t, got[0].Long)
	assert.EqualValues(t, size, got[0].Length)
	assert.Len(t, got[0].Text, 4096)
	sum := sha256.Sum256(line)
	assert.Equal(t, &lines.Cut{Bytes: size, SHA256: sum[:]}, got[0].Cut)
	assert.Equal(t, "next", string(got[1].Text))
	assert.EqualValues(t, size+6, got[1].End)
}

func TestAFaultOfTheSource(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, text := range []string{"a\nb\nhalf", "a\nb\n", "a\nb\nfar too long a line"} {
		r := lines.NewReader(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), 0, 8)
		got, err := read(r)
		require.ErrorIs(t, err, broken)
		assert.Len(t, got, 2, "half a line is none")
		assert.EqualValues(t, 2, r.Number())
		_, err = r.Next()
		require.ErrorIs(t, err, broken)
	}
	_, err := read(lines.NewReader(stuck{}, 0, 8))
	require.ErrorIs(t, err, io.ErrNoProgress)
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// FuzzReader compares the lines with the lines of package strings, by any pieces of the text.
func FuzzReader(f *testing.F) {
	pieces := []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader}
	for _, text := range []string{"", "a\n", "a\nbc", "\n\na\n", "12345678\nx\n", "123456789\nx\n", "x\n123456789", "0123456789\n0123\n\n"} {
		for i := range pieces {
			f.Add([]byte(text), uint8(8), uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, longest, piece uint8) {
		most, end := max(int(longest), 1), int64(0)
		var want []lines.Line
		for line := range strings.Lines(string(text)) {
			line, isEnded := strings.CutSuffix(line, "\n")
			n := int64(len(line))
			end += n + 1
			want = append(want, lines.Line{Text: []byte(line), Length: n, Number: int64(len(want) + 1), End: end, Long: n > int64(most), Open: !isEnded})
		}
		got, err := read(lines.NewReader(pieces[int(piece)%len(pieces)](bytes.NewReader(text)), 0, most))
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}
