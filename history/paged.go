package history

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/inside"
	"github.com/hogapi/hogapi/internal/wire"
)

// Paged returns a source that calls read for one page after another, such as rows of a table or answers of an API. read
// gets the position after which the page begins, at first zero, and returns the events after it, oldest first, and the
// position where the next page begins; at the end, no events and the position it was given. Every event needs a Position
// from which read can continue, with a Key, such as hogapi.Position{Key: "orders", Offset: id}: an event with neither Key
// nor UUID is refused. Order rows by a unique key, or by time and key with both in the Position: a query that continues
// after an id but orders by time skips rows, which this package cannot notice. docs/reference.md has an example.
func Paged(name string, read func(ctx context.Context, after event.Position) (events []event.Event, upTo event.Position, err error)) Source {
	if read == nil {
		return Func(name, nil) // the import refuses it
	}
	return Func(name, pageReader(read).all)
}

type pageReader func(ctx context.Context, after event.Position) (events []event.Event, upTo event.Position, err error)

// all yields the events of all pages after a position. Events without a position get the end of their page.
func (read pageReader) all(ctx context.Context, after event.Position) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		var seen circle
		var ev event.Event
		for at := after; ; {
			page, upTo, err := read.page(ctx, at)
			isLast := len(page) == 0 && (upTo.IsZero() || upTo == at)
			if err == nil && !isLast && seen.isClosedBy(upTo) {
				err = fmt.Errorf("the pages repeat: an earlier one also ended at %s", keyName(upTo))
			}
			if err != nil {
				yield(event.Event{}, err)
				return
			}
			for _, ev = range page {
				if ev.Position.IsZero() {
					ev.Position = upTo
				}
				if !yield(ev, nil) {
					return
				}
			}
			if isLast {
				return
			}
			at = upTo
		}
	}
}

// page reads one page and checks that its keys lead onwards.
func (read pageReader) page(ctx context.Context, after event.Position) (events []event.Event, upTo event.Position, err error) {
	if ctx.Err() != nil {
		return nil, upTo, context.Cause(ctx)
	}
	events, upTo, err = read(ctx, after)
	if err != nil {
		return nil, upTo, err
	}
	if len(events) > 0 && (upTo.IsZero() || upTo == after) {
		return nil, upTo, fmt.Errorf("the page after %s has events, but its end (upTo) is not after it: the next page would be the same", keyName(after))
	}
	haveKeys, newest := false, after
	for i := range events {
		key := events[i].Position
		isFree := events[i].UUID != uuid.Nil || events[i].Inside(inside.Key{}).Bad != nil
		hasKey := !key.IsZero()
		if i == 0 {
			haveKeys = hasKey
		}
		switch {
		case hasKey != haveKeys:
			return nil, upTo, fmt.Errorf("the page after %s has events with a Position and others without: no read could continue between them", keyName(after))
		case !hasKey && !isFree:
			return nil, upTo, errors.New("an event has neither Position nor UUID: set Position to the key of its row")
		case hasKey && key == after:
			return nil, upTo, fmt.Errorf("the page after %s has an event at the same position, which would be sent twice", after)
		case hasKey && wire.GoesBack(key, newest):
			return nil, upTo, fmt.Errorf("the page after %s has an event at %s after %s: order the rows by their Position, or a run that resumes leaves rows out or sends them again",
				keyName(after), keyName(key), keyName(newest))
		case hasKey:
			newest = key
		}
	}
	return events, upTo, nil
}

func keyName(key event.Position) string {
	if key.IsZero() {
		return "the start"
	}
	return key.String()
}

// circle detects, in little memory, that a walk visits a place again: it remembers one place, and
// replaces it each time the walk has doubled in length.
type circle struct {
	place    event.Position
	steps    int
	nextMark int
}

// isClosedBy notes a place, and reports whether the walk has returned to an earlier one.
func (c *circle) isClosedBy(p event.Position) bool {
	if c.steps > 0 && p == c.place {
		return true
	}
	if c.steps == c.nextMark {
		c.place, c.nextMark = p, 2*c.steps+1
	}
	c.steps++
	return false
}
