package formats_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
)

// plan makes a source from a folder and a function, which it calls at each step of its work.
type plan func(dir string, step func()) history.Source

// stepping is the format of orders with a step for each record.
func stepping(step func()) history.Format {
	f := orders
	f.Convert = func(record []byte) ([]hogapi.Event, error) {
		step()
		return orders.Convert(record)
	}
	return f
}

func file(path string) plan {
	return func(_ string, step func()) history.Source { return history.Files(stepping(step), path) }
}

func records(name, text string) plan {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	read := func(_ context.Context, after hogapi.Position) iter.Seq2[history.Record, error] {
		return func(yield func(history.Record, error) bool) {
			for i, line := range lines[after.Offset:] {
				p := hogapi.Position{Key: name, Offset: after.Offset + int64(i) + 1}
				if !yield(history.Record{Raw: []byte(line), Position: p}, nil) {
					return
				}
			}
		}
	}
	return func(_ string, step func()) history.Source { return history.Records(name, stepping(step), read) }
}

// around are the ways to make a source of another one.
var around = map[string]func(name string, inner plan) plan{
	"as it is": func(_ string, inner plan) plan { return inner },
	"history.Map": func(_ string, inner plan) plan {
		return func(dir string, step func()) history.Source { return history.Map(inner(dir, step), twice) }
	},
	"Sorted": func(name string, inner plan) plan {
		return func(dir string, step func()) history.Source {
			s := formats.Sorted(inner(dir, step), filepath.Join(dir, name))
			s.SetMemory(2 << 10)
			s.OnProgress = func(formats.SortProgress) { step() }
			return s
		}
	},
	"Links": func(_ string, inner plan) plan {
		return func(dir string, step func()) history.Source {
			s := inner(dir, step)
			return history.Concat(formats.Links(s), s)
		}
	},
}

// stoppable is a checkpoint in memory that a kill leaves as it is.
type stoppable struct {
	state  []byte
	killed atomic.Bool
}

func (c *stoppable) Open(context.Context) ([]byte, error) { return c.state, nil }
func (c *stoppable) Close() error                         { return nil }

func (c *stoppable) Save(_ context.Context, state []byte) error {
	if c.killed.Load() {
		return errors.New("killed")
	}
	c.state = state
	return nil
}

// Every source that sources are made of resumes, wherever it is stopped or killed: while links are
// read, while events are sorted, between two sources, among the events. Each event arrives with the
// uuid and the content that it has without a stop.
func TestEveryCombinationResumes(t *testing.T) {
	t.Parallel()
	a, b := ordersOfDevices(0, 12), ordersOfDevices(100, 12)
	pathA, pathB := write(t, "a.jsonl", a), write(t, "b.jsonl", b)
	plans, firsts, seconds := map[string]plan{}, map[string]plan{}, map[string]plan{}
	for outer, with := range around {
		if outer != "history.Map" { // which has no place of its own
			firsts[outer+" of history.Files"] = with("a", file(pathA))
		}
		seconds[outer+" of history.Files"] = with("b", file(pathB))
		seconds[outer+" of history.Records"] = with("b", records("b", b))
		for inner, within := range around {
			plans[outer+" of "+inner+" of history.Files"] = with("outer", within("inner", file(pathB)))
		}
	}
	for first, x := range firsts {
		for second, y := range seconds {
			plans["Concat: "+first+", "+second] = func(dir string, step func()) history.Source {
				return history.Concat(x(dir, step), y(dir, step))
			}
		}
	}
	sessions := func(dir string, step func()) history.Source {
		return formats.Sessions(around["Sorted"]("a", file(pathA))(dir, step), nil)
	}
	plans["Sessions of Sorted"] = sessions
	plans["Links of Sessions of Sorted"] = around["Links"]("a", sessions)
	plans["Concat: history.Files, Sessions of Sorted"] = func(dir string, step func()) history.Source {
		return history.Concat(file(pathB)(dir, step), sessions(dir, step))
	}
	for name, p := range plans {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p.resumes(t)
		})
	}
}

func (p plan) resumes(t *testing.T) {
	steps := 0
	want, err := storedBy(t.Context(), t, hogapitest.New(), p(t.TempDir(), func() { steps++ }), &stoppable{})
	require.NoError(t, err)
	require.NotEmpty(t, want)
	const phases = 6
	for phase := range phases {
		at, isKill := 1+steps*phase/phases, (phase+steps)%2 == 0
		server, dir, checkpoint := hogapitest.New(), t.TempDir(), &stoppable{}
		ctx, cancel := context.WithCancelCause(t.Context())
		done, stop := 0, errors.New("stopped")
		source := p(dir, func() {
			if done++; done == at {
				checkpoint.killed.Store(isKill)
				cancel(stop)
			}
		})
		_, err := storedBy(ctx, t, server, source, checkpoint)
		cancel(nil)
		require.Error(t, err, "step %d of %d", at, steps)
		checkpoint.killed.Store(false)
		got, err := storedBy(t.Context(), t, server, p(dir, func() {}), checkpoint)
		require.NoError(t, err, "step %d of %d, killed: %t", at, steps, isKill)
		require.Equal(t, want, got, "step %d of %d, killed: %t", at, steps, isKill)
	}
}

// A reject handler that fails within a record of several events has the whole record again in the
// next run: no event of it is passed over.
func TestRejectHandlerFailsWithinARecord(t *testing.T) {
	t.Parallel()
	const refused = 3 // events of the second record, which have no person
	path := write(t, "o.jsonl", order("a", 1)+`{"who":"","at":"2024-05-01T12:30:02Z","items":2}`+"\n"+order("b", 3))
	for failing := range refused {
		server, checkpoint := hogapitest.New(), &stoppable{}
		seen, got := 0, map[uuid.UUID]int{}
		run := func(fails bool) (hogapi.Receipt, error) {
			return history.Import(t.Context(), server.Client(t), history.Files(orders, path), &history.Options{
				ID: "rejects", Checkpoint: checkpoint, MaxRejectShare: -1,
				Rejects: hogapi.RejectFunc(func(_ context.Context, r hogapi.Reject) error {
					if seen++; fails && seen == failing+1 {
						return errors.New("full")
					}
					got[r.UUID]++
					return nil
				}),
			})
		}
		_, err := run(true)
		require.ErrorContains(t, err, "full")
		receipt, err := run(false)
		require.NoError(t, err)
		assert.Len(t, got, refused, "failed at reject %d", failing)
		assert.EqualValues(t, refused, receipt.Rejected)
		assert.EqualValues(t, 2, receipt.Acknowledged)
		assert.Equal(t, 2, server.Ledger().Unique())
	}
}

// A run that ends within a record of several events would lose or double some of them where the
// sorting is stopped there.
func TestSortRunsEndBetweenRecords(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 4 {
		fmt.Fprintf(&text, `{"who":"u%d","at":"2024-05-01T12:00:%02dZ","items":2}`+"\n", i, 30-i)
	}
	path, stop := write(t, "o.jsonl", text.String()), errors.New("stopped")
	for at := range 4 * 3 {
		dir, n := t.TempDir(), 0
		counting := history.Func("counted", func(_ context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
			return func(yield func(hogapi.Event, error) bool) {
				for ev, err := range history.Files(orders, path).Events(t.Context(), after) {
					if n++; n == at+1 {
						yield(hogapi.Event{}, stop)
						return
					}
					if !yield(ev, err) {
						return
					}
				}
			}
		})
		sorted := formats.Sorted(counting, dir)
		sorted.SetMemory(1) // a run for each record
		_, err := readSorted(t, sorted, hogapi.Position{})
		require.ErrorIs(t, err, stop)
		n = -1000
		events, err := readSorted(t, sorted, hogapi.Position{})
		require.NoError(t, err)
		seen := map[string]int{}
		for _, ev := range events {
			seen[ev.Name+" "+ev.DistinctID+" "+ev.Origin.Key]++
		}
		assert.Len(t, events, 4*3, "stopped at event %d", at)
		assert.Len(t, seen, 4*3, "stopped at event %d", at)
	}
}

// storedBy imports a source and returns the events of the server.
func storedBy(ctx context.Context, t *testing.T, server *hogapitest.Server, source history.Source, checkpoint *stoppable) (map[uuid.UUID]string, error) {
	t.Helper()
	_, err := history.Import(ctx, server.Client(t), source, &history.Options{
		ID: "combined", Rate: hogapi.RateUnlimited, Checkpoint: checkpoint, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxBatchEvents: 3, Lanes: 1, MaxInFlight: 2}},
	})
	events := map[uuid.UUID]string{}
	for ev := range server.Ledger().Events() {
		events[ev.UUID] = fmt.Sprint(ev.Event, " ", ev.DistinctID, " ", ev.Time.UTC(), " ", string(ev.Properties))
	}
	assert.Empty(t, server.Ledger().Changed())
	return events, err
}

// ordersOfDevices are n orders, in no order of time, of some devices, one of which has two users.
func ordersOfDevices(from, n int) string {
	var b strings.Builder
	for i := from; i < from+n; i++ {
		fmt.Fprintf(&b, `{"who":"u%d","device":"d%d","at":"2024-05-01T12:%02d:%02dZ","items":%d,"n":%d}`+"\n", i%7, i%6, i*17%60, i%60, i%3, i)
	}
	return b.String()
}
