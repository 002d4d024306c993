package cli

import (
	"context"
	"iter"

	"github.com/hogapi/hogapi"
)

// stoppable is a source that ends with errInterrupted once it is asked to: the import then settles
// the events that it has taken.
type stoppable struct {
	hogapi.Source
	asked context.Context //nolint:containedctx // it stands for the wish to stop, not for a call
}

// Unwrap returns the source.
func (s stoppable) Unwrap() hogapi.Source { return s.Source }

// Events implements hogapi.Source.
func (s stoppable) Events(ctx context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
	return func(yield func(hogapi.Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(s.asked, func() { cancel(errInterrupted) })() //nolint:contextcheck // another wish than ctx
		for ev, err := range s.Source.Events(ctx, after) {
			if s.asked.Err() != nil {
				break
			}
			if !yield(ev, err) {
				return
			}
		}
		if s.asked.Err() != nil {
			yield(hogapi.Event{}, errInterrupted)
		}
	}
}
