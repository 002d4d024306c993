package arrival

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/uuid"
)

// Item is an event of the source: its cell, its uuid, and what is special.
type Item struct {
	Cell int
	ID   uuid.UUID
	Mark Mark
}

// Mark says why an event may be absent.
type Mark uint8

// Hidden marks an event that cannot be found by counting.
const Hidden Mark = 1

// An item on disk: four bytes of the cell, the uuid, the mark. So the order of the bytes is that of the
// cells, and within one that of the uuids as texts.
const itemSize = 4 + 16 + 1

func (i Item) put(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(i.Cell))
	b = append(b, i.ID[:]...)
	return append(b, byte(i.Mark))
}

func readItem(b []byte) Item {
	return Item{int(binary.BigEndian.Uint32(b)), uuid.UUID(b[4:20]), Mark(b[20])}
}

// How much is sorted in memory, and how many sorted files are merged at a time.
const (
	sortedAtOnce = 256 << 10 // items: 5 MiB
	mostRuns     = 64
)

// Parts is the pattern of the names of a sorter's own files, which one that was ended leaves.
const Parts = "uuids-*.part"

// Sorter sorts items on disk, in little memory.
type Sorter struct {
	folder string
	atOnce int
	buf    []byte
	runs   []string
	made   int
}

// NewSorter sorts in a folder, whose files of earlier sorters it replaces.
func NewSorter(folder string) *Sorter { return &Sorter{folder: folder, atOnce: sortedAtOnce} }

// Add takes an item.
func (s *Sorter) Add(i Item) error {
	s.buf = i.put(s.buf)
	if len(s.buf) < s.atOnce*itemSize {
		return nil
	}
	return s.spill()
}

// spill writes what is in memory as a sorted file.
func (s *Sorter) spill() error {
	if len(s.buf) == 0 {
		return nil
	}
	items := make([][itemSize]byte, len(s.buf)/itemSize)
	for i := range items {
		items[i] = [itemSize]byte(s.buf[i*itemSize:])
	}
	slices.SortFunc(items, func(a, b [itemSize]byte) int { return bytes.Compare(a[:], b[:]) })
	s.buf = s.buf[:0]
	name, err := s.write(func(w io.Writer) error {
		for i := range items {
			if _, err := w.Write(items[i][:]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.runs = append(s.runs, name)
	if len(s.runs) < mostRuns {
		return nil
	}
	merged, err := s.mergeRuns()
	s.runs = []string{merged}
	return err
}

// write makes a new file.
func (s *Sorter) write(fill func(io.Writer) error) (name string, err error) {
	s.made++
	name = filepath.Join(s.folder, fmt.Sprintf("uuids-%d.part", s.made))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) //nolint:gosec // in the caller's folder
	if err != nil {
		return "", err
	}
	w := bufio.NewWriterSize(f, 64<<10)
	err = fill(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	return name, errors.Join(err, f.Close())
}

// mergeRuns makes one sorted file of all, and removes them.
func (s *Sorter) mergeRuns() (name string, err error) {
	if len(s.runs) == 1 {
		return s.runs[0], nil
	}
	name, err = s.write(func(w io.Writer) error { return mergeFiles(w, s.runs) })
	if err != nil {
		return "", err
	}
	for _, run := range s.runs {
		err = errors.Join(err, os.Remove(run))
	}
	return name, err
}

// mergeFiles merges sorted files. They are few, so the smallest is searched for among all.
func mergeFiles(w io.Writer, names []string) error {
	type run struct {
		read *bufio.Reader
		item [itemSize]byte
	}
	var runs []*run
	next := func(r *run) (more bool, err error) {
		_, err = io.ReadFull(r.read, r.item[:])
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		return err == nil, err
	}
	for _, name := range names {
		f, err := os.Open(name) //nolint:gosec // one of our own
		if err != nil {
			return err
		}
		defer f.Close()
		r := &run{read: bufio.NewReaderSize(f, 32<<10)}
		more, err := next(r)
		if err != nil {
			return err
		}
		if more {
			runs = append(runs, r)
		}
	}
	for len(runs) > 0 {
		least := 0
		for i, r := range runs[1:] {
			if bytes.Compare(r.item[:], runs[least].item[:]) < 0 {
				least = i + 1
			}
		}
		if _, err := w.Write(runs[least].item[:]); err != nil {
			return err
		}
		more, err := next(runs[least])
		if err != nil {
			return err
		}
		if !more {
			runs = slices.Delete(runs, least, least+1)
		}
	}
	return nil
}

// Close ends the sorting: all items are then in the one file, sorted.
func (s *Sorter) Close(name string) error {
	err := s.spill()
	if err != nil {
		return err
	}
	if len(s.runs) == 0 {
		empty, err := s.write(func(io.Writer) error { return nil })
		if err != nil {
			return err
		}
		s.runs = []string{empty}
	}
	merged, err := s.mergeRuns()
	if err != nil {
		return err
	}
	return os.Rename(merged, name)
}

// Sorted is a sorted file.
type Sorted struct {
	name   string
	starts map[int]int64 // of each cell: the number of its first item
	counts map[int]int64
}

// OpenSorted reads where in a sorted file each cell begins.
func OpenSorted(name string) (*Sorted, error) {
	s := &Sorted{name: name, starts: map[int]int64{}, counts: map[int]int64{}}
	var n int64
	for item, err := range s.items(0, -1) {
		if err != nil {
			return nil, err
		}
		if s.counts[item.Cell] == 0 {
			s.starts[item.Cell] = n
		}
		s.counts[item.Cell]++
		n++
	}
	return s, nil
}

// Count is the number of items of a cell, those of one uuid counted each.
func (s *Sorted) Count(cell int) int64 { return s.counts[cell] }

// Cell gives the items of a cell in the order of their uuids.
func (s *Sorted) Cell(cell int) iter.Seq2[Item, error] {
	if s.counts[cell] == 0 {
		return func(func(Item, error) bool) {}
	}
	return s.items(s.starts[cell], s.counts[cell])
}

// All gives all items, by cell.
func (s *Sorted) All() iter.Seq2[Item, error] { return s.items(0, -1) }

// items gives n items from the given one, or all where n is negative.
func (s *Sorted) items(from, n int64) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		f, err := os.Open(s.name)
		if err == nil {
			defer f.Close()
			_, err = f.Seek(from*itemSize, io.SeekStart)
		}
		if err != nil {
			yield(Item{}, err)
			return
		}
		read := bufio.NewReaderSize(f, 64<<10)
		var b [itemSize]byte
		for ; n != 0; n-- {
			_, err := io.ReadFull(read, b[:])
			if errors.Is(err, io.EOF) && n < 0 {
				return
			}
			if !yield(readItem(b[:]), err) || err != nil {
				return
			}
		}
	}
}
