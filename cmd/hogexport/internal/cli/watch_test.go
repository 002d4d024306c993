package cli

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// clockwork is a clock that a test sets.
type clockwork struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clockwork) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clockwork) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// watching is a monitor of a fake that lives in the time of a clock.
type watching struct {
	*monitor

	clock  *clockwork
	server *hogapitest.Server
}

func newWatching(t *testing.T, start time.Time, options ...hogapitest.Option) *watching {
	t.Helper()
	clock := &clockwork{now: start}
	server := hogapitest.New(append(options, hogapitest.WithClock(clock.time))...)
	w := &watching{nil, clock, server}
	w.monitor = w.another(t, cache{folder: t.TempDir()})
	return w
}

// another returns another monitor of the fake: a restart, with the cache of the first.
func (w *watching) another(t *testing.T, store cache) *monitor {
	t.Helper()
	m := &monitor{client: w.server.Client(t), store: store, now: w.clock.time, watched: map[uuid.UUID]*watched{}}
	m.load()
	return m
}

func (w *watching) export(name string, interval hogapi.Interval, zone string, outcome func(start, end time.Time) (hogapitest.Outcome, bool)) uuid.UUID {
	p := w.server.Project(hogapitest.DefaultProject)
	id := p.AddExport(hogapitest.Export{
		Name: name, Interval: interval, Timezone: zone, Created: w.clock.time().Add(-72 * time.Hour), DestinationType: "BigQuery", Config: map[string]any{},
	})
	p.RunSchedule(id, outcome)
	return id
}

// value returns the value of a metric of an export.
func (w *watching) value(t *testing.T, name, export string) string {
	t.Helper()
	return valueIn(w.page(), name, export)
}

// page is the text of all metrics.
func (w *watching) page() string {
	var b bytes.Buffer
	w.write(&b)
	return b.String()
}

func valueIn(page, name, export string) string {
	_, rest, ok := strings.Cut(page, "\nhogexport_"+name+"{export=\""+export+"\"")
	if !ok {
		return "absent"
	}
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line[strings.LastIndexByte(line, ' '):])
}

// Each way in which an export goes wrong shows in the first look after it is due.
func TestWatchShowsWhatGoesWrong(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 0, 20, 0, 0, time.UTC)
	w := newWatching(t, start)
	at := func(hours int) time.Time { return start.Truncate(time.Hour).Add(time.Duration(hours) * time.Hour) }
	outcomes := map[string]map[time.Time]hogapitest.Outcome{
		"failing": {at(3): {Status: "Failed", Error: "SlowDown"}, at(5): {Status: "Failed"}, at(7): {Status: "Failed"}},
		"billing": {at(3): {Status: "FailedBilling"}}, "cancelled": {at(3): {Status: "Cancelled"}}, "stuck": {at(3): {Polls: 1 << 30}},
	}
	for _, name := range []string{"failing", "billing", "cancelled", "stuck", "good", "missing", "paused"} {
		w.export(name, hogapi.IntervalHour, "UTC", func(_, end time.Time) (hogapitest.Outcome, bool) {
			outcome, isOther := outcomes[name][end]
			return outcome, isOther || name != "missing" || !end.Equal(at(3))
		})
	}
	paused := w.export("by hand", hogapi.IntervalHour, "UTC", func(_, _ time.Time) (hogapitest.Outcome, bool) { return hogapitest.Outcome{}, true })
	odd := w.export("odd bounds", hogapi.IntervalHour, "UTC", nil)
	project := w.server.Project(hogapitest.DefaultProject)
	first := map[string]time.Duration{} // since the hour in which it went wrong
	note := func(what string, is bool, since time.Time) {
		if _, isKnown := first[what]; is && !isKnown {
			first[what] = w.clock.time().Sub(since)
		}
	}
	for w.clock.time().Before(at(16)) {
		switch now := w.clock.time(); {
		case now.Equal(at(2).Add(20 * time.Minute)):
			project.EditExport(paused, now, func(x *hogapitest.Export) { x.Paused = true })
			project.EditExport(odd, now, func(x *hogapitest.Export) { x.Paused = true })
		case now.Equal(at(6).Add(20 * time.Minute)):
			project.EditExport(paused, now, func(x *hogapitest.Export) { x.Paused = false })
			project.EditExport(odd, now, func(x *hogapitest.Export) { x.Paused = false })
			for begin := at(2).Add(20 * time.Minute); begin.Before(now); begin = begin.Add(time.Hour) { // a backfill since the pause
				project.AddRun(odd, hogapitest.Run{Start: begin, End: begin.Add(time.Hour), Created: now})
			}
		}
		require.NoError(t, w.look(t.Context()))
		note("second to last failure", w.value(t, "failures_left", "failing") == "2", at(3))
		note("last but one failure", w.value(t, "failures_left", "failing") == "1", at(5))
		note("paused by the service", w.value(t, "paused", "failing") == "1", at(7))
		note("failed billing", w.value(t, "failed_billing", "billing") == "1", at(3))
		note("cancelled", w.value(t, "uncovered_intervals", "cancelled") == "1", at(3))
		note("stuck", w.value(t, "stuck_seconds", "stuck") != "0", at(3))
		note("never scheduled", w.value(t, "uncovered_intervals", "missing") == "1", at(3))
		note("paused by hand", w.value(t, "paused", "by hand") == "1", at(2))
		note("unpaused without a backfill", w.value(t, "paused", "by hand") == "0" && w.value(t, "uncovered_intervals", "by hand") == "4", at(6))
		note("a backfill of odd bounds", w.value(t, "paused", "odd bounds") == "0" && w.value(t, "uncovered_intervals", "odd bounds") == "1", at(6))
		assert.Equal(t, "0", w.value(t, "uncovered_intervals", "good"))
		if since := w.clock.time().Sub(at(3)); since > 3*time.Hour+25*time.Minute { // also when newer runs than this are listed
			assert.NotEqual(t, "0", w.value(t, "stuck_seconds", "stuck"), since)
		}
		w.clock.add(5 * time.Minute)
	}
	for what, most := range map[string]time.Duration{ // the service begins a run up to 15 minutes after the interval
		"second to last failure": 25 * time.Minute, "last but one failure": 25 * time.Minute, "paused by the service": 25 * time.Minute,
		"failed billing": 25 * time.Minute, "cancelled": 25 * time.Minute, "stuck": 3*time.Hour + 25*time.Minute,
		"never scheduled": time.Hour + 25*time.Minute, "paused by hand": 25 * time.Minute, "unpaused without a backfill": time.Hour + 25*time.Minute,
		"a backfill of odd bounds": 25 * time.Minute,
	} {
		took, isSeen := first[what]
		assert.True(t, isSeen, what)
		assert.LessOrEqual(t, took, most, what)
	}
}

// Newer runs push a run that is under way out of the list of exports: after 50 minutes if they come every 5 minutes.
// Whether it is stuck or was cancelled still shows at the first look after it.
func TestWatchFollowsRunsThatTheListNoLongerHas(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 0, 20, 0, 0, time.UTC)
	for interval, step := range map[hogapi.Interval]time.Duration{
		hogapi.IntervalEvery5Minutes: 5 * time.Minute, hogapi.IntervalEvery15Minutes: 15 * time.Minute, hogapi.IntervalHour: time.Hour,
	} {
		w := newWatching(t, start)
		odd := start.Truncate(time.Hour).Add(time.Hour) // the end of the interval with the run that does not end
		ids := map[string]uuid.UUID{}
		for _, name := range []string{"stuck", "cancelled", "slow", "good"} {
			ids[name] = w.export(name, interval, "UTC", func(_, end time.Time) (hogapitest.Outcome, bool) {
				if !end.Equal(odd) {
					return hogapitest.Outcome{}, true
				}
				const ends = 12 // looks, while the list has it
				return hogapitest.Outcome{Polls: map[string]int{"stuck": 1 << 30, "cancelled": 1 << 30, "slow": ends}[name]}, true
			})
		}
		project := w.server.Project(hogapitest.DefaultProject)
		begun := map[string]time.Time{}
		first := map[string]time.Duration{} // from when it is so
		note := func(name string, is bool, since time.Time) {
			if _, isKnown := first[name]; is && !isKnown {
				first[name] = w.clock.time().Sub(since)
			}
		}
		cancelled := odd.Add(2*time.Hour + 50*time.Minute)
		for now := start; now.Before(odd.Add(5 * time.Hour)); now = w.clock.time() {
			require.NoError(t, w.look(t.Context()))
			for name, id := range ids {
				for _, run := range project.Runs(id) {
					if run.End.Equal(odd) {
						begun[name] = run.Created
						if name == "cancelled" && now.Equal(cancelled) {
							require.NoError(t, w.client.Runs.Cancel(t.Context(), id, run.ID))
						}
					}
				}
			}
			limit := max(3*time.Hour, 3*step)
			isStuck := w.value(t, "stuck_seconds", "stuck") != "0"
			note("stuck", isStuck, begun["stuck"].Add(limit))
			assert.Equal(t, isStuck, !begun["stuck"].IsZero() && now.After(begun["stuck"].Add(limit)), "%s: %s", interval, now)
			note("cancelled", w.value(t, "uncovered_intervals", "cancelled") == "1", cancelled)
			for _, name := range []string{"cancelled", "slow", "good"} {
				assert.Equal(t, "0", w.value(t, "stuck_seconds", name), "%s, %s: %s", interval, name, now)
			}
			for _, name := range []string{"slow", "good"} {
				assert.Equal(t, "0", w.value(t, "uncovered_intervals", name), "%s, %s: %s", interval, name, now)
			}
			w.clock.add(5 * time.Minute)
		}
		assert.Equal(t, "1", w.value(t, "uncovered_intervals", "cancelled"), interval)
		assert.LessOrEqual(t, first["cancelled"], 16*time.Minute, interval)
		require.Contains(t, first, "stuck", interval)
	}
}

// So it is by the clock of this machine: a run becomes stuck while watch looks.
func TestWatchSeesARunBecomeStuck(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	t.Cleanup(server.Close)
	p, now := server.Project(hogapitest.DefaultProject), time.Now().UTC()
	id := p.AddExport(hogapitest.Export{Name: "lake", Interval: hogapi.IntervalEvery5Minutes, Created: now.Add(-4 * time.Hour)})
	const soon = 500 * time.Millisecond
	end := now.Add(-3 * time.Hour).Truncate(5 * time.Minute)
	p.NextRuns(hogapitest.Outcome{Polls: 1 << 30})
	p.AddRun(id, hogapitest.Run{Status: hogapi.RunStatusRunning, Start: end.Add(-5 * time.Minute), End: end, Created: now.Add(-3*time.Hour + soon)})
	for end = end.Add(5 * time.Minute); end.Before(now); end = end.Add(5 * time.Minute) {
		p.AddRun(id, hogapitest.Run{Start: end.Add(-5 * time.Minute), End: end, Created: end})
	}
	w := &watching{&monitor{client: server.Client(t), store: cache{folder: t.TempDir()}, now: time.Now, watched: map[uuid.UUID]*watched{}}, nil, server}
	isStuck := func() bool {
		assert.NoError(t, w.look(t.Context()))
		return w.value(t, "stuck_seconds", "lake") != "0"
	}
	if first := isStuck(); time.Since(now) < soon {
		assert.False(t, first)
	}
	require.Eventually(t, isStuck, 10*time.Second, 20*time.Millisecond)
	assert.Greater(t, time.Since(now), soon)
}

// An interval with a run under way is not covered, whether the run was read by itself or is in the list of exports.
func TestWatchCoversNoRunUnderWay(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 0, 20, 0, 0, time.UTC)
	w := newWatching(t, start)
	newest := start.Add(-time.Hour).Truncate(time.Hour) // that completes
	id := w.export("lake", hogapi.IntervalHour, "UTC", func(_, end time.Time) (hogapitest.Outcome, bool) {
		if end.After(newest) {
			return hogapitest.Outcome{Polls: 1 << 30}, true
		}
		return hogapitest.Outcome{}, true
	})
	for range 2 {
		require.NoError(t, w.look(t.Context()))
		assert.Equal(t, newest, w.watched[id].Covered)
		assert.Equal(t, newest, w.watched[id].Exported)
		w.clock.add(time.Hour)
	}
}

// A run that completed without some of its records has not exported its interval: neither where the runs are read, nor
// where the list has it.
func TestWatchCoversNoFailedRecords(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 0, 20, 0, 0, time.UTC)
	w := newWatching(t, start)
	newest := start.Add(-time.Hour).Truncate(time.Hour) // with all of its records
	id := w.export("lake", hogapi.IntervalHour, "UTC", func(_, end time.Time) (hogapitest.Outcome, bool) {
		return hogapitest.Outcome{FailedRecords: map[bool]int{true: 1}[end.After(newest)]}, true
	})
	for hours := range 3 {
		require.NoError(t, w.look(t.Context()))
		assert.Equal(t, newest, w.watched[id].Exported)
		assert.Equal(t, newest, *w.watched[id].Status.ExportedTo)
		assert.Len(t, w.watched[id].Open, hours+1)
		w.clock.add(time.Hour)
	}
}

// A gap that is known does not count, also where the line of --accept ends with it. Another one counts once, however often
// the runs are read.
func TestWatchLeavesOutWhatIsKnown(t *testing.T) {
	t.Parallel()
	w := newWatching(t, time.Date(2026, 11, 20, 0, 20, 0, 0, time.UTC))
	known, other := time.Date(2026, 11, 19, 12, 0, 0, 0, time.UTC), time.Date(2026, 11, 19, 18, 0, 0, 0, time.UTC)
	w.export("lake", hogapi.IntervalHour, "UTC", func(start, _ time.Time) (hogapitest.Outcome, bool) {
		return hogapitest.Outcome{}, !start.Equal(known) && !start.Equal(other)
	})
	w.known = []acceptance{{"lake", known, known.Add(time.Hour), "an outage"}}
	for range 2 {
		require.NoError(t, w.look(t.Context()))
		assert.Equal(t, "1", w.value(t, "uncovered_intervals", "lake"))
		w.clock.add(7 * time.Hour)
	}
}

// The runs are read again after a change of the settings, and not without one.
func TestWatchReadsAgainAfterAChange(t *testing.T) {
	t.Parallel()
	w := newWatching(t, time.Date(2026, 11, 20, 0, 20, 0, 0, time.UTC))
	id := w.export("lake", hogapi.IntervalHour, "UTC", nil)
	calls := func() int {
		before := len(w.server.Calls())
		require.NoError(t, w.look(t.Context()))
		return len(w.server.Calls()) - before
	}
	first := calls()
	assert.Greater(t, first, 1)
	assert.Equal(t, 1, calls())
	w.server.Project(hogapitest.DefaultProject).EditExport(id, w.clock.time(), func(x *hogapitest.Export) { x.StartAt = w.clock.time().Add(-time.Hour) })
	assert.Greater(t, calls(), 1)
	assert.Equal(t, 1, calls())
}

// There is no alarm on days on which clocks change, unless they skip the hour of a run: nothing exports its interval.
// Only it walks every hour of such a day in each zone.
func TestWatchOnDaysOfClockChanges(t *testing.T) {
	t.Parallel()
	skipping := time.Date(2026, 3, 7, 0, 0, 0, 0, time.UTC) // the next midnight, in Havana
	for _, start := range []time.Time{
		time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC), time.Date(2026, 10, 23, 12, 0, 0, 0, time.UTC), time.Date(2026, 10, 31, 0, 0, 0, 0, time.UTC),
		skipping,
	} {
		w := newWatching(t, start)
		names := []string{}
		for _, zone := range []string{"Europe/Berlin", "America/New_York", "America/Havana", "UTC"} {
			for _, interval := range []hogapi.Interval{hogapi.IntervalDay, hogapi.IntervalWeek, hogapi.IntervalHour} {
				name := fmt.Sprint(zone, " ", interval)
				names = append(names, name)
				w.export(name, interval, zone, nil)
			}
		}
		for range 4 * 24 * 3 {
			require.NoError(t, w.look(t.Context()))
			page := w.page()
			for _, name := range names {
				if uncovered := valueIn(page, "uncovered_intervals", name); start != skipping || !strings.HasPrefix(name, "America/Havana ") || uncovered != "1" {
					assert.Equal(t, "0", uncovered, "%s at %s", name, w.clock.time())
				}
				assert.Equal(t, "0", valueIn(page, "stuck_seconds", name))
			}
			w.clock.add(15 * time.Minute)
		}
		if start == skipping {
			assert.Equal(t, "1", w.value(t, "uncovered_intervals", "America/Havana day"))
		}
	}
}

// A hundred hourly exports cost at most 240 calls an hour, and a restart only the calls of a look.
func TestWatchIsCheap(t *testing.T) {
	t.Parallel()
	w := newWatching(t, time.Date(2026, 11, 20, 0, 20, 0, 0, time.UTC))
	const exports = 100
	for i := range exports {
		w.export(fmt.Sprint("export ", i), hogapi.IntervalHour, "UTC", func(_, end time.Time) (hogapitest.Outcome, bool) {
			if (end.Hour()+i)%25 == 0 { // some fail, now and then
				return hogapitest.Outcome{Status: "Failed"}, true
			}
			return hogapitest.Outcome{}, true
		})
	}
	require.NoError(t, w.look(t.Context()))
	before := len(w.server.Calls())
	for range 60 {
		w.clock.add(time.Minute)
		require.NoError(t, w.look(t.Context()))
	}
	calls := len(w.server.Calls()) - before
	assert.LessOrEqual(t, calls, 240)
	t.Log("calls in an hour:", calls)
	before = len(w.server.Calls())
	again := w.another(t, w.store)
	require.NoError(t, again.look(t.Context()))
	assert.LessOrEqual(t, len(w.server.Calls())-before, 1+8)
	var was, is bytes.Buffer
	w.write(&was)
	again.write(&is)
	open := func(text string) (lines []string) {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "hogexport_uncovered_intervals") {
				lines = append(lines, line)
			}
		}
		return lines
	}
	assert.Equal(t, open(was.String()), open(is.String()))
	assert.Contains(t, is.String(), "hogexport_age_seconds 0\n")
}

// A look that fails shows, and the numbers of the last good one stay with their age.
func TestWatchOutage(t *testing.T) {
	t.Parallel()
	w := newWatching(t, time.Date(2026, 11, 20, 0, 20, 0, 0, time.UTC))
	w.export(`a "name"`, hogapi.IntervalHour, "UTC", nil)
	require.NoError(t, w.look(t.Context()))
	w.clock.add(time.Hour)
	w.server.Script("batch_exports.list", hogapitest.Status(403))
	require.Error(t, w.look(t.Context()))
	var b bytes.Buffer
	w.write(&b)
	assert.Contains(t, b.String(), "hogexport_age_seconds 3600\n")
	assert.Contains(t, b.String(), `hogexport_errors_total{kind="403"} 1`)
	assert.Contains(t, b.String(), `hogexport_paused{export="a \"name\"",id="`)
	require.NoError(t, w.look(t.Context()))
}
