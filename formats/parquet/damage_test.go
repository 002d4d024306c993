package parquet_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	parquetgo "github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/parquet"
	"github.com/hogapi/hogapi/formats/posthogexport"
)

// readAll counts the events before the error of a file.
func readAll(t *testing.T, options *parquet.Options, path string, after hogapi.Position) (n int, err error) {
	t.Helper()
	for _, err := range parquet.Files(posthogexport.Format(nil), options, path).Events(t.Context(), after) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func rewrite(t *testing.T, content []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "bad.parquet")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

// A file that is cut off, or not Parquet, is named with its fault.
func TestTruncated(t *testing.T) {
	t.Parallel()
	good, err := os.ReadFile(writeParquet(t, "good.parquet", exports(0, 500), 100))
	require.NoError(t, err)
	for _, size := range []int{0, 1, 8, 12, 1000, len(good) / 2, len(good) - 8, len(good) - 1} {
		n, err := readAll(t, nil, rewrite(t, good[:size]), hogapi.Position{})
		require.ErrorContains(t, err, "bad.parquet", "%d bytes", size)
		assert.Zero(t, n)
	}
	_, err = readAll(t, nil, rewrite(t, bytes.Repeat([]byte("not Parquet\n"), 100)), hogapi.Position{})
	require.ErrorContains(t, err, "the Parquet footer is missing")
	_, err = readAll(t, nil, filepath.Join(t.TempDir(), "bad.parquet"), hogapi.Position{})
	require.ErrorContains(t, err, "bad.parquet: no such file")
	_, err = readAll(t, nil, filepath.Join(t.TempDir(), "*.parquet"), hogapi.Position{})
	require.ErrorContains(t, err, "at least one file")
}

// Changed bytes of a page stop the import at their row: the rows before it are as they were.
func TestDamaged(t *testing.T) {
	t.Parallel()
	path := writeParquet(t, "good.parquet", exports(0, 500), 100)
	want := eventsOf(t, parquet.Files(posthogexport.Format(nil), nil, path), hogapi.Position{})
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	footer := int(binary.LittleEndian.Uint32(good[len(good)-8:]))
	random := rand.New(rand.NewPCG(3, 3))
	stopped := 0
	for range 300 {
		content, at := bytes.Clone(good), 4+random.IntN(len(good)-16-footer)
		for i := at; i < at+4; i++ {
			content[i] ^= byte(1 + random.IntN(255))
		}
		n := 0
		for ev, err := range parquet.Files(posthogexport.Format(nil), nil, rewrite(t, content)).Events(t.Context(), hogapi.Position{}) {
			if err != nil {
				require.ErrorContains(t, err, "bad.parquet")
				stopped++
				break
			}
			require.Equal(t, string(want[n].RawProperties), string(ev.RawProperties))
			require.Equal(t, []any{want[n].UUID, want[n].Name, want[n].DistinctID, want[n].Timestamp}, []any{ev.UUID, ev.Name, ev.DistinctID, ev.Timestamp})
			n++
		}
	}
	assert.Greater(t, stopped, 200)
	t.Logf("%d of 300 files stopped", stopped)
}

// A column that is not read may be damaged: nothing of it is looked at.
func TestUnreadColumn(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(writeParquet(t, "good.parquet", exports(0, 500), 500))
	require.NoError(t, err)
	file, err := parquetgo.OpenFile(bytes.NewReader(content), int64(len(content)))
	require.NoError(t, err)
	column := file.Metadata().RowGroups[0].Columns[5].MetaData // person_properties
	require.Equal(t, "person_properties", column.PathInSchema[0])
	clear(content[column.DataPageOffset : column.DataPageOffset+column.TotalCompressedSize])
	path := rewrite(t, content)
	_, err = readAll(t, nil, path, hogapi.Position{})
	require.ErrorContains(t, err, "bad.parquet, row 1: ")
	n, err := readAll(t, &parquet.Options{Columns: posthogexport.Columns()}, path, hogapi.Position{})
	require.NoError(t, err)
	assert.Equal(t, 500, n)
	_, err = readAll(t, &parquet.Options{Columns: []string{"nothing"}}, path, hogapi.Position{})
	require.ErrorContains(t, err, `none of the columns ["nothing"]`)
}

// A file that was replaced is not resumed.
func TestReplaced(t *testing.T) {
	t.Parallel()
	path := writeParquet(t, "rows.parquet", exports(0, 50), 100)
	source := parquet.Files(posthogexport.Format(nil), nil, path)
	at := eventsOf(t, source, hogapi.Position{})[20].Position
	_, err := readAll(t, nil, path, hogapi.Position{Key: "other.parquet#1", Offset: 3})
	require.ErrorContains(t, err, "no position other.parquet#1")
	_, err = readAll(t, nil, path, hogapi.Position{Key: at.Key, Offset: 51})
	require.ErrorContains(t, err, "rows.parquet")
	content, err := os.ReadFile(writeParquet(t, "rows.parquet", exports(1, 51), 100))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	_, err = readAll(t, nil, path, at)
	require.ErrorContains(t, err, "is not the file that it was")

	// Its size does not tell one file from another: the footer does, which has the least and largest values.
	type row struct {
		N int64 `parquet:"n"`
	}
	one, other := writeParquet(t, "n.parquet", []row{{1}, {2}}, 9), writeParquet(t, "n.parquet", []row{{1}, {3}}, 9)
	first, err := os.Stat(one)
	require.NoError(t, err)
	second, err := os.Stat(other)
	require.NoError(t, err)
	require.Equal(t, first.Size(), second.Size())
	at = eventsOf(t, parquet.Files(echo, nil, one), hogapi.Position{})[0].Position
	var last error
	for _, err := range parquet.Files(echo, nil, other).Events(t.Context(), at) {
		last = err
	}
	require.ErrorContains(t, last, "is not the file that it was")
}
