package verify

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"iter"
	"math"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/extsort"
)

const (
	sortedName     = "verify.uuids"
	sourceSteps    = 100_000
	maxMissingIDs  = 1_000_000
	maxOtherIDs    = 100_000
	maxOutsideList = 1000 // cells outside that are listed
)

// sortSource sorts the uuids of the source by the cells of the receipt.
func (v *verifier) sortSource(ctx context.Context) (*sortedItems, error) {
	folder, err := v.files.scratch()
	if err != nil {
		return nil, v.files.failed(sortedName, err)
	}
	name := filepath.Join(folder, sortedName)
	if v.memory.Sorted == v.SourceID {
		if sorted, err := openSorted(name); err == nil {
			return sorted, nil
		}
	} else if err := v.files.forgetCompared(); err != nil { // it was compared with another source
		return nil, err
	}
	if err := extsort.Remove(name); err != nil {
		return nil, v.files.failed(sortedName, err)
	}
	sorter, err := openItems(name, sortMemory)
	if err != nil {
		return nil, v.files.failed(sortedName, err)
	}
	if err = v.feed(ctx, sorter); err == nil {
		if err = sorter.Finish(ctx, nil); ctx.Err() == nil {
			err = v.files.failed(sortedName, err)
		}
	}
	if err = errors.Join(err, v.files.failed(sortedName, sorter.Close())); err != nil {
		return nil, err
	}
	v.memory.Sorted = v.SourceID
	if err := v.save(); err != nil {
		return nil, err
	}
	sorted, err := openSorted(name)
	return sorted, v.files.failed(sortedName, err)
}

func (v *verifier) feed(ctx context.Context, sorter *extsort.Sorter) error {
	var read, strange int64
	for ev, err := range v.Source(ctx) {
		if err != nil {
			return errtext.Errorf("verify: the source failed: %v", err)
		}
		if read++; read%sourceSteps == 0 {
			v.progress(Progress{Step: "read the source", Done: read, Total: v.Read})
		}
		if ev.ID == uuid.Nil || v.rejected.has(ev.ID) {
			continue
		}
		_, cell := v.table.keyOf(dayOf(ev.Time), ev.Name)
		if cell < 0 {
			strange++
			continue
		}
		if err := addItem(sorter, item{cell, ev.ID, ev.IsHidden}); err != nil {
			return v.files.failed(sortedName, err)
		}
	}
	if strange > 0 {
		v.note("%d events of the source are of days and names that the receipt does not have: is it the source that was imported, with the same gate and all its reject files?", strange)
	}
	return nil
}

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

// sortMemory is the number of bytes that are sorted in memory at once.
const sortMemory = 8 << 20

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

type sortedItems struct {
	files *extsort.Sorter
	cells map[uint32]extsort.Extent
}

// openSorted opens a folder that was sorted, and reads where each cell begins.
func openSorted(folder string) (*sortedItems, error) {
	files, err := openItems(folder, 0)
	if err != nil {
		return nil, err
	}
	s := &sortedItems{files: files}
	if !files.State().Done {
		return nil, errors.Join(fs.ErrNotExist, files.Close())
	}
	s.cells, err = files.Extents(binary.BigEndian.Uint32)
	if err = errors.Join(err, files.Close()); err != nil {
		return nil, err
	}
	return s, nil
}

// count returns the number of items of a cell. Items that share a uuid count each.
func (s *sortedItems) count(cell int) int64 { return s.cells[uint32(cell)].Items }

// cell gives the items of a cell in the order of their uuids.
func (s *sortedItems) cell(cell int) iter.Seq2[item, error] { return s.items(s.cells[uint32(cell)]) }

func (s *sortedItems) all() iter.Seq2[item, error] {
	return s.items(extsort.Extent{Items: math.MaxInt64})
}

func (s *sortedItems) items(e extsort.Extent) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		if err := s.files.ReadExtent(e, func(b []byte) bool { return yield(readItem(b), nil) }); err != nil {
			yield(item{}, err)
		}
	}
}

// compareIDs orders uuids in the order of their texts.
func compareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }

// Found is the result of comparing the uuids of a cell. AbsentIDs and ForeignIDs have only the first uuids.
type Found struct {
	Listed     int64       `json:"listed"`  // uuids that the service shows
	Doubled    int64       `json:"doubled"` // events of the source that share the uuid of another one
	Hidden     int64       `json:"hidden"`  // absent, and not to be found by counting
	Absent     int64       `json:"lacking"` // all others that are absent
	Foreign    int64       `json:"strange"` // that the source does not have
	AbsentIDs  []uuid.UUID `json:"absent"`
	ForeignIDs []uuid.UUID `json:"foreign"`
}
