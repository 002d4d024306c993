// Package extsort sorts more items by a key than memory holds. Items of equal keys keep their order. It
// writes sorted runs into a folder and merges them into one file, and continues after a crash where the
// last run ended.
package extsort

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hogapi/hogapi/internal/durable"
)

// Key is what items are sorted by: major first, then minor.
type Key struct {
	Major int64
	Minor int32
}

// Compare is below 0 where k comes first.
func (k Key) Compare(other Key) int {
	if k.Major != other.Major {
		return cmp.Compare(k.Major, other.Major)
	}
	return cmp.Compare(k.Minor, other.Minor)
}

const (
	keySize    = 12
	headerSize = keySize + 4 // and the length of the item
	mostItem   = 1 << 30
)

// State is what a folder holds. It is saved as JSON.
type State struct {
	Name  string          `json:"name"`            // of what is sorted
	After json.RawMessage `json:"after,omitempty"` // where its input continues
	Read  int64           `json:"read"`            // items before that place
	Runs  []Run           `json:"runs"`
	Made  int             `json:"made"` // runs ever made, which number their files
	Ended bool            `json:"ended"`
	Done  bool            `json:"done"` // the only run is all of it
}

// Run is a file of sorted items.
type Run struct {
	File  string `json:"file"`
	Items int64  `json:"items"`
	Bytes int64  `json:"bytes"`
}

// Sorter sorts into a folder. It is not safe for concurrent use.
type Sorter struct {
	dir    string
	lock   durable.Lock
	state  State
	memory int

	items []item // of the run at hand
	room  []byte // of their bytes

	Merged func(items int64) // is called now and then by Finish
}

// item is one of the run at hand: where it is in room.
type item struct {
	key      Key
	from, to int
}

const (
	stateFile  = "sorted.json"
	mostRuns   = 256      // that are merged at once
	readBuffer = 32 << 10 // of each
	perItem    = 32       // bytes of an item besides its own
)

// Open opens a folder for what has a name, or begins it. memory is how many bytes a run may have. What
// another name has left there is an error.
func Open(dir, name string, memory int) (*Sorter, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := durable.OS{}.Lock(filepath.Join(dir, stateFile+".lock"))
	if err != nil {
		return nil, err
	}
	s := &Sorter{dir: dir, lock: lock, memory: memory, state: State{Name: name}, Merged: func(int64) {}}
	if err := s.open(name); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}

func (s *Sorter) open(name string) error {
	text, err := durable.Read(durable.OS{}, s.path(stateFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.save()
	case err != nil:
		return err
	}
	if err := json.Unmarshal(text, &s.state); err != nil {
		return fmt.Errorf("%s cannot be read: %w: remove the folder to sort again", stateFile, err)
	}
	if s.state.Name != name {
		return fmt.Errorf("the folder has %q, not %q: take another folder", s.state.Name, name)
	}
	for _, r := range s.state.Runs {
		info, err := os.Stat(s.path(r.File))
		if err == nil && info.Size() != r.Bytes {
			err = fmt.Errorf("%s has %d bytes and had %d", r.File, info.Size(), r.Bytes)
		}
		if err != nil {
			return fmt.Errorf("%w: remove the folder to sort again", err)
		}
	}
	return s.removeOthers()
}

// removeOthers removes runs that a crash has left.
func (s *Sorter) removeOthers() error {
	found, err := filepath.Glob(s.path("run-*"))
	for _, path := range found {
		if !slices.ContainsFunc(s.state.Runs, func(r Run) bool { return r.File == filepath.Base(path) }) {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}

// State is how far the sorting is.
func (s *Sorter) State() State { return s.state }

// Close gives the folder up.
func (s *Sorter) Close() error { return s.lock.Close() }

func (s *Sorter) path(name string) string { return filepath.Join(s.dir, name) }

func (s *Sorter) save() error {
	text, err := json.Marshal(s.state)
	if err != nil {
		return err
	}
	return durable.Replace(durable.OS{}, s.path(stateFile), text)
}

// IsFull reports whether the next item should begin another run: call EndRun.
func (s *Sorter) IsFull() bool { return len(s.room)+perItem*len(s.items) >= s.memory }

// Add adds an item. write appends its bytes.
func (s *Sorter) Add(key Key, write func(room []byte) ([]byte, error)) error {
	if s.room == nil {
		s.room = make([]byte, 0, s.memory+s.memory/8)
	}
	from := len(s.room)
	room, err := write(s.room)
	if err != nil {
		s.room = s.room[:from]
		return err
	}
	s.room = room
	s.items = append(s.items, item{key, from, len(room)})
	return nil
}

// EndRun writes the items at hand as a run, after which the input continues at a place.
func (s *Sorter) EndRun(after json.RawMessage) error {
	if len(s.items) == 0 {
		return nil
	}
	slices.SortFunc(s.items, func(a, b item) int { // of equal keys, the one that came first
		if order := a.key.Compare(b.key); order != 0 {
			return order
		}
		return cmp.Compare(a.from, b.from)
	})
	w, err := s.create()
	if err != nil {
		return err
	}
	for _, it := range s.items {
		w.add(it.key, s.room[it.from:it.to])
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
		if n > mostRuns { // as few as leave one merge of all
			n = min(mostRuns, n-mostRuns+1)
		}
		if err := s.merge(ctx, n); err != nil {
			return err
		}
	}
	s.state.Done = true
	return s.save()
}

// merge makes one run of the next n, which takes their place: the order of runs is that of their items.
func (s *Sorter) merge(ctx context.Context, n int) error {
	first := s.nextToMerge(n)
	old := slices.Clone(s.state.Runs[first:][:n])
	w, err := s.create()
	if err != nil {
		return err
	}
	var m merger
	defer m.close()
	for _, r := range old {
		if err := m.add(s.path(r.File)); err != nil {
			return errors.Join(err, w.abort())
		}
	}
	for m.begin(); len(m.heap) > 0; {
		src := m.heap[0]
		w.add(src.key, src.text)
		if w.run.Items%mergeStep == 0 {
			s.Merged(w.run.Items)
		}
		err := m.next()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return errors.Join(err, w.abort())
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
		_ = os.Remove(s.path(r.File)) // it is not of the state any more
	}
	return nil
}

// mergeStep is after how many items Merged is called.
const mergeStep = 1 << 16

// nextToMerge is the first of n neighbours that are the smallest, so that no item is merged too often.
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

// create begins the file of a run.
func (s *Sorter) create() (*runWriter, error) {
	s.state.Made++
	name := fmt.Sprintf("run-%06d", s.state.Made)
	file, err := os.OpenFile(s.path(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return newRunWriter(file, name), nil
}

// Read gives the items after an offset of the sorted file, 0 being the start, with the offset after each.
// An item is valid until the next one.
func (s *Sorter) Read(offset int64, yield func(text []byte, end int64) bool) error {
	if len(s.state.Runs) == 0 {
		return nil
	}
	file, err := os.Open(s.path(s.state.Runs[0].File))
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return err
	}
	r := newRunReader(file)
	for {
		err := r.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if offset += int64(headerSize + len(r.text)); !yield(r.text, offset) {
			return nil
		}
	}
}

// appendHeader appends what stands before an item.
func appendHeader(b []byte, key Key, size int) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(key.Major))
	b = binary.BigEndian.AppendUint32(b, uint32(key.Minor))
	return binary.BigEndian.AppendUint32(b, uint32(size))
}

var errDamaged = errors.New("the sorted file is damaged: remove the folder to sort again")
