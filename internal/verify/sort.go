package verify

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"iter"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/extsort"
)

// item is an event of the source: its cell, its uuid, and whether counting cannot find it.
type item struct {
	cell     int
	id       uuid.UUID
	isHidden bool
}

// An item on disk has four bytes of the cell, the uuid and a byte that is 1 for a hidden event. So the order of the
// bytes is the order of the cells, and within a cell the order of the uuids as texts.
const itemSize = 4 + 16 + 1

func (i item) put(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(i.cell))
	b = append(b, i.id[:]...)
	if i.isHidden {
		return append(b, 1)
	}
	return append(b, 0)
}

func readItem(b []byte) item {
	return item{int(binary.BigEndian.Uint32(b)), uuid.UUID(b[4:20]), b[20] == 1}
}

// sortMemory is how many bytes are sorted in memory at once.
const sortMemory = 8 << 20

// openItems opens a folder in which items are sorted, or begins it.
func openItems(folder string, memory int) (*extsort.Sorter, error) {
	return extsort.Open(folder, extsort.Options{Name: "uuids", Key: itemSize, Memory: memory})
}

func addItem(s *extsort.Sorter, i item) error {
	if s.IsFull() {
		if err := s.EndRun(nil); err != nil {
			return err
		}
	}
	return s.Add(func(room []byte) ([]byte, error) { return i.put(room), nil })
}

// sortedItems is a folder of sorted items.
type sortedItems struct {
	files *extsort.Sorter
	cells map[int]extent
}

// extent is where the items of a cell are.
type extent struct{ offset, items int64 }

// openSorted opens a folder that was sorted, and reads where each cell begins.
func openSorted(folder string) (*sortedItems, error) {
	files, err := openItems(folder, 0)
	if err != nil {
		return nil, err
	}
	s := &sortedItems{files: files, cells: map[int]extent{}}
	if !files.State().Done {
		return nil, errors.Join(fs.ErrNotExist, files.Close())
	}
	begin := int64(0)
	err = files.Read(0, func(b []byte, end int64) bool {
		cell := readItem(b).cell
		at, known := s.cells[cell]
		if !known {
			at.offset = begin
		}
		at.items++
		s.cells[cell], begin = at, end
		return true
	})
	if err = errors.Join(err, files.Close()); err != nil {
		return nil, err
	}
	return s, nil
}

// count returns the number of items of a cell. Items that share a uuid count each.
func (s *sortedItems) count(cell int) int64 { return s.cells[cell].items }

// cell gives the items of a cell in the order of their uuids.
func (s *sortedItems) cell(cell int) iter.Seq2[item, error] {
	return s.items(s.cells[cell].offset, s.cells[cell].items)
}

// all gives all items, by cell.
func (s *sortedItems) all() iter.Seq2[item, error] { return s.items(0, -1) }

// items gives n items after an offset, or all where n is negative.
func (s *sortedItems) items(offset, n int64) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		if n == 0 {
			return
		}
		err := s.files.Read(offset, func(b []byte, _ int64) bool {
			n--
			return yield(readItem(b), nil) && n != 0
		})
		if err != nil {
			yield(item{}, err)
		}
	}
}
