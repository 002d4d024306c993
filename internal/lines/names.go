package lines

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Find returns the paths, with each pattern replaced by its matches in the order of their names. A
// path that is both a pattern and the name of a file counts as that file.
func Find(fsys fs.FS, pathsOrPatterns []string) (paths []string, err error) {
	glob := func(pattern string) ([]string, error) { return fs.Glob(fsys, pattern) }
	if _, isDisk := fsys.(Disk); isDisk {
		glob = filepath.Glob
	}
	for _, pattern := range pathsOrPatterns {
		if _, err := fs.Stat(fsys, pattern); err == nil || !strings.ContainsAny(pattern, `*?[`) {
			paths = append(paths, pattern)
			continue
		}
		found, err := glob(pattern)
		if err != nil && !errors.Is(err, path.ErrBadPattern) && !errors.Is(err, filepath.ErrBadPattern) {
			return nil, err
		}
		if err != nil {
			return nil, unfit(pattern, "a path, or a pattern as path/filepath.Match describes it")
		}
		if len(found) == 0 {
			return nil, unfit(pattern, "a pattern that finds at least one file")
		}
		slices.SortFunc(found, ByNumber)
		paths = append(paths, found...)
	}
	if len(paths) == 0 {
		return nil, unfit(fmt.Sprint(pathsOrPatterns), "at least one file")
	}
	return paths, nil
}

// OnDisk reports whether the files are on this machine.
func (s *Files) OnDisk() bool {
	_, isDisk := s.fsys.(Disk)
	return isDisk
}

// below strips the common parent folders from paths.
func below(paths []string) []string {
	if len(paths) == 0 {
		return nil
	}
	names := make([]string, len(paths))
	for i, name := range paths {
		names[i] = filepath.ToSlash(filepath.Clean(name))
	}
	folder := names[0][:strings.LastIndexByte(names[0], '/')+1]
	for _, name := range names[1:] {
		for !strings.HasPrefix(name, folder) {
			folder = folder[:strings.LastIndexByte(folder[:len(folder)-1], '/')+1]
		}
	}
	for i := range names {
		names[i] = names[i][len(folder):]
	}
	return names
}

// Names returns the names that positions use for the files.
func (s *Files) Names() []string { return s.names }
