package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"

	"github.com/hogapi/hogapi"
)

// files are what the globs match. They are a source for looking at them without a job.
type files []file

type file struct {
	path string
	name string // in positions, as the job gives it
}

// find lists the files, and says what is wrong with the globs before a job says it among other things.
func (s *settings) find(ctx context.Context) (found files, err error) {
	byName := map[string]string{}
	for _, glob := range s.globs {
		paths, err := list(ctx, glob)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			name := nameBelow(folderOf(glob), path)
			switch other, taken := byName[name]; {
			case taken && filepath.Clean(other) == filepath.Clean(path):
				return nil, fmt.Errorf("two globs match the same file %s", path)
			case taken:
				return nil, fmt.Errorf("%s and %s both have the name %q in positions: say one glob that begins at a folder above both", other, path, name)
			}
			byName[name] = path
			found = append(found, file{path, name})
		}
	}
	return found, nil
}

func list(ctx context.Context, glob string) ([]string, error) {
	fs, err := filesystem.New(ctx, glob)
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	paths, err := fs.List(ctx, glob)
	if err == nil && !isRemote(glob) {
		err = checkFolders(glob)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", glob, err)
	case len(paths) == 0:
		return nil, fmt.Errorf("no file matches %s", glob)
	}
	if isRemote(glob) {
		return paths, nil
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return nil, fmt.Errorf("%s is a folder: write '%s'", path, filepath.Join(path, "*.jsonl"))
		}
	}
	return paths, nil
}

// checkFolders demands that all folders that a glob looks into can be listed: Beam passes over those that cannot.
func checkFolders(glob string) error {
	if !strings.ContainsAny(glob, wildcards) {
		return nil
	}
	above := filepath.Dir(glob)
	if err := checkFolders(above); err != nil {
		return err
	}
	folders, err := filepath.Glob(above)
	for _, folder := range folders {
		info, failed := os.Stat(folder)
		if failed == nil && info.IsDir() {
			_, failed = os.ReadDir(folder)
		}
		err = errors.Join(err, failed)
	}
	return err
}

// checkScheme says that no filesystem is known for a path, which Beam does with a panic.
func checkScheme(path string) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%v: files are of this machine, gs:// or s3://", fault)
		}
	}()
	filesystem.ValidateScheme(path)
	return nil
}

// isRemote says that a path is not of this machine.
func isRemote(path string) bool { return strings.Contains(path, "://") }

const wildcards = `*?[\`

// folderOf is where positions begin: a glob up to the last slash before its first wildcard.
func folderOf(glob string) string {
	if i := strings.IndexAny(glob, wildcards); i >= 0 {
		glob = glob[:i]
	}
	return glob[:strings.LastIndexByte(glob, '/')+1]
}

func nameBelow(folder, path string) string {
	if isRemote(path) {
		return strings.TrimPrefix(path, folder)
	}
	name, err := filepath.Rel(filepath.Clean(folder), path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(name)
}

// print says what will be read. Both the number and the names depend on how a glob is written.
func (f files) print(out io.Writer) {
	fmt.Fprintf(out, "Files: %d. In positions, and so in the uuids, the first is %s and the last %s.\n", len(f), f[0].name, f[len(f)-1].name)
}

// checkFiles looks at all events and sends nothing.
func (s *settings) checkFiles(ctx context.Context, out io.Writer) error {
	for _, glob := range s.globs {
		if isRemote(glob) {
			return errors.New("-check reads files of this machine only: not " + glob)
		}
	}
	found, err := s.find(ctx)
	if err != nil {
		return err
	}
	found.print(out)
	report, err := hogapi.Check(ctx, found, hogapi.ImportOptions{ID: s.options.ID, Gate: s.options.Gate})
	fmt.Fprintf(out, "\n%v\n\nNothing was sent.\n", report)
	return err
}

// Name implements hogapi.Source.
func (f files) Name() string { return fmt.Sprintf("%d files", len(f)) }

// Events implements hogapi.Source, with the positions of the job.
func (f files) Events(ctx context.Context, _ hogapi.Position) iter.Seq2[hogapi.Event, error] {
	return func(yield func(hogapi.Event, error) bool) {
		for _, in := range f {
			for ev, err := range hogapi.JSONLinesFile(in.path).Events(ctx, hogapi.Position{}) {
				ev.Position.Key = in.name
				if !yield(ev, err) || err != nil {
					return
				}
			}
		}
	}
}
