package flows_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/uuidsum"
)

// budgeted is a project with an import of some events a day, and a clock.
type budgeted struct {
	now     time.Time
	days    int
	perDay  int
	rows    int // of everybody
	server  *hogapitest.Server
	project *hogapitest.Project
	receipt hogapi.Receipt
}

var firstBudgetDay = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

func newBudgeted(days, perDay int) *budgeted {
	b := &budgeted{now: firstBudgetDay.AddDate(2, 0, 0), days: days, perDay: perDay}
	b.server = hogapitest.New(hogapitest.WithClock(func() time.Time { return b.now }), hogapitest.WithReadBudget(1<<50, 1_000))
	b.project = b.server.Project(hogapitest.DefaultProject)
	b.receipt = hogapi.Receipt{
		ID: "hogapi-budget", Finished: true, LastAcknowledged: b.now.AddDate(0, -1, 0),
		Oldest: firstBudgetDay, Newest: firstBudgetDay.AddDate(0, 0, days-1),
	}
	for day := range days {
		var sum uuidsum.Sum
		for n := range perDay {
			sum.Add(uuidsum.Of(b.id(day, n)))
		}
		b.receipt.Days = append(b.receipt.Days, event.DayCount{
			Day: firstBudgetDay.AddDate(0, 0, day).Format(time.DateOnly), Event: "e", Acknowledged: int64(perDay), Digest: sum.String(),
		})
		b.receipt.Acknowledged += int64(perDay)
	}
	b.receipt.Read = b.receipt.Acknowledged
	return b
}

func (b *budgeted) id(day, n int) uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "%d %d", day, n))
}

// arrive stores the events of some days but for every lost-th one.
func (b *budgeted) arrive(from, until int, isLost func(day, n int) bool) {
	properties := json.RawMessage(`{"$import_job_id":"hogapi-budget"}`)
	for day := from; day < until; day++ {
		for n := range b.perDay {
			if isLost == nil || !isLost(day, n) {
				b.add(day, b.id(day, n), properties)
			}
		}
	}
}

func (b *budgeted) add(day int, id uuid.UUID, properties json.RawMessage) {
	b.rows++
	b.project.AddEvent(hogapitest.StoredEvent{UUID: id, Event: "e", DistinctID: "d", Time: firstBudgetDay.AddDate(0, 0, day), Properties: properties})
}

// others stores events of others, with the same name, on every nth day.
func (b *budgeted) others(nth, perDay int) {
	for day := 0; day < b.days; day += nth {
		for n := range perDay {
			b.add(day, b.id(-day-1, n), nil)
		}
	}
}

func (b *budgeted) source() history.Source {
	return history.Func("budget", func(context.Context, hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(yield func(hogapi.Event, error) bool) {
			for day := range b.days {
				for n := range b.perDay {
					ev := hogapi.Event{Name: "e", DistinctID: "d", Timestamp: firstBudgetDay.AddDate(0, 0, day), UUID: b.id(day, n)}
					if !yield(ev, nil) {
						return
					}
				}
			}
		}
	})
}

// looks verifies repeatedly, and returns the last result and the bytes read, in units of one reading of uuid, time and
// name of all rows.
func (b *budgeted) looks(t testing.TB, n int, source history.Source, before func(look int)) (history.Verification, float64) {
	t.Helper()
	client, dir := b.server.Client(t), t.TempDir()
	var v history.Verification
	var err error
	for look := range n {
		if before != nil {
			before(look)
		}
		v, err = history.Verify(t.Context(), client, b.receipt, &history.VerifyOptions{Dir: dir, Source: source})
		require.NoError(t, err)
		b.now = b.now.Add(25 * time.Minute)
	}
	const unit = 16 + 8 + 20
	return v, float64(b.project.ReadBytes()) / float64(unit*b.rows)
}

// readSituations are the limits on the bytes that a proof reads in each situation.
var readSituations = []struct {
	name  string
	most  float64
	state history.VerificationState
	run   func(t testing.TB, scale int) (history.Verification, float64)
}{
	{"all arrived, one look", 1.1, history.VerificationComplete, func(t testing.TB, scale int) (history.Verification, float64) {
		b := newBudgeted(120, 1_000/scale)
		b.arrive(0, 120, nil)
		return b.looks(t, 1, nil, nil)
	}},
	{"ten looks while events arrive", 6.5, history.VerificationComplete, func(t testing.TB, scale int) (history.Verification, float64) {
		b := newBudgeted(120, 1_000/scale)
		b.receipt.LastAcknowledged = b.now
		return b.looks(t, 10, nil, func(look int) { b.arrive(12*look, 12*look+12, nil) })
	}},
	{"3 lost, five looks", 6, history.VerificationMissing, func(t testing.TB, scale int) (history.Verification, float64) {
		b := newBudgeted(120, 1_000/scale)
		b.arrive(0, 120, func(day, n int) bool { return n == 5 && day%50 == 7 })
		return b.looks(t, 5, nil, nil)
	}},
	{"3 of one cell lost and named, four looks", 10, history.VerificationMissing, func(t testing.TB, scale int) (history.Verification, float64) {
		b := newBudgeted(1, 120_000/scale)
		b.arrive(0, 1, func(_, n int) bool { return n%(50_000/scale) == 7 })
		return b.looks(t, 4, b.source(), nil)
	}},
	{"others on a tenth of the days", 4, history.VerificationComplete, func(t testing.TB, scale int) (history.Verification, float64) {
		b := newBudgeted(120, 1_000/scale)
		b.arrive(0, 120, nil)
		b.others(10, 100/scale)
		return b.looks(t, 1, nil, nil)
	}},
	{"as many others, one look", 25, history.VerificationComplete, func(t testing.TB, scale int) (history.Verification, float64) {
		b := newBudgeted(120, 1_000/scale)
		b.arrive(0, 120, nil)
		b.others(1, 1_000/scale)
		return b.looks(t, 1, nil, nil)
	}},
	{"as many others, ten looks", 60, history.VerificationComplete, func(t testing.TB, scale int) (history.Verification, float64) {
		b := newBudgeted(120, 1_000/scale)
		b.receipt.LastAcknowledged = b.now
		b.others(1, 1_000/scale)
		return b.looks(t, 10, nil, func(look int) { b.arrive(12*look, 12*look+12, nil) })
	}},
}

// A proof reads uuids, times and names once, and properties only where something differs.
func TestReadBudgetOfVerify(t *testing.T) {
	t.Parallel()
	for _, s := range readSituations {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			v, read := s.run(t, 20)
			assert.Equal(t, s.state, v.State, "%v", v)
			assert.LessOrEqual(t, read, s.most)
			if s.state == history.VerificationMissing {
				assert.EqualValues(t, 3, v.MissingEvents)
			}
		})
	}
}

func BenchmarkReadBudget(b *testing.B) {
	for _, s := range readSituations {
		b.Run(s.name, func(b *testing.B) {
			for b.Loop() {
				v, read := s.run(b, 1)
				assert.Equal(b, s.state, v.State)
				b.ReportMetric(read, "readings")
			}
		})
	}
}
