package verify

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/watch"
)

// Service runs a query now. The name is for the service's own records.
type Service interface {
	Counts(ctx context.Context, q Query, name string) ([]CountRow, error)
	UUIDs(ctx context.Context, q Query, name string) ([]UUIDRow, error)
	Fault(err error) Fault
}

// Fault classifies the error of a query.
type Fault struct {
	IsTooMuch     bool // a smaller query may succeed
	IsHopeless    bool // every query fails until the caller corrects something
	IsUnreachable bool // every query fails for now
	IsRefused     bool // the service rejects the text of the query
	IsBusy        bool // the same query may succeed later
	RetryAfter    time.Duration
}

// Waits for a busy service.
const (
	firstWaitForRoom = 10 * time.Second
	longestWait      = 5 * time.Minute
	mostWaits        = 10
)

// patiently repeats a query while the service is busy. It waits as long as the service asks, or
// else ten seconds, doubling. Queries run one at a time, so they take one of the project's three
// slots.
func patiently[T any](ctx context.Context, s Service, query func() ([]T, error)) ([]T, error) {
	wait := firstWaitForRoom
	for n := 1; ; n++ {
		rows, err := query()
		if err == nil {
			return rows, nil
		}
		fault := s.Fault(err)
		if !fault.IsBusy || n > mostWaits || ctx.Err() != nil || fault.RetryAfter > time.Hour {
			return rows, err
		}
		if !watch.Sleep(ctx, max(wait, fault.RetryAfter)) {
			return nil, fmt.Errorf("%w (while the service was busy: %w)", context.Cause(ctx), err)
		}
		wait = min(2*wait, longestWait)
	}
}

// Queries queries the events of one import. It is not safe for concurrent use.
type Queries struct {
	Service Service
	ID      string
	older   bool // the server refuses toDate with a time zone
	noSums  bool // the server refuses the sums of uuids or their functions
}

func (j *Queries) name() string { return "hogapi verify " + j.ID }

// Fault classifies the error of a query.
func (j *Queries) Fault(err error) Fault {
	fault := j.Service.Fault(err)
	fault.IsTooMuch = fault.IsTooMuch || errors.Is(err, ErrFull) || errors.Is(err, httptry.ErrTooBig) || errors.Is(err, httptry.ErrTimeout)
	return fault
}

// Count counts by day and name, with sums of uuids if the service supports them.
func (j *Queries) Count(ctx context.Context, w Window) ([]CountRow, error) {
	if j.noSums {
		return j.countBy(ctx, CountDays(j.ID, w), w)
	}
	rows, err := j.countBy(ctx, SumDays(j.ID, w), w)
	isRefused := err != nil && j.Fault(err).IsRefused
	if !isRefused && (err == nil || !j.Fault(err).IsTooMuch || w.Halves() != nil) {
		return rows, err
	}
	counts, failed := j.countBy(ctx, CountDays(j.ID, w), w) // cheaper
	if failed != nil {
		return nil, err
	}
	j.noSums = isRefused
	return counts, nil
}

// Find looks for an event by its uuid, among the import's events or among all.
func (j *Queries) Find(ctx context.Context, id uuid.UUID, ofImport bool, w Window) ([]CountRow, error) {
	if ofImport {
		return j.countBy(ctx, findOfImport(j.ID, id, w), w)
	}
	return j.countBy(ctx, find(id, w), w)
}

func (j *Queries) countBy(ctx context.Context, q Query, w Window) ([]CountRow, error) {
	count := func() ([]CountRow, error) {
		sent := q
		if j.older {
			sent.HogQL = strings.ReplaceAll(q.HogQL, dayOfEvent, startOfDay)
		}
		rows, err := j.Service.Counts(ctx, sent, j.name())
		if err == nil {
			err = checkCounts(rows, w)
		}
		if err != nil {
			return nil, err
		}
		return rows, nil
	}
	rows, err := patiently(ctx, j.Service, count)
	if err != nil && !j.older && j.Fault(err).IsRefused {
		j.older = true
		if again, err := patiently(ctx, j.Service, count); err == nil {
			return again, nil
		}
		j.older = false
	}
	return rows, err
}

// checkCounts refuses rows outside the query and duplicates.
func checkCounts(rows []CountRow, w Window) error {
	type key struct {
		day   time.Time
		event string
	}
	seen := make(map[key]bool, len(rows))
	for _, r := range rows {
		k := key{r.Day, r.Event}
		isOld := !w.Until.After(time.Unix(0, 0)) // the service gives no days
		if seen[k] || !isOld && (r.Day.Before(w.From) || !r.Day.Before(w.Until)) {
			return errors.New("the answer has a row outside the query, or a row twice")
		}
		seen[k] = true
	}
	return nil
}

// List yields the uuids of the events with a name in a window, sorted as texts.
func (j *Queries) List(ctx context.Context, event string, w Window) iter.Seq2[uuid.UUID, error] {
	return func(yield func(uuid.UUID, error) bool) {
		after := ""
		for {
			rows, err := patiently(ctx, j.Service, func() ([]UUIDRow, error) {
				return j.Service.UUIDs(ctx, ListUUIDs(j.ID, event, after, w), j.name())
			})
			for _, r := range rows {
				if r.ID.String() <= after {
					err = errors.New("the answer lists uuids out of order")
					break
				}
				after = r.ID.String()
				if !yield(r.ID, nil) {
					return
				}
			}
			if err != nil {
				yield(uuid.Nil, err)
				return
			}
			if len(rows) < MostUUIDs {
				return
			}
		}
	}
}
