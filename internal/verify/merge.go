package verify

import (
	"bytes"
	"iter"
	"slices"

	"github.com/google/uuid"
)

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

// compareSorted merges the uuids of a cell in the source with the uuids that the service shows, both in order.
// most limits the lengths of AbsentIDs and ForeignIDs.
func compareSorted(source iter.Seq2[item, error], service iter.Seq2[uuid.UUID, error], most int) (f Found, err error) {
	next, stop := iter.Pull2(service)
	defer stop()
	theirs, err, more := next()
	advance := func() {
		f.Listed++
		theirs, err, more = next()
	}
	add := func(n *int64, ids *[]uuid.UUID, id uuid.UUID) {
		if *n++; len(*ids) < most {
			*ids = append(*ids, id)
		}
	}
	var last *item
	for ours, failed := range source {
		if failed != nil {
			return f, failed
		}
		if last != nil && last.id == ours.id {
			f.Doubled++
			continue
		}
		for err == nil && more && compareIDs(theirs, ours.id) < 0 {
			add(&f.Foreign, &f.ForeignIDs, theirs)
			advance()
		}
		if err != nil {
			return f, err
		}
		switch {
		case more && theirs == ours.id:
			advance()
		case ours.isHidden:
			f.Hidden++
		default:
			add(&f.Absent, &f.AbsentIDs, ours.id)
		}
		last = &ours
	}
	for err == nil && more {
		add(&f.Foreign, &f.ForeignIDs, theirs)
		advance()
	}
	return f, err
}

// mergeIDs makes one sorted stream of several, with each uuid once.
func mergeIDs(streams []iter.Seq2[uuid.UUID, error]) iter.Seq2[uuid.UUID, error] {
	return func(yield func(uuid.UUID, error) bool) {
		type head struct {
			id   uuid.UUID
			next func() (uuid.UUID, error, bool)
		}
		var heads []head
		pull := func(i int) (goOn bool) {
			id, err, more := heads[i].next()
			switch {
			case err != nil:
				yield(uuid.Nil, err)
			case more:
				heads[i].id = id
			default:
				heads = slices.Delete(heads, i, i+1)
			}
			return err == nil
		}
		for _, stream := range streams {
			next, stop := iter.Pull2(stream)
			defer stop()
			heads = append(heads, head{next: next})
			if !pull(len(heads) - 1) {
				return
			}
		}
		var last uuid.UUID
		for begun := false; len(heads) > 0; {
			least := 0
			for i, h := range heads {
				if compareIDs(h.id, heads[least].id) < 0 {
					least = i
				}
			}
			if id := heads[least].id; !begun || id != last {
				if !yield(id, nil) {
					return
				}
				last, begun = id, true
			}
			if !pull(least) {
				return
			}
		}
	}
}
