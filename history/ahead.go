package history

import (
	"context"
	"runtime"
	"sync"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/lines"
)

// batch are records that are converted together, ahead of the one that is yielded.
type batch struct {
	records []aheadRecord
	room    []byte // of the lines
	made    sync.WaitGroup
}

type aheadRecord struct {
	file *lines.File
	line lines.Line
	made made
}

// A batch is small enough that what was made of it is still in the caches when it is looked at.
const (
	batchRecords = 32
	batchBytes   = 64 << 10
	maxRoom      = 1 << 20 // that is kept
)

// ahead walks over all files as walk does, for a check: one goroutine reads, some convert, and the caller's yields in the order
// of the files. It returns after all have ended.
func (s *formatSource) ahead(ctx context.Context, w lines.Walk, walk *formatWalk, yield func(event.Event, error) bool) {
	workers := runtime.GOMAXPROCS(0)
	n := workers + 2
	empty, full, ordered := make(chan *batch, n), make(chan *batch, n), make(chan *batch, n)
	for range n {
		empty <- new(batch)
	}
	reading, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	for range workers {
		running.Go(func() {
			digests := digester{isLazy: walk.digests.isLazy}
			for b := range full {
				for i := range b.records {
					r := &b.records[i]
					r.made = s.format.made(r.file, r.line, &digests)
				}
				b.made.Done()
			}
		})
	}
	var failed error // of reading, after ordered is closed
	running.Go(func() {
		failed = s.readAhead(reading, w, empty, func(b *batch) {
			b.made.Add(1)
			full <- b
			ordered <- b
		})
		close(full)
		close(ordered)
	})
	for b := range ordered {
		b.made.Wait()
		for i := range b.records {
			r := &b.records[i]
			walk.see(&r.made)
			events, err := walk.settle(r.file, r.made)
			if err != nil {
				yield(event.Event{}, err)
				return
			}
			if !yieldAt(r.file, r.line, events, yield) {
				return
			}
			r.made.parts.Free()
		}
		clear(b.records)
		if b.records, b.room = b.records[:0], b.room[:0]; cap(b.room) > maxRoom {
			b.room = nil
		}
		empty <- b
	}
	if failed == nil {
		failed = context.Cause(ctx)
	}
	if failed != nil {
		yield(event.Event{}, failed)
	}
}

// readAhead reads the files into batches, until its context ends.
func (s *formatSource) readAhead(ctx context.Context, w lines.Walk, empty <-chan *batch, pass func(*batch)) error {
	var b *batch
	w.Take = func(f *lines.File, l lines.Line) bool {
		if b == nil {
			select {
			case b = <-empty:
			case <-ctx.Done():
				return false
			}
		}
		l, b.room = l.Kept(b.room)
		b.records = append(b.records, aheadRecord{file: f, line: l})
		if len(b.records) == batchRecords || len(b.room) >= batchBytes {
			pass(b)
			b = nil
		}
		return true
	}
	err := s.read(ctx, event.Position{}, w)
	if b != nil {
		pass(b)
	}
	return err
}
