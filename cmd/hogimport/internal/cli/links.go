package cli

import (
	"context"
	"iter"
	"slices"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
)

// linkSource is the pairs of ids that --links joins first. When they have all been read it says how many there are, and how
// many of them join ids: -1 where a run before has read the first ones.
type linkSource struct {
	hogapi.Source
	begun func()
	ended func(all, joined int64)
}

// Unwrap returns the source.
func (l *linkSource) Unwrap() hogapi.Source { return l.Source }

// Events implements hogapi.Source.
func (l *linkSource) Events(ctx context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
	return func(yield func(hogapi.Event, error) bool) {
		if l.begun != nil {
			l.begun()
		}
		all, joined := after.Offset, int64(0) // the offset of a link is its number
		for ev, err := range l.Source.Events(ctx, after) {
			if err == nil {
				all = ev.Position.Offset
			}
			if err == nil && !ev.Timestamp.IsZero() { // else it is a device with two users, which is left out
				joined++
			}
			if !yield(ev, err) || err != nil {
				return
			}
		}
		if !after.IsZero() {
			joined = -1
		}
		if l.ended != nil {
			l.ended(all, joined)
		}
	}
}

// links reports whether an import has links, how many were read, and how many were acknowledged: 0
// if that is not known.
func (s *state) links(r hogapi.Receipt) (has bool, read, acknowledged int64) {
	all := s.kept.Links
	switch {
	case !s.kept.Input.Links:
		return false, 0, 0
	case all == 0: // there are no links, or the run was killed before it saved their number
		return slices.ContainsFunc(r.Days, func(d hogapi.DayCount) bool { return d.Event == "$identify" }), 0, 0
	case !r.Finished:
		return true, 0, 0
	case r.Rejected+r.Unconfirmed > 0: // some may be links
		return true, all, 0
	}
	joined := all - r.Skips[formats.SkipSharedDevice]
	return joined > 0, all, joined
}

// watchLinks shows the joining of ids, and keeps how many pairs there are.
func (w *watcher) watchLinks(source hogapi.Source) {
	switch l := source.(type) {
	case *linkSource:
		l.begun = func() { w.meter.Phase("finding pairs of ids") }
		l.ended = func(all, joined int64) {
			if joined >= 0 {
				w.meter.Say(counted(joined, "pair") + " of ids joined first.")
			}
			w.keep(func(k *kept) { k.Links = all })
		}
	case interface{ Unwrap() []hogapi.Source }:
		for _, inner := range l.Unwrap() {
			w.watchLinks(inner)
		}
	}
}
