package simdisk

import (
	"errors"
	"io"
	"io/fs"
	"slices"
)

type handle struct {
	disk *Disk
	file *inode
	at   int64
}

func (h *handle) Read(p []byte) (int, error) {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	if h.disk.crashed {
		return 0, ErrCrashed
	}
	if h.at >= int64(len(h.file.data)) {
		return 0, io.EOF
	}
	n := copy(p, h.file.data[h.at:])
	h.at += int64(n)
	return n, nil
}

func (h *handle) Seek(offset int64, whence int) (int64, error) {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	switch whence {
	case io.SeekCurrent:
		offset += h.at
	case io.SeekEnd:
		offset += int64(len(h.file.data))
	}
	if offset < 0 {
		return 0, errors.New("simdisk: negative offset")
	}
	h.at = offset
	return offset, nil
}

// Write writes half of p where it fails.
func (h *handle) Write(p []byte) (int, error) {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	effect, err := h.disk.begin()
	switch {
	case effect:
	case errors.Is(err, ErrCrashed):
		return 0, err
	default:
		p = p[:len(p)/2]
	}
	h.write(write{h.at, append([]byte{}, p...)})
	h.at += int64(len(p))
	return len(p), err
}

func (h *handle) Truncate(size int64) error {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	effect, err := h.disk.begin()
	if effect {
		h.write(write{offset: size})
	}
	return err
}

// Chmod implements durable.File. Nobody depends on its surviving a crash.
func (*handle) Chmod(fs.FileMode) error { return nil }

func (h *handle) write(w write) {
	h.file.data = w.apply(h.file.data)
	h.file.pending = append(h.file.pending, w)
}

func (h *handle) Sync() error {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	_, err := h.disk.begin()
	if h.disk.crashed || h.disk.IgnoreSync {
		return err
	}
	if err == nil {
		for _, w := range h.file.pending {
			h.file.stored = w.apply(h.file.stored)
		}
	}
	h.file.pending = nil
	return err
}

func (h *handle) Close() error { return nil }

// Content returns the content of a file as programs see it, or nil if the file does not exist.
func (d *Disk) Content(name string) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	file := d.entries[name]
	if file == nil {
		return nil
	}
	return slices.Clone(file.data)
}
