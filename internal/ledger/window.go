package ledger

// window is a queue with access by sequence number. Elements are finished in any order and leave
// from the front only, so the front is the low watermark. It keeps the memory of its greatest
// length. It is not safe for concurrent use.
type window[T any] struct {
	ring  []T // its length is a power of two
	first uint64
	next  uint64
}

// push appends v and returns its sequence number.
func (w *window[T]) push(v T) uint64 {
	if w.len() == len(w.ring) {
		w.grow()
	}
	seq := w.next
	w.next++
	*w.at(seq) = v
	return seq
}

// at returns the element with a sequence number from first up to next.
func (w *window[T]) at(seq uint64) *T { return &w.ring[seq&uint64(len(w.ring)-1)] }

func (w *window[T]) pop() T {
	front := w.at(w.first)
	v := *front
	var zero T
	*front = zero // release references
	w.first++
	return v
}

func (w *window[T]) len() int { return int(w.next - w.first) }

func (w *window[T]) grow() {
	old := *w
	w.ring = make([]T, max(64, 2*len(old.ring)))
	for seq := old.first; seq < old.next; seq++ {
		*w.at(seq) = *old.at(seq)
	}
}
