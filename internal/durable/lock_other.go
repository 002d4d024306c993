//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// lock is a file that must not exist yet: this system has no lock that ends with its process. After a kill the file
// has to be removed by hand.
func lock(name string) (Lock, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, private)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%w, or left by a process that was killed: then remove %s", ErrLocked, name)
	}
	if err != nil {
		return nil, err
	}
	return &lockFile{f}, nil
}

type lockFile struct{ *os.File }

func (l *lockFile) Check() error { return checkStill(l.Name(), l.File) }

func names(fs.FileInfo) int { return 1 }

func (l *lockFile) Close() error {
	return errors.Join(l.File.Close(), os.Remove(l.Name()))
}

func rename(from, to string) error { return os.Rename(from, to) }
