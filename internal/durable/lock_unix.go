//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package durable

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// lock holds a lock of the system on a file, which no link leads to. It ends with the process, however
// that ends.
func lock(name string) (Lock, error) {
	const patience = 10 // with others that remove the file just now
	for range patience {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, private) //nolint:gosec // the caller names its own files
		if errors.Is(err, syscall.ELOOP) {
			return nil, &fs.PathError{Op: "lock", Path: name, Err: errors.New("a symbolic link is in the way: remove it")}
		}
		if err != nil {
			return nil, err
		}
		if err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			f.Close()
			return nil, err
		}
		err = checkStill(name, f)
		if err == nil {
			return heldFile{f}, nil
		}
		f.Close()
		if !errors.Is(err, ErrLockLost) {
			return nil, err
		}
	}
	return nil, ErrLockLost
}

type heldFile struct{ *os.File }

func (f heldFile) Check() error { return checkStill(f.Name(), f.File) }

// Close gives the lock back before it closes the file: a program that is being started at this moment
// has a copy of the descriptor, and would hold the lock a little longer.
func (f heldFile) Close() error {
	return errors.Join(flock(f.File, syscall.LOCK_UN), f.File.Close())
}

func names(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Nlink) // of another type on other systems
	}
	return 1
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

func rename(from, to string) error { return os.Rename(from, to) }
