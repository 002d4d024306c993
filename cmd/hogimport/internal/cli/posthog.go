package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/parquet"
)

// sortsByDefault reports whether events are sorted without --sort: rows of PostHog's exports have no order at all.
func (in *input) sortsByDefault() bool { return in.Format == "posthog" }

// open returns the source of some files. Those of PostHog's exports can be Parquet, and the export can have changed from
// one form to the other.
func (in *input) open(format hogapi.Format, paths []string) hogapi.Source {
	if in.Format != "posthog" {
		return hogapi.FileSource(format, paths...)
	}
	var sources []hogapi.Source
	for len(paths) > 0 {
		n, isRows := 1, isParquet(paths[0])
		for n < len(paths) && isParquet(paths[n]) == isRows {
			n++
		}
		if isRows {
			sources = append(sources, parquet.FileSource(format, nil, paths[:n]...))
		} else {
			sources = append(sources, hogapi.FileSource(format, paths[:n]...))
		}
		paths = paths[n:]
	}
	switch len(sources) {
	case 0:
		return hogapi.FileSource(format)
	case 1:
		return sources[0]
	}
	return hogapi.Concat(sources...)
}

// isParquet reports whether a file is Parquet: by its first bytes, or by its name where it is damaged or empty.
func isParquet(path string) bool {
	const magic = "PAR1"
	if strings.Contains(filepath.Base(path), ".parquet") && !strings.HasSuffix(path, ".gz") {
		return true
	}
	return startOf(path, len(magic)) == magic
}

// startOf returns the first bytes of a file.
func startOf(path string, size int) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	start := make([]byte, size)
	n, _ := f.Read(start)
	return string(start[:n])
}

// isManifest reports whether a file is the list of the parts of an export, which the service writes beside them.
func isManifest(path string) bool {
	const longest = 8 << 20
	if !strings.HasSuffix(path, "manifest.json") || sizeOfFile(path) > longest {
		return false
	}
	text, err := os.ReadFile(path)
	var members map[string]json.RawMessage
	return err == nil && json.Unmarshal(text, &members) == nil && len(members) == 1 && members["files"] != nil
}

// fileOfRow returns the file of a position of [parquet.FileSource], whose key has a digest after the name.
func fileOfRow(paths []string, key string) string {
	i := strings.LastIndexByte(key, '#')
	if i < 0 || fileOf(paths, key[:i]) == "" {
		return ""
	}
	return key[:i]
}

// inFile returns a position without the number that it has where the files are of two forms.
func inFile(paths []string, at hogapi.Position) hogapi.Position {
	_, key, ok := strings.Cut(at.Key, ":")
	if ok && fileOf(paths, at.Key) == "" && (fileOf(paths, key) != "" || fileOfRow(paths, key) != "") {
		at.Key = key
	}
	return at
}

// countRows returns the number of rows of the files if all are Parquet; 0 means that it is not known.
func countRows(paths []string) (sum int64) {
	if slices.ContainsFunc(paths, func(path string) bool { return !isParquet(path) }) {
		return 0
	}
	for _, path := range paths {
		n, err := parquet.CountRows(os.DirFS(filepath.Dir(path)), filepath.Base(path))
		if err != nil {
			return 0
		}
		sum += n
	}
	return sum
}

func rowPlace(file string, row int64) string { return fmt.Sprintf("%s, row %d", file, row) }
