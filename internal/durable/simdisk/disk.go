// Package simdisk simulates a disk in memory, for tests of a loss of power. It keeps only the promises of
// POSIX: a crash drops, tears and reorders all changes that are not synced, the contents of files independently
// of the entries of folders.
package simdisk

import (
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hogapi/hogapi/internal/durable"
)

// ErrCrashed is the error of everything after a crash.
var ErrCrashed = errors.New("simdisk: the machine has crashed")

// Disk is a file system. Its zero value is empty and never fails. It is safe for concurrent use.
type Disk struct {
	// Sabotage, for tests of tests: a sync that reports success and does nothing.
	IgnoreSync, IgnoreSyncFolder bool

	mu      sync.Mutex
	entries map[string]*inode // as programs see them
	stored  map[string]*inode // as a crash would leave them at the least
	pending []change          // of the entries, since the last sync of their folder
	locks   map[string]bool

	operations int // that change something, so far
	crashAt    int // number of the operation during which the machine crashes, from 1; 0: never
	crashed    bool
	failAt     int // number of the operation that fails, from 1; 0: never
	forGood    bool
	failure    error
}

type inode struct {
	data    []byte // as programs see it
	stored  []byte // as a crash would leave it at the least
	pending []write
}

// write puts data at an offset. With nil data, it cuts the file at the offset.
type write struct {
	offset int64
	data   []byte
}

// change is a change of a folder: the name now leads to the file, or is removed if file is nil. A rename
// takes the old name away in the same moment.
type change struct {
	name, old string
	file      *inode
}

// CrashAt makes the n-th operation from now on, counted from 1, the last one: the crash comes during it.
func (d *Disk) CrashAt(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.crashAt = d.operations + n
}

// FailAt makes the n-th operation from now on, counted from 1, fail with err. A sync that fails loses its
// data for good, as on Linux: programs still see the data, a later sync succeeds, and after a crash the
// data is gone.
func (d *Disk) FailAt(n int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failAt, d.forGood, d.failure = d.operations+n, false, err
}

// FailFrom is like FailAt, and all later operations fail too.
func (d *Disk) FailFrom(n int, err error) {
	d.FailAt(n, err)
	d.forGood = true
}

// Operations is how many operations there have been that change something.
func (d *Disk) Operations() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.operations
}

// Crashed returns the disk as the next start of the machine finds it. The seed decides which unsynced
// changes remain.
func (d *Disk) Crashed(seed uint64) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.crashed = true
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a crash that can be repeated
	after := &Disk{entries: map[string]*inode{}, stored: map[string]*inode{}}
	entries := map[string]*inode{}
	maps.Copy(entries, d.stored)
	for _, c := range d.pending {
		if random.IntN(2) == 0 {
			c.apply(entries)
		}
	}
	recovered := map[*inode]*inode{}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		file := entries[name]
		if recovered[file] == nil {
			data := file.afterCrash(random)
			recovered[file] = &inode{data: data, stored: slices.Clone(data)}
		}
		after.entries[name], after.stored[name] = recovered[file], recovered[file]
	}
	return after
}

// Killed returns the disk as the next process finds it after a crash of the process, not of the machine: it
// has all changes, and unsynced changes are still unsynced.
func (d *Disk) Killed() *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.crashed = true
	return &Disk{entries: d.entries, stored: d.stored, pending: d.pending}
}

// afterCrash applies some of the writes, some of them in part.
func (n *inode) afterCrash(random *rand.Rand) []byte {
	data := slices.Clone(n.stored)
	for _, w := range n.pending {
		switch random.IntN(4) {
		case 0: // lost
		case 1:
			if len(w.data) > 0 {
				w.data = w.data[:random.IntN(len(w.data))]
				data = w.apply(data)
			}
		case 2: // the file has grown, its blocks have not been written
			if len(w.data) > 0 {
				w.data = make([]byte, len(w.data))
			}
			data = w.apply(data)
		default:
			data = w.apply(data)
		}
	}
	return data
}

func (w write) apply(data []byte) []byte {
	end := w.offset + int64(len(w.data))
	if int64(len(data)) < end {
		data = append(data, make([]byte, end-int64(len(data)))...)
	}
	if w.data == nil {
		return data[:w.offset]
	}
	copy(data[w.offset:], w.data)
	return data
}

func (c change) apply(entries map[string]*inode) {
	if c.old != "" {
		delete(entries, c.old)
	}
	if c.file == nil {
		delete(entries, c.name)
		return
	}
	entries[c.name] = c.file
}

// begin counts an operation and reports whether it has an effect. A change during the crash takes place or
// not: as with every change that is not synced, Crashed decides.
func (d *Disk) begin() (effect bool, err error) {
	if d.crashed {
		return false, ErrCrashed
	}
	d.operations++
	if d.operations == d.crashAt {
		d.crashed = true
		return true, ErrCrashed
	}
	if d.operations == d.failAt || d.forGood && d.operations > d.failAt {
		return false, d.failure
	}
	return true, nil
}

// change notes a change of a folder, unless the operation fails.
func (d *Disk) change(c change) error {
	effect, err := d.begin()
	if !effect {
		return err
	}
	if d.entries == nil {
		d.entries, d.stored = map[string]*inode{}, map[string]*inode{}
	}
	c.apply(d.entries)
	d.pending = append(d.pending, c)
	return err
}

// OpenFile implements durable.FS.
func (d *Disk) OpenFile(name string, flag int, _ fs.FileMode) (durable.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.crashed {
		return nil, ErrCrashed
	}
	file, exists := d.entries[name]
	switch {
	case exists && flag&os.O_EXCL != 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrExist}
	case !exists && flag&os.O_CREATE == 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	case !exists:
		file = &inode{}
		if err := d.change(change{name: name, file: file}); err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
	return &handle{disk: d, file: file}, nil
}

// Rename implements durable.FS.
func (d *Disk) Rename(from, to string) error {
	return d.move("rename", from, change{name: to, old: from})
}

// Remove implements durable.FS.
func (d *Disk) Remove(name string) error { return d.move("remove", name, change{name: name}) }

// move makes a change that takes away the name of a file, and gives it the new name of a rename.
func (d *Disk) move(op, name string, c change) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	file, exists := d.entries[name]
	if !exists && !d.crashed {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	if c.old != "" {
		c.file = file
	}
	return d.change(c)
}

// Follow implements durable.FS: there are no links.
func (d *Disk) Follow(name string) (string, error) { return name, nil }

// MakeFolder implements durable.FS: every folder is there already.
func (d *Disk) MakeFolder(string) error { return nil }

// SyncFolder implements durable.FS.
func (d *Disk) SyncFolder(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err := d.begin()
	if d.crashed || d.IgnoreSyncFolder {
		return err
	}
	d.pending = slices.DeleteFunc(d.pending, func(c change) bool {
		if filepath.Dir(c.name) != name {
			return false
		}
		if err == nil {
			c.apply(d.stored)
		}
		return true
	})
	return err
}

// Inspect implements durable.FS.
func (*Disk) Inspect(string) error { return nil }

// Lock implements durable.FS.
func (d *Disk) Lock(name string) (durable.Lock, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.locks[name] {
		return nil, durable.ErrLocked
	}
	if d.locks == nil {
		d.locks = map[string]bool{}
	}
	d.locks[name] = true
	return &lock{d, name}, nil
}

type lock struct {
	disk *Disk
	name string
}

func (*lock) Check() error { return nil }

func (l *lock) Close() error {
	l.disk.mu.Lock()
	defer l.disk.mu.Unlock()
	delete(l.disk.locks, l.name)
	return nil
}
