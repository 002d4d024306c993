package lines_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/lines"
)

// packedForms packs a text as gzip, zstd and zip files.
func packedForms(t *testing.T, text string) map[string]string {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	var archive bytes.Buffer
	a := zip.NewWriter(&archive)
	w, err := a.Create("a.jsonl")
	require.NoError(t, err)
	_, err = w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, a.Close())
	return map[string]string{"a.gz": zipped(t, text), "a.zst": string(z.EncodeAll([]byte(text), nil)), "a.zip": archive.String()}
}

// A packed file that is cut anywhere gives an error and never a panic.
func TestPackedFilesCutAnywhere(t *testing.T) {
	t.Parallel()
	for name, packed := range packedForms(t, strings.Repeat(`{"a":1}`+"\n", 9)) {
		for _, layout := range []lines.Layout{lines.Lines, lines.Any} {
			for _, verify := range []int64{-1, 1 << 20} {
				for cut := range len(packed) {
					var got []string
					w := collect(&got)
					w.Verify, w.Layout = verify, layout
					err := lines.NewFiles([]string{write(t, name, packed[:cut])}).Read(t.Context(), "", 0, w)
					require.Error(t, err, "%s cut to %d bytes, verify %d", name, cut, verify)
				}
			}
		}
	}
}

// readText reads a file in a layout, and counts its good and bad records.
func readText(t *testing.T, layout lines.Layout, text string) (good, bad int, err error) {
	t.Helper()
	w := lines.Walk{Options: lines.Options{Layout: layout, Longest: 8 << 20, Verify: 1 << 20}, Take: func(_ *lines.File, l lines.Line) bool {
		if l.Fault != nil || l.Long {
			bad++
		} else {
			good++
		}
		return true
	}}
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return good, bad, lines.NewFiles([]string{path}).Read(t.Context(), "", 0, w)
}

// An unclosed quote stops the reading, with the line where it was opened.
func TestOpenQuotes(t *testing.T) {
	t.Parallel()
	rest := strings.Repeat("3,c\n", 900)
	for text, want := range map[string]string{
		"id,v\n1,a\n2,\"b\n" + rest:                                          "line 3: the quote that opens here has no end",
		"id,v\n1,a\n2,\"b\n" + rest + "4":                                    "line 3: the quote that opens here has no end",
		"id,v\n\n1,\"a\nb\"\n\n2,\"b\"\"\n" + rest:                           "line 6: the quote that opens here has no end",
		"id,v\n1,\"a\n\",\"\n":                                               "line 3: the quote that opens here has no end",
		"id,v\n1,\"a\nb\"\n2,\"" + strings.Repeat("b\n", 1000) + "\"\n3,c\n": "line 4: a quote makes one row of 1001 lines",
		"id,v\n1,\"\n" + strings.Repeat("b", 1<<20) + "\"\n3,c\n":            "line 2: a quote makes one row of 2 lines",
		"id,v\n1,\"" + strings.Repeat("b\n", 5<<20) + "\"\n":                 "line 2: ",
		"id,v\r\n1,\"b\r\n2,c\r\n":                                           "line 2: the quote that opens here has no end",
	} {
		_, bad, err := readText(t, lines.CSV, text)
		require.ErrorContains(t, err, want, text[:min(len(text), 40)])
		assert.Zero(t, bad)
		assert.NotContains(t, err.Error(), ",c")
	}
	for text, want := range map[string][2]int{
		"id,v\n1,\"a\"b\n":      {0, 1},
		"id,v\n1,a\"\n":         {0, 1},
		"id,v\n1,\"a\"b\n2,c\n": {1, 1},
		"id,v\n1,\"" + strings.Repeat("b\n", 900) + "\"\n": {1, 0},
		"id,v\n1,\"" + strings.Repeat("b", 2<<20) + "\"\n": {1, 0},
		"id,v\n1,\"a\"": {1, 0},
	} {
		good, bad, err := readText(t, lines.CSV, text)
		require.NoError(t, err)
		assert.Equal(t, want, [2]int{good, bad}, text[:min(len(text), 40)])
	}
}

// In any layout, 512 zeros in a record stop the reading; fewer make a bad record.
func TestHoles(t *testing.T) {
	t.Parallel()
	for layout, forms := range map[lines.Layout][]string{
		lines.Lines: {"{\"a\":1}\n{\"a\":%s\n{\"a\":3}\n", "{\"a\":1}\n%s", "{\"a\":1}\n{\"a\"%s", "%s\n{}\n"},
		lines.JSON:  {"{\"a\":1}\n{\"a\":%s\n{\"a\":3}\n", "[{\"a\":1},{\"a\":\"%s\"}]", "{\"a\":1}\n%s", "{\"a\":1}{\"a\":\"%s\"}{}"},
		lines.CSV:   {"a,b\n1,2\n1%s,2\n3,4\n", "a,b\n1,2\n%s", "a,b\n1,\"%s\"\n", "a,b\n1,\"%s\n3,4\n"},
		lines.TSV:   {"a\tb\n1\t2\n1%s\t2\n3\t4\n", "a\tb\n1\t2\n%s"},
	} {
		for _, form := range forms {
			for _, n := range []int{512, 8 << 10, 1 << 20, 9 << 20} {
				_, _, err := readText(t, layout, fmt.Sprintf(form, strings.Repeat("\x00", n)))
				require.ErrorContains(t, err, "zeros in place of text", "%s %q %d", layout, form, n)
			}
		}
	}
	// also at any position in a record that is too long
	for _, before := range []int{0, 9<<20 - 300, 16<<20 - 256, 17 << 20} {
		_, _, err := readText(t, lines.Lines, strings.Repeat("a", before)+strings.Repeat("\x00", 512)+strings.Repeat("a", 9<<20)+"\n")
		require.ErrorContains(t, err, "zeros in place of text", before)
	}
	good, _, err := readText(t, lines.Lines, "{\"a\":1}\n{"+strings.Repeat("\x00", 511)+"}\n{}\n")
	require.NoError(t, err)
	assert.Equal(t, 3, good)
}
