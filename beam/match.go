package hogbeam

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"

	"github.com/hogapi/hogapi"
)

// CheckGlobs reports what is wrong with globs before anything is read: there must be one, and none has a "**", which Beam's filesystems
// take for "*" and so leave files out. Only gs:// knows it. [ReadJSONLines] panics with the same error.
func CheckGlobs(globs ...string) error {
	bad := func(glob, want string) error {
		return &hogapi.InputError{Op: hogapi.OpImport, Field: "globs", Value: glob, Want: want}
	}
	if len(globs) == 0 {
		return bad("", "at least one: there is no file to read")
	}
	var problems []error
	for _, glob := range globs {
		if strings.Contains(glob, "**") && !strings.HasPrefix(glob, "gs://") {
			problems = append(problems, bad(glob, `no "**", which would match as "*" does: name each depth, as in history/*.jsonl and history/*/*.jsonl`))
		}
	}
	return errors.Join(problems...)
}

// MatchedFile is a file that a glob matches.
type MatchedFile struct {
	Path string
	Name string // in positions: below the base of its glob
}

// MatchFiles lists the files that [ReadJSONLines] would read from here, with the names that positions have for them. It reads none of them.
func MatchFiles(ctx context.Context, globs ...string) ([]MatchedFile, error) {
	if err := CheckGlobs(globs...); err != nil {
		return nil, err
	}
	var found []MatchedFile
	byName := map[string]string{}
	for _, glob := range globs {
		if isLocal(glob) {
			glob = filepath.ToSlash(glob)
		}
		paths, err := list(ctx, glob)
		if err != nil {
			return nil, fmt.Errorf("hogbeam: %s: %w", glob, err)
		}
		if len(paths) == 0 {
			return nil, fmt.Errorf("hogbeam: no file matches %s", glob)
		}
		base := baseOf(glob)
		for _, p := range paths {
			name, below := strings.CutPrefix(p, base)
			if !below {
				return nil, fmt.Errorf("hogbeam: %s matches %s, which is not below %s: its position has no name", glob, p, base)
			}
			switch other, taken := byName[name]; {
			case taken && path.Clean(other) == path.Clean(p):
				return nil, fmt.Errorf("hogbeam: two globs match the same file, %s: leave one out", p)
			case taken:
				return nil, fmt.Errorf("hogbeam: %s and %s both have the name %q in positions: read a folder that is above both", other, p, name)
			}
			byName[name] = p
			found = append(found, MatchedFile{Path: p, Name: name})
		}
	}
	return found, nil
}

// file is one file to read.
type file struct {
	MatchedFile

	Size int64
	Gzip bool
}

// matchFn finds the files. It is one call for all globs, so that names can be compared.
type matchFn struct{ Globs []string }

// ProcessElement lists the files.
func (f *matchFn) ProcessElement(ctx context.Context, _ []byte, emit func(file)) error {
	files, err := MatchFiles(ctx, f.Globs...)
	for _, matched := range files {
		emit(file{MatchedFile: matched})
	}
	countFiles.Inc(ctx, int64(len(files)))
	return err
}

const wildcards = `*?[\`

// baseOf is the part of a glob up to the last slash before its first wildcard.
func baseOf(glob string) string {
	if i := strings.IndexAny(glob, wildcards); i >= 0 {
		glob = glob[:i]
	}
	return glob[:strings.LastIndexByte(glob, '/')+1]
}

func isLocal(glob string) bool { return !strings.Contains(glob, "://") }

func list(ctx context.Context, glob string) ([]string, error) {
	if isLocal(glob) {
		return listFiles(glob)
	}
	files, err := filesystem.New(ctx, glob)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	return files.List(ctx, glob)
}

// listFiles lists files of this machine. Beam's own way is [filepath.Glob], which passes over a folder that it cannot list, and writes
// paths otherwise than the glob does.
func listFiles(glob string) ([]string, error) {
	paths, err := listPaths(glob)
	if err != nil {
		return nil, err
	}
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return nil, err
		}
		if info.IsDir() {
			return nil, fmt.Errorf("%s is a folder: name the files in it, such as %s", p, strings.TrimSuffix(p, "/")+"/*.jsonl")
		}
	}
	return paths, nil
}

// listPaths lists files and folders in the order of their names.
func listPaths(glob string) ([]string, error) {
	if !strings.ContainsAny(glob, wildcards) {
		_, err := os.Lstat(glob)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return []string{glob}, err
	}
	folder, pattern := path.Split(glob)
	folders := []string{folder}
	if strings.ContainsAny(folder, wildcards) {
		var err error
		if folders, err = listPaths(strings.TrimSuffix(folder, "/")); err != nil {
			return nil, err
		}
		for i := range folders {
			folders[i] += "/"
		}
	}
	var found []string
	for _, folder := range folders {
		entries, err := os.ReadDir(cmp.Or(folder, "."))
		if err != nil {
			if info, cause := os.Stat(strings.TrimSuffix(folder, "/")); cause == nil && !info.IsDir() {
				continue
			}
			return nil, err
		}
		for _, entry := range entries {
			matches, err := path.Match(pattern, entry.Name())
			if err != nil {
				return nil, err
			}
			if matches {
				found = append(found, folder+entry.Name())
			}
		}
	}
	return found, nil
}
