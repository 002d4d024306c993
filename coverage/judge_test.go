package coverage

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"

	"github.com/hogapi/hogapi"
	calendar "github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/narrow"
)

// world is a random history of an export, simulated tick by tick, and the truth about it. It knows
// nothing of calendars: it looks at the clock of the zone at each tick.
type world struct {
	*rand.Rand

	tick     time.Duration
	begin    time.Time
	now      time.Time
	created  time.Time
	phases   []calendar.Phase // all of them, oldest first
	runs     []Run
	firings  []firing
	outages  []calendar.Span
	pausedAt time.Time
	replaces bool
}

const day = 24 * time.Hour

type firing struct {
	calendar.Span

	absence calendar.Absence
	hasRun  bool
}

var zones = []string{"UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Cairo"}

var locations = func() map[string]*time.Location {
	all := map[string]*time.Location{}
	for _, name := range zones {
		all[name], _ = time.LoadLocation(name)
	}
	return all
}()

func newWorld(seed uint64) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 33)), tick: 30 * time.Minute}
	w.replaces = w.IntN(2) == 0
	// Both changes of clocks are near in some zone.
	near := []time.Time{
		time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, 25, 0, 0, 0, 0, time.UTC), time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC),
		time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), time.Date(2018, 11, 4, 0, 0, 0, 0, time.UTC), time.Date(2026, 4, 5, 0, 0, 0, 0, time.UTC),
		time.Date(2026, 4, 24, 0, 0, 0, 0, time.UTC),
	}
	settings := w.settings(calendar.Settings{})
	settings.Start, settings.Until = time.Time{}, time.Time{} // w has no times yet
	length := 9 * day
	if settings.Interval == "week" {
		length = 80 * day
	} else if settings.Interval == "day" {
		length = 30 * day
	}
	middle := near[w.IntN(len(near))]
	w.created = w.odd(middle.Add(-time.Duration(w.Float64() * float64(length))))
	w.now = w.odd(w.created.Add(length))
	w.begin = w.created.Add(-10 * day).Truncate(day)
	w.phases = []calendar.Phase{{From: w.created, Settings: settings}}
	for at := w.created; w.IntN(3) > 0; {
		if at = w.odd(at.Add(time.Duration(w.Float64() * float64(length) / 2))); !at.Before(w.now) {
			break
		}
		if next := w.settings(settings); next != settings {
			settings = next
			w.phases = append(w.phases, calendar.Phase{From: at, Settings: settings})
			if settings.Paused {
				w.pausedAt = at
			}
		}
	}
	for _, p := range w.phases {
		if p.Interval == "every 5 minutes" || p.Interval == "every 15 minutes" {
			w.tick = 5 * time.Minute
		}
	}
	for range w.IntN(3) {
		begin := w.created.Add(time.Duration(w.Float64() * float64(length)))
		w.outages = append(w.outages, calendar.Span{Start: begin, End: begin.Add(time.Duration(w.Float64() * float64(length) / 5))})
	}
	w.schedule()
	w.repairs()
	return w
}

// odd returns a time that is no bound of an interval.
func (w *world) odd(t time.Time) time.Time {
	return t.Truncate(30 * time.Minute).Add(7*time.Minute + time.Second)
}

// settings returns other settings: a part of the old ones is changed.
func (w *world) settings(s calendar.Settings) calendar.Settings {
	isPause := s.Interval != "" && w.IntN(2) == 0
	if isPause {
		s.Paused = !s.Paused
		return s
	}
	s.Interval = []string{"hour", "day", "week", "every 5 minutes", "every 15 minutes", "hour", "day"}[w.IntN(7)]
	s.Timezone = zones[w.IntN(len(zones))]
	s.Hour, s.Weekday = w.IntN(24)*w.IntN(2), time.Weekday(w.IntN(7))
	if w.IntN(2) == 0 {
		s.Hour = w.IntN(4) // where clocks change
	}
	s.Start, s.Until = time.Time{}, time.Time{}
	if at := w.odd(w.now.Add(-time.Duration(w.Float64() * float64(w.now.Sub(w.created))))); w.IntN(6) == 0 {
		s.Start = at
	} else if w.IntN(6) == 0 {
		s.Until = at
	}
	return s
}

func (w *world) phaseAt(t time.Time) *calendar.Phase {
	for i := range w.phases {
		if p := &w.phases[len(w.phases)-1-i]; t.After(p.From) {
			return p
		}
	}
	return nil
}

// fires reports whether a schedule ends an interval at a tick, and where that interval begins.
func (w *world) fires(p *calendar.Phase, t time.Time) (start time.Time, ok bool) {
	switch p.Interval {
	case "day", "week":
	default:
		step, _ := calendar.Step(p.Interval)
		return t.Add(-step), t.Unix()%int64(step/time.Second) == 0
	}
	zone := locations[p.Timezone]
	local, back := t.In(zone), -1
	if p.Interval == "week" {
		back = -7
	}
	if local.Hour() != p.Hour || local.Minute() != 0 || p.Interval == "week" && local.Weekday() != p.Weekday {
		return start, false
	}
	const clock = "2006-01-02T15:04"
	wanted := time.Date(local.Year(), local.Month(), local.Day()+back, p.Hour, 0, 0, 0, time.UTC).Format(clock)
	for u := t.Add(-9 * day); u.Before(t); u = u.Add(w.tick) {
		switch shown := u.In(zone).Format(clock); {
		case shown == wanted:
			return u, true
		case shown > wanted: // clocks skipped it: it has the offset from before
			_, offset := u.Add(-w.tick).In(zone).Zone()
			is, _ := time.Parse(clock, wanted)
			return is.Add(-time.Duration(offset) * time.Second), true
		}
	}
	return start, false
}

// schedule lets the schedule run.
func (w *world) schedule() {
	for t := w.created.Truncate(w.tick).Add(w.tick); !t.After(w.now); t = t.Add(w.tick) {
		p := w.phaseAt(t)
		start, ok := w.fires(p, t)
		if !ok {
			continue
		}
		f := firing{Span: calendar.NewSpan(start, t)}
		isOut := slices.ContainsFunc(w.outages, func(o calendar.Span) bool { return !t.Before(o.Start) && t.Before(o.End) })
		switch {
		case !p.Start.IsZero() && t.Before(p.Start):
			f.absence = calendar.BeforeStart
		case !p.Until.IsZero() && t.After(p.Until):
			f.absence = calendar.AfterEnd
		case p.Paused:
			f.absence = calendar.WasPaused
		case !isOut:
			created := t.Add(time.Duration(w.Float64() * float64(calendar.LongestDelay(p.Interval))))
			if w.phaseAt(created).Paused {
				f.absence = calendar.WasPaused
			} else if created.Before(w.now) {
				f.hasRun = true
				w.add(w.run(f.Span, created, nil, RowsAsScheduled))
			}
		}
		w.firings = append(w.firings, f)
	}
}

// run returns a run with some outcome.
func (w *world) run(of calendar.Span, created time.Time, backfill *uuid.UUID, rows RowChoice) Run {
	run := Run{Start: of.Start, End: of.End, CreatedAt: created, Backfill: backfill, Rows: rows, Status: hogapi.RunStatusCompleted}
	switch n := w.IntN(40); {
	case n == 0 && w.now.Sub(created) < 5*day, w.now.Sub(created) < 2*time.Hour && n < 20:
		run.Status = hogapi.RunStatusRunning
	case n < 4:
		run.Status = []hogapi.RunStatus{"Doubtful", hogapi.RunStatusFailed, hogapi.RunStatusFailedBilling, hogapi.RunStatusCancelled}[n]
	case n == 4:
		run.RecordsFailed = new(int64(1))
	}
	return run
}

func (w *world) add(run Run) { w.runs = append(w.runs, run) }

// repairs adds retries and backfills, some with odd bounds.
func (w *world) repairs() {
	for range w.IntN(5) {
		rows, backfill := []RowChoice{RowsAsScheduled, RowsByTimestamp}[w.IntN(2)], &uuid.UUID{1}
		created := w.created.Add(time.Duration((0.5 + w.Float64()/2) * float64(w.now.Sub(w.created))))
		if len(w.firings) > 0 && w.IntN(2) == 0 {
			w.add(w.run(w.firings[w.IntN(len(w.firings))].Span, created, backfill, rows))
			continue
		}
		begin := w.created.Add(time.Duration(w.Float64() * float64(created.Sub(w.created)))).Truncate(w.tick)
		step := time.Duration(1+w.IntN(30)) * w.tick
		for range 1 + w.IntN(10) {
			if end := begin.Add(step); !end.After(created) {
				w.add(w.run(calendar.NewSpan(begin, end), created, backfill, rows))
			}
			begin = begin.Add(step)
		}
	}
	if w.IntN(20) == 0 {
		w.add(Run{End: w.created.Add(day).Truncate(w.tick), CreatedAt: w.now.Add(-time.Hour), Status: hogapi.RunStatusCompleted, Backfill: &uuid.UUID{1}, Rows: RowsAsScheduled})
	}
}

// How a tick was exported, the best first.
const (
	asScheduled = iota
	byTimestamp
	notExported
)

// truth returns for each tick of a span how it was exported at best.
func (w *world) truth(of calendar.Span) []int {
	ticks := make([]int, of.End.Sub(of.Start)/w.tick)
	for i := range ticks {
		ticks[i] = notExported
	}
	newest := map[calendar.Span]time.Time{}
	for _, run := range w.runs {
		if run.Status == hogapi.RunStatusCompleted && run.CreatedAt.After(newest[run.span()]) {
			newest[run.span()] = run.CreatedAt
		}
	}
	for _, run := range w.runs {
		if run.outcome() != calendar.Completed || w.replaces && run.CreatedAt != newest[run.span()] {
			continue
		}
		from, how := 0, asScheduled
		if run.Start.After(of.Start) {
			from = int(run.Start.Sub(of.Start) / w.tick)
		}
		if run.Rows != RowsAsScheduled {
			how = byTimestamp
		}
		for i := from; i < len(ticks) && of.Start.Add(time.Duration(i)*w.tick).Before(run.End); i++ {
			ticks[i] = min(ticks[i], how)
		}
	}
	return ticks
}

// owed returns for each tick of a span whether the schedule should have exported it.
func (w *world) owed(of calendar.Span) []bool {
	ticks := make([]bool, of.End.Sub(of.Start)/w.tick)
	set := func(x calendar.Span, owed bool) {
		for i := max(0, int(x.Start.Sub(of.Start)/w.tick)); i < len(ticks) && i < int(x.End.Sub(of.Start)/w.tick); i++ {
			ticks[i] = owed
		}
	}
	set(of, true)
	for _, isDue := range []bool{false, true} {
		for _, f := range w.firings {
			if (f.absence != calendar.BeforeStart && f.absence != calendar.AfterEnd) == isDue {
				set(f.Span, isDue)
			}
		}
	}
	return ticks
}

// begun returns the start of the interval that has not ended: its run will export all of it.
func (w *world) begun() time.Time {
	for t := w.now.Truncate(w.tick).Add(w.tick); ; t = t.Add(w.tick) {
		if start, ok := w.fires(&w.phases[len(w.phases)-1], t); ok {
			return start
		}
	}
}

func (w *world) rules() rules {
	return rules{now: w.now, grace: time.Hour, delay: 2 * day, stuckAfter: 3 * time.Hour, replaces: w.replaces}
}

// history returns the history as far as it is known: all of it, or since some phase, or today's settings only.
func (w *world) history() calendar.History {
	first := w.IntN(len(w.phases)) * w.IntN(2)
	return calendar.History{Phases: w.phases[first:], IsWhole: first == 0, Paused: w.pausedAt}
}

var uncoveredStates = []State{
	StatePartly, StateRunning, StateStuck, StateFailed, StateRecordsFailed, StateFailedBilling, StateCancelled, StateNeverScheduled, StatePaused, StateSkipped, StateNotDue, StateUnknown,
}

// histories returns how many random histories are tested.
func histories() int {
	return cmp.Or(map[string]int{"nightly": 2000, "deep": 10_000}[os.Getenv("HOGAPI_TEST")], 100)
}

// The states of random histories are those of the model. Only it meets orders of runs, pauses and changes of a schedule that
// nobody thought of.
func TestCoverageOfRandomHistories(t *testing.T) {
	seeds := histories()
	states := map[State]int{}
	for seed := range seeds {
		w := newWorld(uint64(seed))
		if !assert.NoError(t, w.compare(states), "seed %d", seed) {
			return
		}
	}
	for _, state := range append(uncoveredStates, StateCompleted, StateByTimestamp, StateBeforeStart, StateAfterEnd) {
		assert.Positive(t, states[state], state)
	}
}

// compare compares the states of the intervals with the truth.
func (w *world) compare(states map[State]int) error {
	history := w.history()
	verdicts := w.rules().assess(history, calendar.Span{Start: w.begin, End: w.now}, w.created, w.runs)
	if len(w.firings) == 0 {
		return nil
	}
	whole := calendar.Span{Start: w.firings[0].Start, End: w.firings[len(w.firings)-1].End}
	for _, f := range w.firings { // after an edit a longer interval may begin before the first one
		whole.Start = narrow.Earlier(whole.Start, f.Start)
	}
	known := whole.Start
	if !history.IsWhole { // the first interval is not known, but that the export did not exist before
		known = narrow.Later(known, w.created.Truncate(w.tick).Add(w.tick))
	}
	truth := w.truth(whole)
	worst := make([]bool, len(truth)) // in an interval that is shown as not covered
	for _, v := range verdicts {
		states[v.State]++
		if v.State == StateBeforeStart && !history.IsWhole && v.End.After(w.created) && !w.isBeforeStart(v.due.Span) {
			return fmt.Errorf("%v was not before the start", v.due.Span)
		}
		if w.IntN(10) == 0 && len(v.Runs) != w.overlapping(v.due.Span) {
			return fmt.Errorf("%v has %d runs instead of %d", v.due.Span, len(v.Runs), w.overlapping(v.due.Span))
		}
		from, to := max(0, int(v.Start.Sub(whole.Start)/w.tick)), min(len(truth), int(v.End.Sub(whole.Start)/w.tick))
		if from >= to {
			continue
		}
		isUncovered := slices.Contains(uncoveredStates, v.State)
		for i := from; isUncovered && i < to; i++ {
			worst[i] = true
		}
		switch poorest := slices.Max(truth[from:to]); {
		case isUncovered && v.State != StateUnknown && poorest < notExported:
			return fmt.Errorf("false gap: %v %s, phases %v", v.due.Span, v.State, w.phases)
		case v.State == StateCompleted && poorest != asScheduled, v.State == StateByTimestamp && poorest != byTimestamp:
			return fmt.Errorf("%v is %s, but its poorest part %d", v.due.Span, v.State, poorest)
		}
	}
	owed, begun := w.owed(whole), w.begun()
	for i, choice := range truth {
		at := whole.Start.Add(time.Duration(i) * w.tick)
		isPast := history.IsWhole || at.Before(begun)
		if choice == notExported && !worst[i] && owed[i] && isPast && !at.Before(known) {
			return fmt.Errorf("unseen gap: %v, phases %v", at, w.phases)
		}
	}
	if history.IsWhole {
		return w.compareAbsences(verdicts)
	}
	return nil
}

func (w *world) isBeforeStart(x calendar.Span) bool {
	return slices.ContainsFunc(w.firings, func(f firing) bool { return f.Span == x && f.absence == calendar.BeforeStart })
}

// offset returns the offset at a time in the zone of the settings of another.
func (w *world) offset(t, of time.Time) int {
	_, offset := t.In(locations[cmp.Or(w.phaseAt(of).Timezone, "UTC")]).Zone()
	return offset
}

func (w *world) overlapping(x calendar.Span) (n int) {
	for _, run := range w.runs {
		if run.Start.Before(x.End) && x.Start.Before(run.End) {
			n++
		}
	}
	return n
}

// compareAbsences compares the reasons of absent runs, where the history is known.
func (w *world) compareAbsences(verdicts []verdict) error {
	rest := map[calendar.Span]calendar.Absence{}
	for _, v := range verdicts {
		if v.due.Absence == calendar.Unknown {
			return fmt.Errorf("%v is not known", v.due.Span)
		}
		rest[v.due.Span] = v.due.Absence
	}
	for _, f := range w.firings {
		absence, ok := rest[f.Span]
		isEither := absence == calendar.WasPaused && f.absence == calendar.Expected && !f.hasRun // a pause while the run may have been delayed
		if !ok || !f.hasRun && absence != f.absence && !isEither {
			return fmt.Errorf("interval %v: %d instead of %d (%v)", f.Span, absence, f.absence, ok)
		}
		delete(rest, f.Span)
	}
	for span, absence := range rest {
		if absence != calendar.BeforeStart && absence != calendar.ClocksMoved && absence != calendar.WasEdited {
			return fmt.Errorf("no interval %v: %d", span, absence)
		}
		if absence == calendar.ClocksMoved && w.offset(span.Start.Add(-day), span.End) == w.offset(span.End.Add(day), span.End) {
			return fmt.Errorf("no clock has changed at %v, phases %v", span, w.phases)
		}
		for _, f := range w.firings {
			if f.End.After(span.Start) && !f.End.After(span.End) {
				return fmt.Errorf("%v is between the intervals, but overlaps %v", span, f.Span)
			}
		}
	}
	return nil
}

// row is a row of the model: the ticks of its arrival and of its timestamp.
type row struct{ arrived, happened time.Time }

// store is a destination: the number of copies of each row and, for an object store, the objects.
type store struct {
	copies  []int
	objects map[calendar.Span][]int
	again   []calendar.Span // objects that another run has written again
}

// export writes the rows of a run.
func (s *store) export(w *world, rows []row, run Run) {
	var chosen []int
	for i, r := range rows {
		at := r.arrived
		if run.Rows == RowsByTimestamp {
			at = r.happened
		}
		if !at.Before(run.Start) && at.Before(run.End) {
			chosen = append(chosen, i)
		}
	}
	if old, ok := s.objects[run.span()]; ok && w.replaces {
		for _, i := range old {
			s.copies[i]--
		}
		s.again = append(s.again, run.span())
	}
	s.objects[run.span()] = chosen
	for _, i := range chosen {
		s.copies[i]++
	}
}

// A plan carried out in the model omits and duplicates only the rows that it names, and replaces no object.
// Only it finds a repair that is right at each step and wrong as a whole.
func TestRepairOfRandomHistories(t *testing.T) {
	seeds, steps := histories(), 0
	for seed := range seeds {
		w := newWorld(uint64(seed))
		n, err := w.repaired()
		steps += n
		if !assert.NoError(t, err, "seed %d", seed) {
			return
		}
	}
	assert.Greater(t, steps, seeds)
}

func (w *world) repaired() (steps int, err error) {
	if len(w.firings) == 0 {
		return 0, nil
	}
	whole := calendar.Span{Start: w.firings[0].Start, End: w.firings[len(w.firings)-1].End}
	rows := make([]row, 300)
	for i := range rows {
		at := whole.Start.Add(time.Duration(w.Float64() * float64(whole.End.Sub(whole.Start)))).Truncate(w.tick)
		rows[i] = row{at, at.Add(-time.Duration(w.IntN(10)/9*w.IntN(200)) * w.tick)} // a tenth is late
	}
	s := &store{copies: make([]int, len(rows)), objects: map[calendar.Span][]int{}}
	slices.SortFunc(w.runs, func(a, b Run) int { return a.CreatedAt.Compare(b.CreatedAt) })
	for _, run := range w.runs {
		switch run.outcome() {
		case calendar.Completed:
			s.export(w, rows, run)
		case calendar.RecordsFailed: // all of them
			s.export(w, nil, run)
			delete(s.objects, run.span())
		default:
		}
	}
	before := slices.Clone(s.copies)
	s.again = nil

	last := w.phases[len(w.phases)-1]
	target := target{schedule: last.Schedule, model: calendar.ModelOf("events", "", ""), objectStore: w.replaces, hasElsewhere: w.IntN(2) == 0, line: calendar.AgeLineAnywhere, now: w.now}
	verdicts := w.rules().assess(w.history(), whole, w.created, w.runs)
	plan := target.steps(verdicts, true)
	limit := []time.Duration{6 * day, 8 * day}[w.IntN(2)] // the server's, whatever the plan says
	for _, step := range plan {
		how := RowsAsScheduled
		if step.Start.Before(w.now.Add(-limit)) {
			how = RowsByTimestamp
		}
		switch step.Action {
		case ActionSecondExport: // its own prefix
			other := &store{copies: s.copies, objects: map[calendar.Span][]int{}}
			other.export(w, rows, Run{Start: step.Start, End: step.End, Rows: how})
		case ActionBackfill:
			for _, x := range backfilled(last.Schedule, step.span()) {
				s.export(w, rows, Run{Start: x.Start, End: x.End, Rows: how})
			}
		default:
		}
	}
	if w.replaces && len(s.again) > 0 {
		return 0, fmt.Errorf("objects were replaced: %v; plan %v", s.again, plan)
	}
	begun := w.begun()
	for i, r := range rows {
		if !r.arrived.Before(begun) {
			continue
		}
		switch named := w.named(plan, verdicts, r); {
		case s.copies[i] == 0 && !named:
			return 0, fmt.Errorf("row of %v (%v) is missing; plan %v", r.arrived, r.happened, plan)
		case s.copies[i] > max(1, before[i]) && !w.doubles(plan, r):
			return 0, fmt.Errorf("row of %v comes %d times, before %d; plan %v", r.arrived, s.copies[i], before[i], plan)
		}
	}
	return len(plan), nil
}

// backfilled returns the intervals of a backfill: the service begins at its start and adds an interval at a time.
func backfilled(s calendar.Schedule, of calendar.Span) (all []calendar.Span) {
	step, _ := calendar.Step(s.Interval)
	next := func(t time.Time) time.Time { return t.Add(step) }
	if days, err := s.Days(); err == nil && s.Timezone != "" && (s.Interval == "day" || s.Interval == "week") {
		date, _ := days.DateOf(of.Start)
		next = func(time.Time) time.Time {
			date = date.AddDate(0, 0, int(step/day))
			return days.Begin(date)
		}
	}
	for at, end := of.Start, next(of.Start); !end.After(of.End); at, end = end, next(end) {
		all = append(all, calendar.Span{Start: at, End: end})
	}
	return all
}

// named reports whether a plan says that a row does not come, or the coverage that it is not known, not due or by timestamp.
func (w *world) named(plan []gapStep, verdicts []verdict, r row) bool {
	isIn := func(x calendar.Span) bool { return !r.arrived.Before(x.Start) && r.arrived.Before(x.End) }
	return slices.ContainsFunc(plan, func(s gapStep) bool {
		return isIn(s.span()) && (s.isOld || s.Action != ActionBackfill)
	}) || slices.ContainsFunc(w.runs, func(run Run) bool { // the coverage after the repair says so
		return run.outcome() == calendar.Completed && run.Rows == RowsByTimestamp && isIn(run.span())
	}) || slices.ContainsFunc(verdicts, func(v verdict) bool { return isIn(v.due.Span) && !v.State.IsGap() && v.State != StateCompleted })
}

// doubles reports whether a plan says that a row comes again: its step is by timestamp, or a part of it was covered.
func (w *world) doubles(plan []gapStep, r row) bool {
	isEarly := func(run Run) bool { // came with the rows of another interval, which only a comparison of rows can tell
		return run.outcome() == calendar.Completed && run.Rows == RowsByTimestamp && !r.happened.Before(run.Start) && r.happened.Before(run.End)
	}
	return slices.ContainsFunc(w.runs, isEarly) || slices.ContainsFunc(plan, func(s gapStep) bool {
		isIn := func(at time.Time) bool { return !at.Before(s.Start) && at.Before(s.End) }
		return s.isOld && isIn(r.happened)
	})
}

// Where rows are added in several transactions, each attempt of a run that is not over with all rows may leave some.
func TestLeftovers(t *testing.T) {
	at := time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)
	hour, half := calendar.NewSpan(at, at.Add(time.Hour)), calendar.NewSpan(at, at.Add(30*time.Minute))
	run := func(status hogapi.RunStatus, of calendar.Span) Run {
		return Run{ID: uuid.New(), Start: of.Start, End: of.End, CreatedAt: at, Status: status, Attempts: 1, Rows: RowsAsScheduled}
	}
	again, empty := run("Completed", hour), run("Completed", hour)
	again.Attempts, empty.Records = 2, new(int64)
	for name, tt := range map[string]struct {
		runs []Run
		want bool
	}{
		"none": {nil, false}, "completed": {[]Run{run("Completed", hour)}, false}, "two attempts": {[]Run{again}, true},
		"failed": {[]Run{run("Failed", hour)}, true}, "cancelled": {[]Run{run("Cancelled", hour)}, true}, "unclear": {[]Run{run("Doubtful", hour)}, true},
		"not billed": {[]Run{run("FailedBilling", hour)}, false}, "failed, then completed": {[]Run{run("Completed", hour), run("Failed", hour)}, true},
		"billing, then completed": {[]Run{run("Completed", hour), run("FailedBilling", hour)}, false},
		"completed without rows":  {[]Run{empty, run("Completed", hour)}, false},
		"two halves":              {[]Run{run("Completed", half), run("Completed", calendar.NewSpan(half.End, hour.End))}, false},
		"a half":                  {[]Run{run("Completed", half)}, false},
		"a half and a failure":    {[]Run{run("Completed", half), run("Failed", hour)}, true},
		"of another hour":         {[]Run{run("Completed", hour), run("Failed", calendar.NewSpan(hour.End, hour.End.Add(time.Hour)))}, false},
	} {
		for _, inParts := range []bool{true, false} {
			r := rules{now: at.Add(9 * time.Hour), grace: time.Hour, stuckAfter: time.Hour, inParts: inParts}
			assert.Equal(t, tt.want && inParts, r.judge([]calendar.Due{{Span: hour}}, tt.runs)[0].Leftovers, name)
		}
	}
}

func TestEachRunOfAnExportOfAllRowsCoversThePast(t *testing.T) {
	noon := time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(hours int) time.Time { return noon.Add(time.Duration(hours) * time.Hour) }
	r := rules{now: at(9), grace: time.Hour, delay: time.Hour, stuckAfter: time.Hour, coversPast: true}
	h := calendar.History{Phases: []calendar.Phase{{From: noon, Settings: calendar.Settings{Schedule: calendar.Schedule{Interval: "hour"}}}}, IsWhole: true}
	run := Run{Start: at(3), End: at(4), CreatedAt: at(4).Add(time.Minute), Status: hogapi.RunStatusCompleted}
	for i, v := range r.assess(h, calendar.NewSpan(noon, at(6)), noon, []Run{run}) {
		want := StateCompleted
		if i > 3 {
			want = StateNeverScheduled
		}
		assert.Equal(t, want, v.State, v.Start)
	}
}
