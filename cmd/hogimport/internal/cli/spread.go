package cli

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
)

// spread is a source of some events of files, spread evenly over their days. It yields the same events each
// time, each with a uuid.
type spread struct {
	files history.Source
	id    string // uuids are derived from it for records that have no uuid
	total int64  // events of the files
	days  map[int64]share

	mu    sync.Mutex
	raw   []byte  // the record that was read last, its beginning
	taken []taken // by the last walk
}

type share struct{ take, of int64 }

// taken is an event of the sample, and its record.
type taken struct {
	uuid  uuid.UUID
	place hogapi.Position
	raw   string // the beginning of the record; empty where a line is the event
	sent  storedEvent
}

// newSpread reads all files to count the events of each day. It calls seen from time to time.
func newSpread(ctx context.Context, in *input, id string, most int64, seen func(events int64)) (*spread, error) {
	s := &spread{id: id}
	s.files = in.files(func(record []byte, _ error) {
		const enough = 2000
		s.raw = append(s.raw[:0], record[:min(enough, len(record))]...)
	})
	counts := map[int64]int64{}
	for ev, err := range s.files.Events(ctx, hogapi.Position{}) {
		if err != nil {
			return nil, err
		}
		if ev.Timestamp.IsZero() {
			continue // a reject, or skipped
		}
		counts[dayOf(ev.Timestamp)]++
		const often = 10_000
		if s.total++; s.total%often == 0 {
			seen(s.total)
		}
	}
	s.days = shares(counts, s.total, most)
	return s, nil
}

// oddDay stands for all days of a wrong clock: days before 1980, and days that an import refuses since they
// ended less than two days ago. Together they have the share that they have in the files.
const oddDay = math.MinInt64

func dayOf(at time.Time) int64 {
	const day, year1980 = 24 * 60 * 60, 315532800
	if at.Unix() < year1980 || time.Since(at) < 2*day*time.Second {
		return oddDay
	}
	return at.Unix() / day
}

// shares divides a sample among days, evenly as far as they have events.
func shares(counts map[int64]int64, total, most int64) map[int64]share {
	result := map[int64]share{}
	if odd := counts[oddDay]; odd > 0 && odd < total {
		counts = maps.Clone(counts)
		delete(counts, oddDay)
		take := max(1, (most*odd+total/2)/total)
		result[oddDay] = share{min(take, odd), odd}
		most, total = most-result[oddDay].take, total-odd
	}
	days := slices.Sorted(maps.Keys(counts))
	if n := int64(len(days)); n > most { // one event of each of some days
		some := make([]int64, most)
		for i := range most {
			some[i] = days[i*n/most]
		}
		days = some
	}
	// From the day with the fewest events on, each takes its part of the rest. The last days take
	// the remainders of the divisions: among equal ones these are days of any time.
	anyOrder := func(day int64) uint64 { return uint64(day) * 0x9E3779B97F4A7C15 }
	slices.SortFunc(days, func(a, b int64) int {
		return cmp.Or(cmp.Compare(counts[a], counts[b]), cmp.Compare(anyOrder(a), anyOrder(b)))
	})
	left := min(most, total)
	for i, day := range days {
		take := min(counts[day], left/int64(len(days)-i))
		result[day] = share{take, counts[day]}
		left -= take
	}
	return result
}

// Name implements history.Source.
func (s *spread) Name() string { return fmt.Sprintf("%s, a sample of %d", s.files.Name(), s.size()) }

// Unwrap returns the files.
func (s *spread) Unwrap() history.Source { return s.files }

func (s *spread) size() (n int64) {
	for _, day := range s.days {
		n += day.take
	}
	return n
}

// Events implements history.Source. It reads from the start after any position, since it counts
// events from there.
func (s *spread) Events(ctx context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
	return func(yield func(hogapi.Event, error) bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.taken = nil
		passed := map[int64]int64{}
		isAfter, isAt := after.IsZero(), false
		for ev, err := range s.files.Events(inOrder{ctx}, hogapi.Position{}) { //nolint:contextcheck // it is the same one
			if err != nil {
				yield(ev, err)
				return
			}
			if ev.Timestamp.IsZero() {
				continue
			}
			day := dayOf(ev.Timestamp)
			n := passed[day]
			passed[day]++
			if d := s.days[day]; d.of == 0 || n*d.take%d.of >= d.take {
				continue // it takes the first event, and then others as far apart from each other
			}
			if ev.UUID == uuid.Nil {
				ev.UUID = uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "%s %d %d", s.id, day, n))
			}
			s.taken = append(s.taken, taken{ev.UUID, ev.Position, string(s.raw), storedEvent{ev.Name, ev.DistinctID, ev.Timestamp.UTC()}})
			if isAt && ev.Position != after {
				isAfter = true
			}
			isAt = isAt || ev.Position == after
			if isAfter && !yield(ev, nil) {
				return
			}
		}
	}
}

// inOrder is a context in which a verification does not read ahead, so that the record that was read last is that of the event.
type inOrder struct{ context.Context }

// Value implements context.Context.
func (inOrder) Value(any) any { return nil }

// sample returns the events that the last walk has taken. The walk must have ended.
func (s *spread) sample() []taken {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken
}
