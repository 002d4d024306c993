package fetch

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// However the bytes arrive, the same lines are found.
func TestLinesInPieces(t *testing.T) {
	text := strings.Repeat(line1+"\r\n\n"+line2, 3)
	for name, r := range map[string]io.Reader{
		"at once": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text)), "halves": iotest.HalfReader(strings.NewReader(text)),
	} {
		c := lineCheck{needsNewline: true}
		require.NoError(t, c.read(t.Context(), r), name)
		require.EqualValues(t, 6, c.count, name)
	}
}

// Of a line that is too long to be imported, no more is kept than of others: it is for the import to reject.
func TestLongLines(t *testing.T) {
	long := `{"event":"` + strings.Repeat("x", 3*longestLine) + `"}` + "\n"
	c := lineCheck{needsNewline: true}
	require.NoError(t, c.read(t.Context(), strings.NewReader(line1+long+line2)))
	assert.EqualValues(t, 3, c.count)
	assert.LessOrEqual(t, cap(c.line), 2*longestLine)
	require.ErrorIs(t, (&lineCheck{needsNewline: true}).read(t.Context(), strings.NewReader(long[:len(long)-1])), errNotWhole)
}

// FuzzLines compares the check with a plain one of the whole text.
func FuzzLines(f *testing.F) {
	f.Add([]byte(line1 + line2))
	f.Add([]byte("{}\n{}"))
	f.Add([]byte("export terminated early\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var whole, pieces lineCheck
		first := whole.read(t.Context(), bytes.NewReader(text))
		second := pieces.read(t.Context(), iotest.OneByteReader(bytes.NewReader(text)))
		require.Equal(t, first == nil, second == nil)
		require.Equal(t, whole.count, pieces.count)
	})
}

// A slow answer is read as long as bytes arrive.
func TestSlowAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{handler: func(w http.ResponseWriter, _ *http.Request) {
			for i := range len(line1) {
				write(w, []byte(line1[i:i+1]))
				_ = http.NewResponseController(w).Flush()
				time.Sleep(4 * time.Minute)
			}
		}}
		j := mixpanelJob(t.TempDir(), "1999-12-01", "1999-12-01")
		j.transport = s.serve(t)
		sum, err := j.Run(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 1, sum.Events)
		require.Len(t, s.requests(), 1)
	})
}
