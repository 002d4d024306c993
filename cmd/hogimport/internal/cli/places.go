package cli

import (
	"bytes"
	"compress/gzip"
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
	for _, path := range paths {
		if filepath.Base(path) != at.Key && path != at.Key {
			continue
		}
		if line := lineAt(path, at.Offset); line > 0 {
			return fmt.Sprintf("%s:%d", at.Key, line)
		}
	}
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
	if offset <= 0 || offset > most || strings.HasSuffix(path, ".zip") {
		return 0
	}
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	var text io.Reader = f
	switch filepath.Ext(path) {
	case ".gz":
		if text, err = gzip.NewReader(f); err != nil {
			return 0
		}
	case ".zst":
		unpacked, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return 0
		}
		defer unpacked.Close()
		text = unpacked
	}
	var lines lineCounter
	if n, err := io.CopyN(&lines, text, offset); err != nil || n != offset {
		return 0
	}
	if !lines.isWhole {
		lines.n++ // the last line has no end
	}
	return lines.n
}

// lineCounter counts the ends of lines.
type lineCounter struct {
	n       int64
	isWhole bool // the last byte ends a line
}

func (c *lineCounter) Write(p []byte) (int, error) {
	c.n += int64(bytes.Count(p, []byte{'\n'}))
	c.isWhole = len(p) > 0 && p[len(p)-1] == '\n'
	return len(p), nil
}
