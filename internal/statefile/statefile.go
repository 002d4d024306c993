// Package statefile keeps the two files of an import: the checkpoint, which is replaced as a whole, and the
// reject file, which only grows. Each has one owner at a time, by a lock on path.lock. The package knows
// the form of both files, but not the content of a state.
package statefile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/ops"
)

// Own makes the folder of a file and takes the lock on the file. path may be a symbolic link: Own locks the
// file behind it, so that the link is not replaced and the file does not get a second owner. A file that
// does not fit gets no lock file. The error wraps durable.ErrLocked if somebody else is the owner.
func Own(fsys durable.FS, path string, fits func(fsys durable.FS, file string) error) (file string, lock durable.Lock, err error) {
	if path == "" {
		return "", nil, &ops.InputError{Field: "path", Want: "the name of a file"}
	}
	if file, err = fsys.Follow(path); err != nil {
		return "", nil, err
	}
	if err := fsys.MakeFolder(filepath.Dir(file)); err != nil {
		return "", nil, err
	}
	if err := fsys.Inspect(file); errors.Is(err, durable.ErrNotRegular) || errors.Is(err, durable.ErrManyNames) {
		return "", nil, &ops.InputError{Field: "path", Value: filepath.Base(file), Want: "a regular file with one name: this is " + err.Error()}
	} else if err != nil {
		return "", nil, err
	}
	if fits != nil {
		if err := fits(fsys, file); err != nil {
			return "", nil, err
		}
	}
	lock, err = fsys.Lock(file + ".lock")
	if errors.Is(err, durable.ErrLocked) {
		err = Held(path)
	}
	return file, lock, err
}

// Held returns the error of a file that somebody else owns.
func Held(path string) error { return fmt.Errorf("%s (%w)", path, durable.ErrLocked) }

// Files returns the names of a file and of the files that its owner uses with it. It returns nil if the
// path leads nowhere; opening the file then returns the error.
func Files(fsys durable.FS, path string) []string {
	if path != "" && !filepath.IsAbs(path) {
		if here, err := os.Getwd(); err == nil {
			path = here + string(filepath.Separator) + path // not joined: there may be links before a ".."
		}
	}
	file, err := fsys.Follow(path)
	if err != nil || path == "" {
		return nil
	}
	return []string{file, file + durable.TempEnding, file + ".lock"}
}

// Overlap reports whether two lists of names have a file in common.
func Overlap(some, others []string) bool {
	for _, one := range some {
		for _, other := range others {
			a, errA := os.Stat(one)
			b, errB := os.Stat(other)
			if one == other || errA == nil && errB == nil && os.SameFile(a, b) {
				return true
			}
		}
	}
	return false
}
