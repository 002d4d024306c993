// Package window holds what has been taken and is not finished, in the order in which it was taken.
// Things finish in any order; they leave from the front only, so the front is the low watermark.
package window

// Window is a queue whose elements stay reachable by their sequence number. Its memory follows the longest it has been.
// It is not safe for concurrent use.
type Window[T any] struct {
	ring  []T // its length is a power of two
	first uint64
	next  uint64
}

// Push appends v and returns its sequence number.
func (w *Window[T]) Push(v T) uint64 {
	if w.Len() == len(w.ring) {
		w.grow()
	}
	seq := w.next
	w.next++
	*w.At(seq) = v
	return seq
}

// At returns the element with a sequence number from First up to Next.
func (w *Window[T]) At(seq uint64) *T { return &w.ring[seq&uint64(len(w.ring)-1)] }

// Pop removes the first element.
func (w *Window[T]) Pop() T {
	front := w.At(w.first)
	v := *front
	var zero T
	*front = zero // lets go of what it points to
	w.first++
	return v
}

// Len is the number of elements.
func (w *Window[T]) Len() int { return int(w.next - w.first) }

// First is the sequence number of the first element.
func (w *Window[T]) First() uint64 { return w.first }

// Next is the sequence number that the next Push gives.
func (w *Window[T]) Next() uint64 { return w.next }

func (w *Window[T]) grow() {
	old := *w
	w.ring = make([]T, max(64, 2*len(old.ring)))
	for seq := old.first; seq < old.next; seq++ {
		*w.At(seq) = *old.At(seq)
	}
}
