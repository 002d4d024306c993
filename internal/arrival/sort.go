package arrival

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"iter"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/extsort"
)

// Item is an event of the source: its cell, its uuid and its mark.
type Item struct {
	Cell int
	ID   uuid.UUID
	Mark Mark
}

// Mark says why an event may be absent.
type Mark uint8

// Hidden marks an event that cannot be found by counting.
const Hidden Mark = 1

// An item on disk has four bytes of the cell, the uuid and the mark. So the order of the bytes is the order
// of the cells, and within a cell the order of the uuids as texts.
const itemSize = 4 + 16 + 1

func (i Item) put(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(i.Cell))
	b = append(b, i.ID[:]...)
	return append(b, byte(i.Mark))
}

func readItem(b []byte) Item {
	return Item{int(binary.BigEndian.Uint32(b)), uuid.UUID(b[4:20]), Mark(b[20])}
}

// sortMemory is how many bytes are sorted in memory at once.
const sortMemory = 8 << 20

// Sorter sorts items on disk, in little memory.
type Sorter struct{ files *extsort.Sorter }

// NewSorter sorts in a folder, which should be empty.
func NewSorter(folder string) (Sorter, error) { return openSorter(folder, sortMemory) }

func openSorter(folder string, memory int) (Sorter, error) {
	files, err := extsort.Open(folder, extsort.Options{Name: "uuids", Key: itemSize, Memory: memory})
	return Sorter{files}, err
}

// Add takes an item.
func (s Sorter) Add(i Item) error {
	if s.files.IsFull() {
		if err := s.files.EndRun(nil); err != nil {
			return err
		}
	}
	return s.files.Add(func(room []byte) ([]byte, error) { return i.put(room), nil })
}

// Finish ends the sorting.
func (s Sorter) Finish(ctx context.Context) error { return s.files.Finish(ctx, nil) }

// Close gives the folder up.
func (s Sorter) Close() error { return s.files.Close() }

// Sorted is a folder of sorted items.
type Sorted struct {
	files *extsort.Sorter
	cells map[int]extent
}

// extent is where the items of a cell are.
type extent struct{ offset, items int64 }

// OpenSorted opens a folder that was sorted, and reads where each cell begins.
func OpenSorted(folder string) (*Sorted, error) {
	sorter, err := openSorter(folder, 0)
	if err != nil {
		return nil, err
	}
	s := &Sorted{files: sorter.files, cells: map[int]extent{}}
	if !s.files.State().Done {
		return nil, errors.Join(fs.ErrNotExist, sorter.Close())
	}
	begin := int64(0)
	err = s.files.Read(0, func(b []byte, end int64) bool {
		cell := readItem(b).Cell
		at, known := s.cells[cell]
		if !known {
			at.offset = begin
		}
		at.items++
		s.cells[cell], begin = at, end
		return true
	})
	if err = errors.Join(err, sorter.Close()); err != nil {
		return nil, err
	}
	return s, nil
}

// Count is the number of items of a cell. Items that share a uuid count each.
func (s *Sorted) Count(cell int) int64 { return s.cells[cell].items }

// Cell gives the items of a cell in the order of their uuids.
func (s *Sorted) Cell(cell int) iter.Seq2[Item, error] {
	return s.items(s.cells[cell].offset, s.cells[cell].items)
}

// All gives all items, by cell.
func (s *Sorted) All() iter.Seq2[Item, error] { return s.items(0, -1) }

// items gives n items after an offset, or all where n is negative.
func (s *Sorted) items(offset, n int64) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		if n == 0 {
			return
		}
		err := s.files.Read(offset, func(b []byte, _ int64) bool {
			n--
			return yield(readItem(b), nil) && n != 0
		})
		if err != nil {
			yield(Item{}, err)
		}
	}
}
