package hogapi

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/google/uuid"
)

// PagedSource makes a source of a function that reads page after page: rows of a table, answers of an API. It is given the zero
// position first, then the upTo of the page before; a run that resumes begins with the position of an event. It returns the
// events behind after, oldest first, and where the next page goes on. There are no more when it returns no event and an upTo
// that is zero or after itself. An error is fatal.
//
// Every event needs a Position, such as the unique key of its row, from where read can go on. Pages are cut where that key is cut: order
// by it, or, where keys are not in the order of time, order by time and key and put both into the Position. A query that goes on behind
// an id and orders by time skips rows, and nothing here can see it. Only where each event of a page has a UUID of
// its own, or is a [BadEvent], may they all do without: they get the upTo of their page, and the page is read again after a stop.
//
//	hogapi.PagedSource("orders", func(ctx context.Context, after hogapi.Position) ([]hogapi.Event, hogapi.Position, error) {
//		// SELECT … FROM orders WHERE id > after.Offset ORDER BY id LIMIT 1000
//	})
func PagedSource(name string, read func(ctx context.Context, after Position) (events []Event, upTo Position, err error)) Source {
	return pagedSource{name, read}
}

type pagedSource struct {
	name string
	read func(context.Context, Position) ([]Event, Position, error)
}

func (s pagedSource) Name() string { return s.name }

func (s pagedSource) Events(ctx context.Context, after Position) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for at := after; ; {
			page, upTo, err := s.page(ctx, at)
			if err != nil {
				yield(Event{}, err)
				return
			}
			for _, ev := range page {
				if ev.Position.IsZero() {
					ev.Position = upTo
				}
				if !yield(ev, nil) {
					return
				}
			}
			if len(page) == 0 && (upTo.IsZero() || upTo == at) {
				return
			}
			at = upTo
		}
	}
}

// page reads one page and checks that the import can rely on it.
func (s pagedSource) page(ctx context.Context, after Position) (events []Event, upTo Position, err error) {
	if ctx.Err() != nil {
		return nil, upTo, context.Cause(ctx)
	}
	events, upTo, err = s.read(ctx, after)
	if err != nil {
		return nil, upTo, err
	}
	if len(events) > 0 && (upTo.IsZero() || upTo == after) {
		return nil, upTo, fmt.Errorf("the page after %s has events, but its end (upTo) is not behind it: the next page would be the same", placeName(after))
	}
	for _, ev := range events {
		switch {
		case ev.Position.IsZero() != events[0].Position.IsZero():
			return nil, upTo, fmt.Errorf("the page after %s has events with a Position and others without: no read could go on between them", placeName(after))
		case ev.Position.IsZero() && ev.UUID == uuid.Nil && ev.bad == nil:
			return nil, upTo, errors.New("an event has neither Position nor UUID: set Position to the key of its row")
		case !ev.Position.IsZero() && ev.Position == after:
			return nil, upTo, fmt.Errorf("the page after %s has an event at that very position: it would be sent twice", after)
		}
	}
	return events, upTo, nil
}

// placeName is a position in an error.
func placeName(p Position) string {
	if p.IsZero() {
		return "the start"
	}
	return p.String()
}
