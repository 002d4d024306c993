package pages

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// Key is the position between pages, such as the key of a page's last row. Its zero value is the
// start.
type Key interface {
	comparable
	IsZero() bool
	String() string
}

// Keyed reads events in consecutive pages.
type Keyed[E any, K Key] struct {
	// Read reads the events after a key, and returns the start of the next page.
	Read func(ctx context.Context, after K) (events []E, upTo K, err error)
	// KeyOf returns the key of an event, and whether the event may lack one.
	KeyOf func(event *E) (key *K, isFree bool)
	// GoesBack reports whether a key is known to be before another one.
	GoesBack func(from, to K) bool
}

// All yields the events of all pages after a key. Events without a key get the end of their page.
func (k Keyed[E, K]) All(ctx context.Context, after K) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		var seen Circle[K]
		var none, event E
		for at := after; ; {
			page, upTo, err := k.page(ctx, at)
			isLast := len(page) == 0 && (upTo.IsZero() || upTo == at)
			if err == nil && !isLast && seen.IsClosedBy(upTo) {
				err = fmt.Errorf("the pages repeat: an earlier one also ended at %s", keyName(upTo))
			}
			if err != nil {
				yield(none, err)
				return
			}
			for _, event = range page {
				if key, _ := k.KeyOf(&event); (*key).IsZero() {
					*key = upTo
				}
				if !yield(event, nil) {
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
func (k Keyed[E, K]) page(ctx context.Context, after K) (events []E, upTo K, err error) {
	if ctx.Err() != nil {
		return nil, upTo, context.Cause(ctx)
	}
	events, upTo, err = k.Read(ctx, after)
	if err != nil {
		return nil, upTo, err
	}
	if len(events) > 0 && (upTo.IsZero() || upTo == after) {
		return nil, upTo, fmt.Errorf("the page after %s has events, but its end (upTo) is not after it: the next page would be the same", keyName(after))
	}
	haveKeys, newest := false, after
	for i := range events {
		key, isFree := k.KeyOf(&events[i])
		hasKey := !(*key).IsZero()
		if i == 0 {
			haveKeys = hasKey
		}
		switch {
		case hasKey != haveKeys:
			return nil, upTo, fmt.Errorf("the page after %s has events with a Position and others without: no read could continue between them", keyName(after))
		case !hasKey && !isFree:
			return nil, upTo, errors.New("an event has neither Position nor UUID: set Position to the key of its row")
		case hasKey && *key == after:
			return nil, upTo, fmt.Errorf("the page after %s has an event at that very position: it would be sent twice", after)
		case hasKey && k.GoesBack(newest, *key):
			return nil, upTo, fmt.Errorf("the page after %s has an event at %s after %s: order the rows by their Position, or a run that resumes leaves rows out or sends them again",
				keyName(after), keyName(*key), keyName(newest))
		case hasKey:
			newest = *key
		}
	}
	return events, upTo, nil
}

func keyName[K Key](key K) string {
	if key.IsZero() {
		return "the start"
	}
	return key.String()
}

// Circle detects, in little memory, that a walk visits a place again: it remembers one place, and
// replaces it each time the walk has doubled in length.
type Circle[P comparable] struct {
	place    P
	steps    int
	nextMark int
}

// IsClosedBy notes a place, and reports whether the walk has returned to an earlier one.
func (c *Circle[P]) IsClosedBy(p P) bool {
	if c.steps > 0 && p == c.place {
		return true
	}
	if c.steps == c.nextMark {
		c.place, c.nextMark = p, 2*c.steps+1
	}
	c.steps++
	return false
}
