package parquet_test

import (
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/formats/parquet"
)

// counting counts the bytes that are read of a file.
type counting struct {
	fstest.MapFS

	read, reads *int
}

func (c counting) Open(name string) (fs.File, error) {
	file, err := c.MapFS.Open(name)
	return countingFile{file, c}, err
}

type countingFile struct {
	fs.File

	of counting
}

func (f countingFile) ReadAt(p []byte, offset int64) (int, error) {
	n, err := f.File.(io.ReaderAt).ReadAt(p, offset)
	*f.of.read += n
	*f.of.reads++
	return n, err
}

// The footer alone says the number of rows: less than 1 % of a file of a few megabytes, in one read.
func TestCountRows(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(writeParquet(t, "rows.parquet", noise(20_000), 20_000))
	require.NoError(t, err)
	read, reads := 0, 0
	rows, err := parquet.CountRows(counting{fstest.MapFS{"rows.parquet": {Data: content}}, &read, &reads}, "rows.parquet")
	require.NoError(t, err)
	assert.EqualValues(t, 20_000, rows)
	assert.Less(t, 100*read, len(content), "of %d bytes", len(content))
	assert.Equal(t, 1, reads)
	t.Logf("%d of %d bytes", read, len(content))

	path := writeParquet(t, "rows.parquet", exports(0, 4_000), 5) // a footer that is longer than the first read
	rows, err = parquet.CountRows(os.DirFS(filepath.Dir(path)), "rows.parquet")
	require.NoError(t, err)
	assert.EqualValues(t, 4_000, rows)

	for _, bad := range [][]byte{content[:len(content)-1], content[len(content)/2:], content[:7], []byte("not Parquet, but long enough")} {
		_, err := parquet.CountRows(fstest.MapFS{"rows.parquet": {Data: bad}}, "rows.parquet")
		require.ErrorContains(t, err, "rows.parquet: ")
	}
	_, err = parquet.CountRows(refusing{}, "rows.parquet")
	require.ErrorIs(t, err, fs.ErrPermission)
}

// noise is rows that do not become smaller by compression.
func noise(n int) []exported {
	random := rand.New(rand.NewPCG(1, 1))
	rows := exports(0, n)
	for i := range rows {
		text := make([]byte, 150)
		for at := range text {
			text[at] = byte(' ' + random.IntN(90))
		}
		rows[i].Properties = string(text)
	}
	return rows
}
