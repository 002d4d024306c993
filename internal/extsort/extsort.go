// Package extsort sorts more items by a key than memory holds. Items of equal keys keep their order. It
// writes sorted runs into a folder and merges them into one file, and continues after a crash where the
// last run ended. All data in the folder has a checksum, so a damaged item is an error.
package extsort

import (
	"bufio"
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/s2"

	"github.com/hogapi/hogapi/internal/durable"
)

// State describes the content of a folder. It is saved as JSON.
type State struct {
	Name  string          `json:"name"`            // of the sorted items
	Of    json.RawMessage `json:"of,omitempty"`    // further facts that the caller keeps about them
	After json.RawMessage `json:"after,omitempty"` // where its input continues
	Read  int64           `json:"read"`            // items before that position
	Runs  []Run           `json:"runs"`
	Made  int             `json:"made"` // runs ever made, which number their files
	Ended bool            `json:"ended"`
	Done  bool            `json:"done"` // the only run is all of it
}

// Run is a file of sorted items.
type Run struct {
	File   string `json:"file"`
	Items  int64  `json:"items"`
	Bytes  int64  `json:"bytes"`            // of the items with their headers
	Packed int64  `json:"packed,omitempty"` // of the file, if it is compressed
	Digest string `json:"digest"`           // equal for equal items
}

// Options configure a Sorter.
type Options struct {
	FS     durable.FS // nil: the machine's
	Name   string     // of the sorted items; a folder of another name is an error
	Of     []byte     // JSON for State.Of of a sorting that begins
	Key    int        // bytes at the beginning of an item that it is sorted by, in the order of bytes.Compare
	Memory int        // bytes that a run may have
	Packs  bool       // compress the files: offsets and digests stay the same, and Read at an offset begins up to 16 MiB before
}

// Sorter sorts into a folder. It is not safe for concurrent use.
type Sorter struct {
	Options

	dir   string
	lock  durable.Lock
	state State

	items []item // of the run at hand
	room  []byte // of their bytes

	Merged func(items int64) // is called now and then by Finish, first with 0
}

// item is an item of the current run, by its range in room.
type item struct{ from, to int }

const (
	stateFile   = "sorted.json"
	maxRuns     = 256      // that are merged at once
	readBuffer  = 32 << 10 // of each
	writeBuffer = 256 << 10
	packedBlock = 64 << 10 // that is compressed at once
	perItem     = 16       // bytes of an item besides its own
	maxItem     = 1 << 30
)

// Open opens a folder, or begins it.
func Open(dir string, o Options) (*Sorter, error) {
	if o.FS == nil {
		o.FS = durable.OS{}
	}
	if err := o.FS.MakeFolder(dir); err != nil {
		return nil, err
	}
	lock, err := o.FS.Lock(filepath.Join(dir, stateFile+".lock"))
	if err != nil {
		return nil, err
	}
	s := &Sorter{Options: o, dir: dir, lock: lock, state: State{Name: o.Name, Of: o.Of}, Merged: func(int64) {}}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}

// Remove removes a folder that nobody holds, if nothing else is in it.
func Remove(dir string) (err error) {
	names := []string{stateFile, stateFile + durable.TempEnding, stateFile + ".lock"}
	inside, _ := os.ReadDir(dir) // where it cannot be read, the folder remains
	for _, f := range inside {
		if strings.HasPrefix(f.Name(), "run-") {
			names = append(names, f.Name())
		}
	}
	for _, name := range append(names, "") {
		if failed := os.Remove(filepath.Join(dir, name)); !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

func (s *Sorter) open() error {
	text, err := durable.Read(s.FS, s.path(stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return s.save()
	}
	if err != nil {
		return err
	}
	var state State
	text, ok := durable.Unseal(sealOf, text)
	if !ok || json.Unmarshal(text, &state) != nil {
		return s.damaged(stateFile + " is not as it was written, or of another release")
	}
	if state.Name != s.Name {
		return fmt.Errorf("the folder has %q, not %q: take another folder", state.Name, s.Name)
	}
	if state.Made > 0 || state.Ended { // else nothing is there yet
		s.state = state
	}
	for _, r := range s.state.Runs {
		size, err := s.sizeOf(r.File)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err != nil || size != cmp.Or(r.Packed, r.Bytes) {
			return s.damaged(fmt.Sprintf("%s has %d bytes and had %d", r.File, size, cmp.Or(r.Packed, r.Bytes)))
		}
	}
	return s.removeOthers()
}

func (s *Sorter) sizeOf(name string) (int64, error) {
	file, err := s.FS.OpenFile(s.path(name), os.O_RDONLY, 0)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	return file.Seek(0, io.SeekEnd)
}

func (s *Sorter) removeOthers() (err error) {
	for n := range s.state.Made + 1 {
		name := runName(n + 1)
		if slices.ContainsFunc(s.state.Runs, func(r Run) bool { return r.File == name }) {
			continue
		}
		if failed := s.FS.Remove(s.path(name)); !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

func (s *Sorter) damaged(what string) error {
	return fmt.Errorf("%s: remove %s, and the files run-* next to it, to sort again", what, s.path(stateFile))
}

// State returns how far the sorting is.
func (s *Sorter) State() State { return s.state }

// Digest returns the digest of the sorted file. It is equal if all items are equal, however often the
// sorting was stopped.
func (s *Sorter) Digest() string {
	if len(s.state.Runs) == 0 {
		return ""
	}
	return s.state.Runs[0].Digest
}

// Close gives the folder up.
func (s *Sorter) Close() error { return s.lock.Close() }

func (s *Sorter) path(name string) string { return filepath.Join(s.dir, name) }

// sealOf names the state in its first line.
const sealOf = "sorting"

// save makes the state durable. The files that it names are durable before it.
func (s *Sorter) save() error {
	text, err := json.Marshal(s.state)
	if err == nil {
		err = s.FS.SyncFolder(s.dir)
	}
	if err != nil {
		return err
	}
	return durable.Replace(s.FS, s.path(stateFile), durable.Seal(sealOf, text))
}

// IsFull reports whether the next item should begin another run: call EndRun.
func (s *Sorter) IsFull() bool { return len(s.room)+perItem*len(s.items) >= s.Memory }

// Add adds an item. write appends its bytes, the key first.
func (s *Sorter) Add(write func(room []byte) ([]byte, error)) error {
	if s.room == nil {
		s.room = make([]byte, 0, s.Memory+s.Memory/8)
	}
	from := len(s.room)
	room, err := write(s.room)
	if err != nil {
		s.room = s.room[:from]
		return err
	}
	s.room = room
	s.items = append(s.items, item{from, len(room)})
	return nil
}

// EndRun writes the current items as a run, after which the input continues at a position.
func (s *Sorter) EndRun(after json.RawMessage) error {
	if len(s.items) == 0 {
		return nil
	}
	slices.SortFunc(s.items, func(a, b item) int { // of equal keys, the one that came first
		return cmp.Or(bytes.Compare(s.room[a.from:][:s.Key], s.room[b.from:][:s.Key]), cmp.Compare(a.from, b.from))
	})
	w, err := s.create()
	if err != nil {
		return err
	}
	for _, it := range s.items {
		w.add(s.room[it.from:it.to])
	}
	run, err := w.end()
	if err != nil {
		return err
	}
	s.state.Runs = append(s.state.Runs, run)
	s.state.After, s.state.Read = after, s.state.Read+int64(len(s.items))
	s.items, s.room = s.items[:0], s.room[:0]
	return s.save()
}

// Finish writes the last run and merges all. After it the folder has one file. When ctx ends, it stops
// with the context's cause.
func (s *Sorter) Finish(ctx context.Context, after json.RawMessage) error {
	if err := s.EndRun(after); err != nil {
		return err
	}
	s.items, s.room = nil, nil
	s.state.Ended = true
	for len(s.state.Runs) > 1 {
		n := len(s.state.Runs)
		if n > maxRuns { // as few as leave one merge of all
			n = min(maxRuns, n-maxRuns+1)
		}
		if err := s.merge(ctx, n); err != nil {
			return err
		}
	}
	s.state.Done = true
	return s.save()
}

// merge merges n neighbouring runs into one run in their place, so that equal keys keep their order.
func (s *Sorter) merge(ctx context.Context, n int) error {
	first := s.nextToMerge(n)
	old := slices.Clone(s.state.Runs[first:][:n])
	w, err := s.create()
	if err != nil {
		return err
	}
	var heads sources
	defer func() {
		for _, r := range heads {
			_ = r.file.Close() // nothing was written
		}
	}()
	for i, r := range old {
		reader, err := openRun(s, r, 0)
		if err == nil {
			reader.number, heads = i, append(heads, reader)
			err = reader.next()
		}
		if err != nil {
			return errors.Join(err, w.abort())
		}
	}
	for heap.Init(&heads); len(heads) > 0; {
		if w.run.Items%mergeStep == 0 {
			s.Merged(w.run.Items)
		}
		first := heads[0]
		w.add(first.text)
		err := first.next()
		switch {
		case ctx.Err() != nil:
			return errors.Join(context.Cause(ctx), w.abort())
		case errors.Is(err, io.EOF):
			heap.Pop(&heads)
			_ = first.file.Close()
		case err != nil:
			return errors.Join(err, w.abort())
		default:
			heap.Fix(&heads, 0)
		}
	}
	run, err := w.end()
	if err != nil {
		return err
	}
	s.state.Runs = slices.Replace(s.state.Runs, first, first+n, run)
	if err := s.save(); err != nil {
		return err
	}
	for _, r := range old {
		_ = s.FS.Remove(s.path(r.File)) // it is not of the state any more
	}
	return nil
}

// mergeStep is after how many items Merged is called.
const mergeStep = 1 << 16

// nextToMerge returns the first of the n neighbouring runs that are smallest together, so that no item is
// merged too often.
func (s *Sorter) nextToMerge(n int) (first int) {
	var least int64 = -1
	for i := 0; i+n <= len(s.state.Runs); i++ {
		var size int64
		for _, r := range s.state.Runs[i:][:n] {
			size += r.Bytes
		}
		if least < 0 || size < least {
			first, least = i, size
		}
	}
	return first
}

func runName(number int) string { return fmt.Sprintf("run-%06d", number) }

func (s *Sorter) create() (*runWriter, error) {
	s.state.Made++
	name := runName(s.state.Made)
	file, err := s.FS.OpenFile(s.path(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	w := &runWriter{sorter: s, file: file, buf: bufio.NewWriterSize(file, writeBuffer), run: Run{File: name}, digest: sha256.New()}
	if w.items = w.buf; s.Packs {
		w.packed = s2.NewWriter(w.buf, s2.WriterBlockSize(packedBlock), s2.WriterConcurrency(1), s2.WriterAddIndex())
		w.items = w.packed
	}
	return w, nil
}

// Read gives the items after an offset of the sorted file, 0 being the start, with the offset after each.
// An item is valid until the next one. The folder need not be held.
func (s *Sorter) Read(offset int64, yield func(item []byte, end int64) bool) error {
	if len(s.state.Runs) == 0 {
		return nil
	}
	r, err := openRun(s, s.state.Runs[0], offset)
	if err != nil {
		return err
	}
	defer r.file.Close()
	for {
		err := r.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !yield(r.text, r.offset) {
			return nil
		}
	}
}

// Extent is where the items of a group are, which follow one another.
type Extent struct{ Offset, Items int64 }

// Extents reads all items, and returns where each group is.
func (s *Sorter) Extents(groupOf func(item []byte) uint32) (map[uint32]Extent, error) {
	groups, begin := map[uint32]Extent{}, int64(0)
	return groups, s.Read(0, func(item []byte, end int64) bool {
		group := groupOf(item)
		at, known := groups[group]
		if !known {
			at.Offset = begin
		}
		at.Items++
		groups[group], begin = at, end
		return true
	})
}

// ReadExtent gives the items of a group.
func (s *Sorter) ReadExtent(e Extent, yield func(item []byte) bool) error {
	if e.Items == 0 {
		return nil
	}
	return s.Read(e.Offset, func(item []byte, _ int64) bool {
		e.Items--
		return yield(item) && e.Items > 0
	})
}
