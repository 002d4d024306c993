package lines_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
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

func TestReader(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []lines.Line
	}{
		{"nothing", "", nil},
		{"one", "a\n", []lines.Line{{Text: []byte("a"), Length: 1, Number: 1, End: 2}}},
		{"no newline at the end", "a\nbc", []lines.Line{
			{Text: []byte("a"), Length: 1, Number: 1, End: 2},
			{Text: []byte("bc"), Length: 2, Number: 2, End: 5, Open: true},
		}},
		{"empty lines", "\n\na\n", []lines.Line{
			{Text: []byte{}, Number: 1, End: 1},
			{Text: []byte{}, Number: 2, End: 2},
			{Text: []byte("a"), Length: 1, Number: 3, End: 4},
		}},
		{"as long as allowed", "12345678\nx\n", []lines.Line{
			{Text: []byte("12345678"), Length: 8, Number: 1, End: 9},
			{Text: []byte("x"), Length: 1, Number: 2, End: 11},
		}},
		{"one byte longer", "123456789\nx\n", []lines.Line{
			{Text: []byte("123456789"), Length: 9, Number: 1, End: 10, Long: true},
			{Text: []byte("x"), Length: 1, Number: 2, End: 12},
		}},
		{"too long and open", "x\n123456789", []lines.Line{
			{Text: []byte("x"), Length: 1, Number: 1, End: 2},
			{Text: []byte("123456789"), Length: 9, Number: 2, End: 12, Long: true, Open: true},
		}},
	}
	for _, tt := range tests {
		for name, source := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "with error": iotest.DataErrReader,
		} {
			t.Run(tt.name+" "+name, func(t *testing.T) {
				t.Parallel()
				got, err := read(lines.NewReader(source(strings.NewReader(tt.text)), 0, 8))
				require.NoError(t, err)
				assert.Equal(t, tt.want, got)
			})
		}
	}
}

// huge generates a text of one line.
type huge struct{ left int64 }

func (h *huge) Read(p []byte) (int, error) {
	if h.left == 0 {
		return 0, io.EOF
	}
	n := min(h.left, int64(len(p)))
	for i := range p[:n] {
		p[i] = 'x'
	}
	h.left -= n
	return int(n), nil
}

// Not parallel, since it measures allocations.
func TestALongLineIsNotHeld(t *testing.T) {
	const size = 256 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := read(lines.NewReader(io.MultiReader(&huge{size}, strings.NewReader("\nnext\n")), 0, 1<<20))
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(6*lines.Keep))
	require.NoError(t, err)
	require.Len(t, got, 2)
	assert.True(t, got[0].Long)
	assert.EqualValues(t, size, got[0].Length)
	assert.Len(t, got[0].Text, 4096)
	sum := sha256.Sum256(bytes.Repeat([]byte("x"), size))
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

func FuzzReader(f *testing.F) {
	f.Add([]byte("a\n\nbc"), uint8(4), uint8(1))
	f.Add([]byte("0123456789\n0123\n\n"), uint8(5), uint8(3))
	f.Fuzz(func(t *testing.T, text []byte, longest, piece uint8) {
		most := max(int(longest), 1)
		got, err := read(lines.NewReader(&pieces{text, max(int(piece), 1)}, 0, most))
		require.NoError(t, err)
		want := strings.Split(string(text), "\n")
		if want[len(want)-1] == "" {
			want = want[:len(want)-1]
		}
		require.Len(t, got, len(want))
		end := int64(0)
		for i, l := range got {
			end += int64(len(want[i])) + 1
			require.EqualValues(t, end, l.End)
			require.EqualValues(t, len(want[i]), l.Length)
			require.Equal(t, l.Length > int64(most), l.Long)
			require.Equal(t, l.End > int64(len(text)), l.Open)
			require.True(t, strings.HasPrefix(want[i], string(l.Text)), fmt.Sprint(i))
			require.True(t, l.Long || want[i] == string(l.Text))
		}
	})
}

// pieces is a reader that returns a text in pieces.
type pieces struct {
	text []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.text) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.text[:min(p.size, len(p.text))])
	p.text = p.text[n:]
	return n, nil
}
