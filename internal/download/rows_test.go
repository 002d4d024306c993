package download

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/durable"
)

// footerOf is a Parquet file without columns: its footer has a small schema and a number of rows.
func footerOf(rows int64) []byte {
	var b bytes.Buffer
	element := "\x15\x04\x18\x05event\x25\x00\x00" // a type, a name, a repetition
	b.WriteString("\x15\x04\x19\xfc\x14")          // version 2; a list of 20 structures
	b.WriteString(string(bytes.Repeat([]byte(element), 20)))
	b.WriteByte(0x16)
	b.Write(binary.AppendVarint(nil, rows))
	b.WriteString("\x19\x0c\x00") // no row groups
	file := append([]byte("PAR1"), b.Bytes()...)
	return append(binary.LittleEndian.AppendUint32(file, uint32(b.Len())), "PAR1"...)
}

func TestRowsOfFiles(t *testing.T) {
	t.Parallel()
	exported, err := os.ReadFile("../../formats/parquet/testdata/export.parquet")
	require.NoError(t, err)
	rows := func(contents ...[]byte) (int64, bool) {
		var paths []string
		for _, content := range contents {
			paths = append(paths, filepath.Join(t.TempDir(), "file"))
			require.NoError(t, os.WriteFile(paths[len(paths)-1], content, 0o600))
		}
		n, isKnown, err := countRows(durable.OS{}, paths)
		require.NoError(t, err)
		return n, isKnown
	}
	n, isKnown := rows(exported)
	assert.True(t, isKnown)
	assert.EqualValues(t, 20, n)
	n, _ = rows(footerOf(0), footerOf(1<<40), []byte("{}\n{}"))
	assert.Equal(t, int64(1<<40+2), n)
	_, isKnown = rows(footerOf(1), []byte("\x1b\x0f brotli"))
	assert.False(t, isKnown)

	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 { // damaged footers: some number or none, but no panic, and no end that never comes
		bad := bytes.Clone(footerOf(7))
		for range 1 + random.IntN(3) {
			bad[random.IntN(len(bad))] = byte(random.Uint32())
		}
		_, _ = parquetRows(bytes.NewReader(bad[:1+random.IntN(len(bad))]))
	}
}
