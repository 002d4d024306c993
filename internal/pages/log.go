package pages

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"time"
)

// Log describes a walk by time over a log of E, newest entry first. A sequence can be walked again,
// since all state is made inside the range.
type Log[E any] struct {
	Fetch    func(before time.Time) ([]E, error)               // the newest entries before a time
	Mark     func(*E) Mark                                     // identifies an entry
	Failed   func(page int, before time.Time, err error) error // makes the error that ends a walk
	After    time.Time                                         // zero for all
	Before   time.Time                                         // where to start; zero for the newest
	Limit    int                                               // entries requested a page
	MaxPages int                                               // more pages are an error; 0 means 10,000
}

// Mark is the time of an entry, and a digest of the whole entry.
type Mark struct {
	Time   time.Time
	Digest digest
}

// NewMark returns the mark of an entry with a time and texts.
func NewMark(t time.Time, parts ...string) Mark {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%d ", t.UnixNano())
	for _, part := range parts {
		_, _ = fmt.Fprintf(h, "%d ", len(part))
		_, _ = io.WriteString(h, part)
	}
	return Mark{Time: t, Digest: digest(h.Sum(nil))}
}

// logTick is the resolution of the service's log times.
const logTick = time.Microsecond

// maxAtOneTime limits the entries with equal times that a walk remembers.
const maxAtOneTime = 10_000

var (
	errIgnoredBefore = errors.New("the service ignores Before: it gave entries that are not earlier")
	errNoTimes       = errors.New("no entry of the page has a time that can be read, so the entries after them cannot be reached")
	errEmptyAnswer   = errors.New("the answer is empty, although entries came before it")
)

// All yields the entries of all pages, an entry that could not be read with its error. An error that ends the walk comes last.
func (l Log[E]) All() iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		w := logWalk[E]{Log: l}
		for n := 1; ; n++ {
			fresh, err := w.step(n)
			for _, entry := range fresh {
				if !yield(entry.entry, entry.err) {
					return
				}
			}
			if err != nil {
				var none E
				yield(none, w.Failed(n, w.Before, err))
				return
			}
			if len(fresh) == 0 {
				return
			}
		}
	}
}

// logWalk is the state of one walk; its Before moves. Several entries may share the time at which a
// page ends, so the next page begins with that time again and omits the entries already seen.
type logWalk[E any] struct {
	Log[E]

	seen map[digest]int // how often each entry with the last time was seen
	most int            // entries on the fullest page so far: the server may have its own limit
}

// logged is an entry, or its readable fields.
type logged[E any] struct {
	entry E
	err   error
}

// step fetches the n-th page and returns its new entries. A page with no new entries is the end. A
// short page is not, since the server may have a lower limit.
func (w *logWalk[E]) step(n int) ([]logged[E], error) {
	entries, err := w.Fetch(w.Before)
	bad, err := ofRows(err)
	if err != nil {
		return nil, err
	}
	if entries == nil && n > 1 {
		return nil, errEmptyAnswer
	}
	marks := make([]Mark, len(entries))
	for i := range entries {
		marks[i] = w.Mark(&entries[i])
		if raw, err := errorAt(bad, i); err != nil {
			marks[i] = NewMark(marks[i].Time, string(raw))
		}
	}
	fresh, err := w.fresh(entries, marks, bad)
	if err != nil {
		return nil, err
	}
	switch {
	case len(fresh) > 0 && n > cmp.Or(w.MaxPages, maxPages):
		return nil, ErrPageLimit
	case len(fresh) == 0 && len(entries) > 0 && len(entries) >= w.most:
		return nil, w.endsHere(len(entries))
	}
	w.most = max(w.most, len(entries))
	if len(marks) > 0 && !w.move(marks) {
		if _, first := errorAt(bad, 0); first != nil {
			return fresh, fmt.Errorf("%w: %w", errNoTimes, errors.Unwrap(first)) // the walk ends: this is no error of a row
		}
		return fresh, errNoTimes
	}
	if len(w.seen) > maxAtOneTime {
		return fresh, tooManyAtOnce(len(w.seen))
	}
	return fresh, nil
}

func tooManyAtOnce(entries int) error {
	return fmt.Errorf("%d entries or more have the same time, so those after them cannot be reached; "+
		"select by Levels or Search, or continue with an earlier Before", entries)
}

// endsHere distinguishes the end of a log from a full page of entries with one time that hides
// older entries. Since the server's limit is not known, it requests older entries.
func (w *logWalk[E]) endsHere(entries int) error {
	older, full := w.Before.Add(-logTick), entries >= w.Limit
	if !full && w.After.Before(older) {
		found, err := w.Fetch(older)
		if _, err := ofRows(err); err != nil {
			return err
		}
		full = len(found) > 0
	}
	if full {
		return tooManyAtOnce(entries)
	}
	return nil
}

// fresh returns the entries that earlier pages have not shown.
func (w *logWalk[E]) fresh(entries []E, marks []Mark, bad RowErrors) ([]logged[E], error) {
	var fresh []logged[E]
	left := maps.Clone(w.seen)
	for i, m := range marks {
		switch {
		case !w.Before.IsZero() && !m.Time.Before(w.Before):
			return nil, errIgnoredBefore
		case left[m.Digest] > 0:
			left[m.Digest]--
		default:
			_, err := errorAt(bad, i)
			fresh = append(fresh, logged[E]{entries[i], err})
		}
	}
	return fresh, nil
}

// move starts the next page at the oldest time of this one, inclusive. An entry with an unreadable time may be at that
// time. Without any time, move returns false.
func (w *logWalk[E]) move(marks []Mark) bool {
	var oldest time.Time
	for _, m := range marks {
		if !m.Time.IsZero() && (oldest.IsZero() || m.Time.Before(oldest)) {
			oldest = m.Time
		}
	}
	if oldest.IsZero() {
		return false
	}
	oldest = oldest.Truncate(logTick)
	if before := oldest.Add(logTick); !before.Equal(w.Before) {
		w.Before, w.seen = before, nil
	}
	shown := map[digest]int{}
	for _, m := range marks {
		if m.Time.IsZero() || !m.Time.Before(oldest) {
			shown[m.Digest]++
		}
	}
	for e, n := range w.seen {
		shown[e] = max(shown[e], n)
	}
	w.seen = shown
	return true
}

// ofRows returns err if it is an error of rows, and an error that ends a walk.
func ofRows(err error) (rows RowErrors, end error) {
	if err == nil {
		return nil, nil
	}
	if rows, ok := errors.AsType[RowErrors](err); ok {
		return rows, nil
	}
	return nil, err
}
