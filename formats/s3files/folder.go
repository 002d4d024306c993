package s3files

import (
	"errors"
	"io"
	"io/fs"
)

type folder struct {
	fsys    *FS
	info    *info
	name    string
	entries []fs.DirEntry // that ReadDir has not returned yet
	isRead  bool
}

// Stat implements [fs.File].
func (d *folder) Stat() (fs.FileInfo, error) { return d.info, nil }

// Close implements [fs.File].
func (d *folder) Close() error { return nil }

// Read implements [fs.File].
func (d *folder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.name, Err: errors.New("is a directory")}
}

// ReadDir implements [fs.ReadDirFile].
func (d *folder) ReadDir(n int) (list []fs.DirEntry, err error) {
	if !d.isRead {
		if d.entries, err = d.fsys.ReadDir(d.name); err != nil {
			return nil, err
		}
		d.isRead = true
	}
	if n > 0 && len(d.entries) == 0 {
		return nil, io.EOF
	}
	if n <= 0 {
		n = len(d.entries)
	}
	n = min(n, len(d.entries))
	list, d.entries = d.entries[:n:n], d.entries[n:]
	return list, nil
}
