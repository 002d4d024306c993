package arrival

import (
	"bytes"
	"iter"

	"github.com/google/uuid"
)

// CompareIDs orders uuids in the order of their texts.
func CompareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }

// Found is the result of comparing the uuids of a cell. Absent and Foreign have only the first uuids.
type Found struct {
	Listed  int64       `json:"listed"`  // uuids that the service shows
	Doubled int64       `json:"doubled"` // events of the source that share the uuid of another one
	Hidden  int64       `json:"hidden"`  // absent, and not to be found by counting
	Lacking int64       `json:"lacking"` // all others that are absent
	Strange int64       `json:"strange"` // that the source does not have
	Absent  []uuid.UUID `json:"absent"`  // of the lacking events
	Foreign []uuid.UUID `json:"foreign"` // of the strange ones
}

func (f *Found) addMissing(id uuid.UUID, most int) {
	if f.Lacking++; len(f.Absent) < most {
		f.Absent = append(f.Absent, id)
	}
}

func (f *Found) addForeign(id uuid.UUID, most int) {
	if f.Strange++; len(f.Foreign) < most {
		f.Foreign = append(f.Foreign, id)
	}
}

// Compare merges the uuids of a cell in the source with the uuids that the service shows, both in order.
// most limits the lengths of Absent and Foreign.
func Compare(source iter.Seq2[Item, error], service iter.Seq2[uuid.UUID, error], most int) (f Found, err error) {
	next, stop := iter.Pull2(service)
	defer stop()
	theirs, err, more := next()
	advance := func() {
		f.Listed++
		theirs, err, more = next()
	}
	var last *Item
	for ours, failed := range source {
		if failed != nil {
			return f, failed
		}
		if last != nil && last.ID == ours.ID {
			f.Doubled++
			continue
		}
		for err == nil && more && bytes.Compare(theirs[:], ours.ID[:]) < 0 {
			f.addForeign(theirs, most)
			advance()
		}
		if err != nil {
			return f, err
		}
		switch {
		case more && theirs == ours.ID:
			advance()
		case ours.Mark&Hidden != 0:
			f.Hidden++
		default:
			f.addMissing(ours.ID, most)
		}
		last = &ours
	}
	for err == nil && more {
		f.addForeign(theirs, most)
		advance()
	}
	return f, err
}

// MergeIDs makes one sorted stream of several, with each uuid once.
func MergeIDs(streams []iter.Seq2[uuid.UUID, error]) iter.Seq2[uuid.UUID, error] {
	return func(yield func(uuid.UUID, error) bool) {
		type head struct {
			id   uuid.UUID
			next func() (uuid.UUID, error, bool)
		}
		var heads []*head
		pull := func(h *head) (more bool, err error) {
			h.id, err, more = h.next()
			return more, err
		}
		for _, stream := range streams {
			next, stop := iter.Pull2(stream)
			defer stop()
			h := &head{next: next}
			more, err := pull(h)
			if err != nil {
				yield(uuid.Nil, err)
				return
			}
			if more {
				heads = append(heads, h)
			}
		}
		var last uuid.UUID
		for begun := false; len(heads) > 0; {
			least := 0
			for i, h := range heads {
				if bytes.Compare(h.id[:], heads[least].id[:]) < 0 {
					least = i
				}
			}
			if id := heads[least].id; !begun || id != last {
				if !yield(id, nil) {
					return
				}
				last, begun = id, true
			}
			more, err := pull(heads[least])
			if err != nil {
				yield(uuid.Nil, err)
				return
			}
			if !more {
				heads = append(heads[:least], heads[least+1:]...)
			}
		}
	}
}
