package cli

import (
	"context"
	"iter"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/progress"
)

// linkSource is the pairs of ids that --links joins first. It says how many there were when they have all been read.
type linkSource struct {
	hogapi.Source
	begun func()
	ended func(pairs int64)
}

// Unwrap returns the source.
func (l *linkSource) Unwrap() hogapi.Source { return l.Source }

// Events implements hogapi.Source.
func (l *linkSource) Events(ctx context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
	return func(yield func(hogapi.Event, error) bool) {
		if l.begun != nil {
			l.begun()
		}
		var pairs int64
		for ev, err := range l.Source.Events(ctx, after) {
			if err == nil && !ev.Timestamp.IsZero() { // else it is a device with two users, which is left out
				pairs++
			}
			if !yield(ev, err) || err != nil {
				return
			}
		}
		if l.ended != nil && after.IsZero() { // else a run before has counted the first ones
			l.ended(pairs)
		}
	}
}

// watchLinks shows the joining of ids, and keeps how many pairs there were.
func watchLinks(source hogapi.Source, meter *progress.Meter, s *state) {
	switch l := source.(type) {
	case *linkSource:
		l.begun = func() { meter.Phase("finding pairs of ids") }
		l.ended = func(pairs int64) {
			meter.Say(counted(pairs, "pair") + " of ids joined first.")
			s.kept.Links = pairs
			_ = s.save() // for the result only: a full disk stops the import by its checkpoint
		}
	case interface{ Unwrap() []hogapi.Source }:
		for _, inner := range l.Unwrap() {
			watchLinks(inner, meter, s)
		}
	}
}
