package verify

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/extsort"
)

const (
	sortedName      = "verify.uuids"
	sourceSteps     = 100_000
	mostMissingIDs  = 1_000_000
	mostOtherIDs    = 100_000
	mostOutsideList = 1000 // cells outside that are listed
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

// feed gives the sorter all events of the source that were sent.
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
		cell := v.table.Find(dayOf(ev.Time), ev.Name)
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
