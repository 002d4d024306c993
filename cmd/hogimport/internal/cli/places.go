package cli

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/hogapi/hogapi"
)

// placeText is where a record is, for people: with the number of its line, where that can be had soon.
func placeText(paths []string, at hogapi.Position) string {
	if path := fileOf(paths, at.Key); path != "" {
		if line := lineAt(path, at.Offset); line > 0 {
			return fmt.Sprintf("%s:%d", at.Key, line)
		}
	}
	return plainPlace(at)
}

// plainPlace is the place of a record with an unknown line number.
func plainPlace(at hogapi.Position) string {
	if at.Key == "" || at.Offset == 0 {
		return at.String()
	}
	return fmt.Sprintf("%s (byte %d of the unpacked text)", at.Key, at.Offset)
}

// withPlaces is a text of the library with the place of a record as placeText writes it.
func withPlaces(text string, paths []string, at hogapi.Position) string {
	if at.Key == "" || !strings.Contains(text, at.String()) {
		return text
	}
	return strings.ReplaceAll(text, at.String(), placeText(paths, at))
}

// lineAt is the number of the line of a text file, packed or not, that ends at an offset of its text; 0: not known.
func lineAt(path string, offset int64) int64 {
	const most = 64 << 20 // that is read for it
	if offset <= 0 || offset > most {
		return 0
	}
	text, err := openText(path)
	if err != nil {
		return 0
	}
	defer text.Close()
	var lines lineCounter
	if n, err := io.CopyN(&lines, text, offset); err != nil || n != offset {
		return 0
	}
	return lines.number()
}

// openText opens a text file, packed or not, but no archive.
func openText(path string) (io.ReadCloser, error) {
	if strings.HasSuffix(path, ".zip") {
		return nil, errors.New("a zip file has several texts")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	text := &textFile{Reader: f, file: f}
	switch filepath.Ext(path) {
	case ".gz":
		text.Reader, err = gzip.NewReader(f)
	case ".zst":
		var unpacked *zstd.Decoder
		if unpacked, err = zstd.NewReader(f, zstd.WithDecoderConcurrency(1)); err == nil {
			text.Reader, text.end = unpacked, unpacked.Close
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return text, nil
}

type textFile struct {
	io.Reader

	file *os.File
	end  func() // may be nil
}

// Close implements io.Closer.
func (t *textFile) Close() error {
	if t.end != nil {
		t.end()
	}
	return t.file.Close()
}

type lineCounter struct {
	n       int64
	isWhole bool // the last byte ends a line
}

func (c *lineCounter) Write(p []byte) (int, error) {
	c.n += int64(bytes.Count(p, []byte{'\n'}))
	if len(p) > 0 {
		c.isWhole = p[len(p)-1] == '\n'
	}
	return len(p), nil
}

func (c *lineCounter) number() int64 {
	if c.isWhole {
		return c.n
	}
	return c.n + 1 // the last line has no end
}
