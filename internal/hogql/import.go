package hogql

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/arrival"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/watch"
)

// Service carries out a query now. The name is for the service's own records.
type Service interface {
	Counts(ctx context.Context, q Query, name string) ([]CountRow, error)
	UUIDs(ctx context.Context, q Query, name string) ([]UUIDRow, error)
	Fault(err error) Fault
}

// Fault is what the error of a query means.
type Fault struct {
	IsTooMuch     bool // less can be asked for with more success
	IsHopeless    bool // no query can succeed before the caller has corrected something
	IsUnreachable bool // nor any other, for now
	IsRefused     bool // the service does not take the text of the query
	IsBusy        bool // the same query may succeed later
	RetryAfter    time.Duration
}

// Waits for room at the service.
const (
	firstWaitForRoom = 10 * time.Second
	longestWait      = 5 * time.Minute
	mostWaits        = 10
)

// patiently repeats a query while the service is busy. It waits as long as it is asked to, or else ten
// seconds, doubling. One after the other, queries never take more than one of the project's three places.
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

// Import asks for the events of one import. It is not safe for concurrent use.
type Import struct {
	Service Service
	ID      string
	older   bool // the server refuses toDate of another zone
	noSums  bool // it refuses the sums of uuids, or its functions
}

func (j *Import) name() string { return "hogapi verify " + j.ID }

// Fault says what an error of a query means.
func (j *Import) Fault(err error) Fault {
	fault := j.Service.Fault(err)
	fault.IsTooMuch = fault.IsTooMuch || errors.Is(err, ErrFull) || errors.Is(err, httptry.ErrTooBig) || errors.Is(err, httptry.ErrTimeout)
	return fault
}

// Count counts by day and name, with the sums of the uuids where the service can add them up.
func (j *Import) Count(ctx context.Context, w arrival.Window) ([]CountRow, error) {
	if j.noSums {
		return j.countBy(ctx, CountDays(j.ID, w), w)
	}
	rows, err := j.countBy(ctx, SumDays(j.ID, w), w)
	isRefused := err != nil && j.Fault(err).IsRefused
	if !isRefused && (err == nil || !j.Fault(err).IsTooMuch || w.Halves() != nil) {
		return rows, err
	}
	counts, failed := j.countBy(ctx, CountDays(j.ID, w), w) // which costs less
	if failed != nil {
		return nil, err
	}
	j.noSums = isRefused
	return counts, nil
}

// Find looks for an event by its uuid, among those of the import or among all.
func (j *Import) Find(ctx context.Context, id uuid.UUID, ofImport bool, w arrival.Window) ([]CountRow, error) {
	if ofImport {
		return j.countBy(ctx, findOfImport(j.ID, id, w), w)
	}
	return j.countBy(ctx, find(id, w), w)
}

func (j *Import) countBy(ctx context.Context, q Query, w arrival.Window) ([]CountRow, error) {
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

// checkCounts refuses an answer to another question.
func checkCounts(rows []CountRow, w arrival.Window) error {
	type key struct {
		day   time.Time
		event string
	}
	seen := make(map[key]bool, len(rows))
	for _, r := range rows {
		k := key{r.Day, r.Event}
		isOld := !w.Until.After(time.Unix(0, 0)) // where the service names no days
		if seen[k] || !isOld && (r.Day.Before(w.From) || !r.Day.Before(w.Until)) {
			return errors.New("the answer has a row that was not asked for, or has one twice")
		}
		seen[k] = true
	}
	return nil
}

// List gives the uuids of the events of a name in a window, in the order of their texts.
func (j *Import) List(ctx context.Context, event string, w arrival.Window) iter.Seq2[uuid.UUID, error] {
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
