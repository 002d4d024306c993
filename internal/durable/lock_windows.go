package durable

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

const (
	sharingViolation syscall.Errno = 32
	access                         = syscall.GENERIC_READ | syscall.GENERIC_WRITE | 0x10000 // DELETE
	deleteOnClose                  = 0x04000000                                             // FILE_FLAG_DELETE_ON_CLOSE
)

// lock opens a file so that nobody else can. The system closes and removes it with the process, however that ends.
func lock(name string) (Lock, error) {
	path, err := syscall.UTF16PtrFromString(name)
	if err != nil {
		return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
	}
	const shareNothing = 0
	h, err := syscall.CreateFile(path, access, shareNothing, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL|deleteOnClose, 0)
	switch {
	case errors.Is(err, sharingViolation):
		return nil, ErrLocked
	case err != nil:
		return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
	}
	return heldFile{os.NewFile(uintptr(h), name)}, nil
}

// heldFile is a file that nobody else can open or remove.
type heldFile struct{ *os.File }

func (heldFile) Check() error { return nil }

func names(fs.FileInfo) int { return 1 }
