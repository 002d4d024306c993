package hogbeam

import (
	"bufio"
	"bytes"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
)

// LaneTooLargeError says that a lane holds more than it may sort: see [SortOptions]. Nothing of the lane has been sent.
type LaneTooLargeError struct {
	Lane     int
	MaxBytes int64
}

// Error says what to do about it.
func (e *LaneTooLargeError) Error() string {
	return fmt.Sprintf("hogbeam: lane %d holds more than %d bytes of events, the most that it may sort: take more lanes, "+
		"divide the import, or raise Sort.MaxBytes if the workers' disks have room", e.Lane, e.MaxBytes)
}

// sorter sorts the encoded events of one lane. What does not fit its memory goes to a file, in parts that are sorted each.
type sorter struct {
	lane    int
	options SortOptions

	arena []byte // the events that are in memory, one behind the other
	spans []span
	bytes int64 // of all events

	file *os.File // nil while everything fits
	disk *bufio.Writer
	runs []run
}

// span is one event in the arena. Most events differ in their first bytes, the time.
type span struct {
	prefix uint64
	from   uint32
	length uint32
}

// run is a sorted part of the file.
type run struct{ from, length int64 }

const (
	spanBytes = 16
	runBuffer = 64 << 10
)

func newSorter(lane int, o SortOptions) *sorter { return &sorter{lane: lane, options: o} }

// held is how many bytes of memory the sorter has.
func (s *sorter) held() int64 { return int64(cap(s.arena)) + spanBytes*int64(cap(s.spans)) }

// add takes one encoded event. It keeps nothing of the slice.
func (s *sorter) add(event []byte) error {
	s.bytes += int64(len(event))
	if s.bytes > s.options.MaxBytes {
		return &LaneTooLargeError{Lane: s.lane, MaxBytes: s.options.MaxBytes}
	}
	if len(s.spans) > 0 && int64(len(s.arena)+len(event))+spanBytes*int64(len(s.spans)+1) > s.options.Memory {
		if err := s.spill(); err != nil {
			return err
		}
	}
	s.spans = append(s.spans, span{binary.BigEndian.Uint64(event), uint32(len(s.arena)), uint32(len(event))})
	s.arena = append(s.arena, event...)
	return nil
}

func (s *sorter) event(p span) []byte { return s.arena[p.from:][:p.length] }

func (s *sorter) sortMemory() {
	slices.SortFunc(s.spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.prefix, b.prefix), bytes.Compare(s.event(a), s.event(b)))
	})
}

// spill moves what is in memory to the file.
func (s *sorter) spill() error {
	if len(s.spans) == 0 {
		return nil
	}
	s.sortMemory()
	if err := s.write(); err != nil {
		return fmt.Errorf("hogbeam: lane %d sorts its events on disk: %w", s.lane, err)
	}
	s.arena, s.spans = s.arena[:0], s.spans[:0]
	return nil
}

func (s *sorter) write() error {
	if s.file == nil {
		file, err := os.CreateTemp(s.options.Folder, "hogbeam-*.sort") // for this user only
		if err != nil {
			return err
		}
		_ = os.Remove(file.Name()) // where that works, not even a kill leaves the file behind; close removes it elsewhere
		s.file, s.disk = file, bufio.NewWriterSize(file, runBuffer)
	}
	r := run{}
	if n := len(s.runs); n > 0 {
		r.from = s.runs[n-1].from + s.runs[n-1].length
	}
	var length [binary.MaxVarintLen64]byte
	for _, p := range s.spans {
		head := binary.PutUvarint(length[:], uint64(p.length))
		_, _ = s.disk.Write(length[:head]) // the writer keeps its error for Flush
		_, _ = s.disk.Write(s.event(p))
		r.length += int64(head) + int64(p.length)
	}
	s.runs = append(s.runs, r)
	return s.disk.Flush()
}

// release gives the memory back.
func (s *sorter) release() {
	s.arena, s.spans, s.disk = nil, nil, nil
}

// close ends the sorter and removes its file.
func (s *sorter) close() {
	s.release()
	if s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name())
		s.file = nil
	}
}

// sorted gives the events in order; each is valid until the next. An error comes last.
func (s *sorter) sorted() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		s.sortMemory()
		if s.file == nil {
			for _, p := range s.spans {
				if !yield(s.event(p), nil) {
					return
				}
			}
			return
		}
		if err := s.merge(yield); err != nil {
			yield(nil, fmt.Errorf("hogbeam: lane %d reads its sorted events: %w", s.lane, err))
		}
	}
}

// merge gives the events of all runs. What is in memory is spilled first, so that there is one kind of run.
func (s *sorter) merge(yield func([]byte, error) bool) error {
	if err := s.spill(); err != nil {
		return err
	}
	s.release()
	var open cursors
	for _, r := range s.runs {
		c := &cursor{text: bufio.NewReaderSize(io.NewSectionReader(s.file, r.from, r.length), runBuffer)}
		if err := c.next(); err != nil {
			return err
		}
		open = append(open, c)
	}
	heap.Init(&open)
	for len(open) > 0 {
		first := open[0]
		if !yield(first.event, nil) {
			return nil
		}
		switch err := first.next(); {
		case errors.Is(err, io.EOF):
			heap.Pop(&open)
		case err != nil:
			return err
		default:
			heap.Fix(&open, 0)
		}
	}
	return nil
}

// cursor stands at one event of a run.
type cursor struct {
	text  *bufio.Reader
	event []byte
}

// next goes to the next event. Behind the last one the error is io.EOF.
func (c *cursor) next() error {
	n, err := binary.ReadUvarint(c.text)
	if err != nil {
		return err
	}
	c.event = slices.Grow(c.event[:0], int(n))[:n]
	if _, err := io.ReadFull(c.text, c.event); err != nil {
		return fmt.Errorf("a run is cut off: %w", err) // not io.EOF by itself
	}
	return nil
}

// cursors is a heap by the events they stand at.
type cursors []*cursor

func (c cursors) Len() int           { return len(c) }
func (c cursors) Less(i, j int) bool { return bytes.Compare(c[i].event, c[j].event) < 0 }
func (c cursors) Swap(i, j int)      { c[i], c[j] = c[j], c[i] }

// Push implements heap.Interface.
func (c *cursors) Push(x any) { *c = append(*c, x.(*cursor)) }

// Pop implements heap.Interface.
func (c *cursors) Pop() any {
	old := *c
	last := old[len(old)-1]
	*c = old[:len(old)-1]
	return last
}
