package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/parquet"
	"github.com/hogapi/hogapi/formats/posthogexport"
	"github.com/hogapi/hogapi/history"
)

// sortsByDefault reports whether events are sorted without --sort: rows of PostHog's exports have no order at all.
func (in *input) sortsByDefault() bool { return in.Format == "posthog" }

// open returns the source of some files. PostHog's exports can be Parquet, and an export can have changed its format.
func (in *input) open(format history.Format, paths []string) history.Source {
	if in.Format != "posthog" {
		return history.Files(format, paths...)
	}
	var sources []history.Source
	for len(paths) > 0 {
		n, isRows := 1, isParquet(paths[0])
		for n < len(paths) && isParquet(paths[n]) == isRows {
			n++
		}
		if isRows {
			sources = append(sources, parquet.Files(format, &parquet.Options{Without: posthogexport.Dropped(), JSON: []string{"properties"}}, paths[:n]...))
		} else {
			sources = append(sources, history.Files(format, paths[:n]...))
		}
		paths = paths[n:]
	}
	switch len(sources) {
	case 0:
		return history.Files(format)
	case 1:
		return sources[0]
	}
	return history.Concat(sources...)
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

// fileOfRow returns the file of a position of [parquet.Files]: its key is the name and a digest.
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

// testedRows are the counts of the rows of an import that had read so many records.
type testedRows struct {
	Read int64 `json:"read"`
	posthogexport.RowTest
}

// tested reads the rows of a complete import again, and counts missing and changed values. It returns nil for other
// formats, and where the files cannot be read.
func (a *app) tested(ctx context.Context, s *state, r hogapi.Receipt) *testedRows {
	in := s.kept.Input
	switch {
	case in.Format != "posthog" || s.kept.Rejects != "" || !r.Finished:
		return nil
	case s.kept.Rows != nil && s.kept.Rows.Read == r.Read:
		return s.kept.Rows
	}
	meter, rows, n := a.Meter(), &testedRows{Read: r.Read}, int64(0)
	defer meter.End()
	format := in.format()
	convert := in.cutRecords(format.Convert)
	format.Convert = func(record []byte) ([]hogapi.Event, error) {
		n++
		meter.Part("counting what the rows lack", n, r.Read)
		isOut := false
		if in.Until != "" {
			if events, err := convert(record); err == nil && len(events) > 0 {
				_, isOut = events[0].Skipped()
			}
		}
		if !isOut {
			rows.Add(record)
		}
		return nil, history.Skip("counted")
	}
	for _, err := range in.open(format, in.paths()).Events(ctx, hogapi.Position{}) {
		if err != nil {
			a.Warn("what the rows lack was not counted: " + faultOf(err).Text)
			return nil
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return rows
}

func rowPlace(file string, row int64) string { return fmt.Sprintf("%s, row %d", file, row) }
