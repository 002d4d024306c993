//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// lock holds a lock of the system on a file. It ends with the process, however that ends.
func lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, private) //nolint:gosec // the caller names its own files
	if err != nil {
		return nil, err
	}
	if err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return heldFile{f}, nil
}

// heldFile is a locked file.
type heldFile struct{ *os.File }

// Close gives the lock back before it closes the file: a program that is being started at this moment has a copy of the
// descriptor, and would hold the lock a little longer.
func (f heldFile) Close() error {
	return errors.Join(flock(f.File, syscall.LOCK_UN), f.File.Close())
}

func flock(f *os.File, how int) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var lockErr error
	err = conn.Control(func(fd uintptr) {
		for {
			lockErr = syscall.Flock(int(fd), how)
			if !errors.Is(lockErr, syscall.EINTR) {
				return
			}
		}
	})
	switch {
	case err != nil:
		return err
	case errors.Is(lockErr, syscall.EWOULDBLOCK):
		return ErrLocked
	case lockErr != nil:
		return &fs.PathError{Op: "flock", Path: f.Name(), Err: lockErr}
	}
	return nil
}
