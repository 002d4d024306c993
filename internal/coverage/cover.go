package coverage

import (
	"slices"
	"time"

	"github.com/hogapi/hogapi/internal/narrow"
)

// Why says why a part of a range is not exported. The texts are part of the public JSON.
type Why string

// Reasons, and whether rows may be missing.
const (
	WhyNoRun      Why = "no_run"      // no run of it is shown
	WhyRunning    Why = "running"     // a run of it is under way
	WhyIncomplete Why = "incomplete"  // a run of it ended without all of its rows
	WhyLeftOut    Why = "left_out"    // the backfill began later, by timestamp; rows that arrived there may be missing
	WhyEmpty      Why = "empty"       // the backfill began later, since it chooses no row there: nothing is missing
	WhyRest       Why = "no_interval" // less than an interval, which no run exports
)

// Part is a part of a range that is not exported.
type Part struct {
	Span

	Why Why
}

// Asked is a range that a backfill or a retry was asked to export.
type Asked struct {
	Span

	Schedule  Schedule  // today's; zero: not known
	OfPause   bool      // only the whole intervals of the span were asked for
	DataStart time.Time // where the service's record says that the data begins; zero: not known
	ByArrival bool      // the service chooses rows by arrival, and DataStart is by timestamp
}

// Ran is a run, as far as cover depends on it.
type Ran struct {
	Span

	IsOver, IsComplete bool // complete: with all of its rows
}

// Cover returns the parts of the range that no complete run covers, in the order of time, with the reasons. It
// counts no runs: the service moves the bounds of a backfill to its schedule, begins later where no event has a
// timestamp, drops a rest shorter than an interval, and joins a run under way that has the same end and any start.
func (a Asked) Cover(runs []Ran) (parts []Part) {
	span := a.whole()
	if span.End.IsZero() { // of a run without an end
		return coverOfEndless(a.Span, runs)
	}
	var complete, running, incomplete []Span
	for _, run := range runs {
		switch {
		case run.End.IsZero():
		case !run.IsOver:
			running = append(running, run.Span)
		case run.IsComplete:
			complete = append(complete, run.Span)
		default:
			incomplete = append(incomplete, run.Span)
		}
	}
	leftOut, ending := WhyEmpty, span.End
	if a.ByArrival {
		leftOut = WhyLeftOut
	}
	if whole, ok := a.Schedule.Whole(span); ok {
		ending = whole.End
	}
	rest := Without([]Span{span}, complete)
	for _, layer := range []struct {
		why   Why
		spans []Span
	}{
		{WhyRunning, running},
		{WhyIncomplete, incomplete},
		{WhyRest, []Span{{ending, span.End}}},
		{leftOut, []Span{{span.Start, a.DataStart}}},
		{WhyNoRun, []Span{span}},
	} {
		var within []Span
		rest, within = cut(rest, layer.spans)
		for _, x := range within {
			parts = append(parts, Part{x, layer.why})
		}
	}
	slices.SortFunc(parts, func(x, y Part) int { return x.compare(y.Span) })
	return parts
}

// Spans returns the time of parts, with one span for neighbours.
func Spans(parts []Part) []Span {
	spans := make([]Span, len(parts))
	for i, part := range parts {
		spans[i] = part.Span
	}
	return merge(spans)
}

// whole returns the span that was asked for.
func (a Asked) whole() Span {
	if whole, ok := a.Schedule.Whole(a.Span); ok && a.OfPause {
		return whole
	}
	return a.Span
}

func coverOfEndless(asked Span, runs []Ran) []Part {
	why := WhyNoRun
	for _, run := range runs {
		switch {
		case run.Span != asked:
		case !run.IsOver:
			why = WhyRunning
		case run.IsComplete:
			return nil
		default:
			why = WhyIncomplete
		}
	}
	return []Part{{asked, why}}
}

// Progress returns the fraction of the range, from 0 to 1, for which nothing more has to run.
func (a Asked) Progress(parts []Part) float64 {
	span := a.whole()
	length, open := span.length().Seconds(), 0.0
	for _, part := range parts {
		if part.Why != WhyEmpty && part.Why != WhyIncomplete {
			open += part.length().Seconds()
		}
	}
	if open == 0 {
		return 1
	}
	return max(0, 1-open/length)
}

// cut divides spans, which are in order and do not overlap, into the parts outside and inside of others.
func cut(spans, others []Span) (outside, inside []Span) {
	others = merge(others)
	for _, x := range spans {
		at := x.Start
		for len(others) > 0 && !others[0].End.After(at) {
			others = others[1:]
		}
		for _, y := range others {
			if !y.Start.Before(x.End) {
				break
			}
			if y.Start.After(at) {
				outside, at = append(outside, Span{at, y.Start}), y.Start
			}
			end := narrow.Earlier(y.End, x.End)
			inside, at = append(inside, Span{at, end}), end
		}
		if x.End.After(at) {
			outside = append(outside, Span{at, x.End})
		}
	}
	return outside, inside
}

// merge returns spans in order, without empty ones, and joins overlapping and adjacent ones.
func merge(spans []Span) (all []Span) {
	for _, x := range slices.SortedFunc(slices.Values(spans), Span.compare) {
		last := len(all) - 1
		switch {
		case !x.Start.Before(x.End):
		case last >= 0 && !x.Start.After(all[last].End):
			all[last].End = narrow.Later(all[last].End, x.End)
		default:
			all = append(all, x)
		}
	}
	return all
}

// Whole returns the whole intervals that the service makes of a range, by today's schedule: it moves the start to the
// begin of its interval, and drops a rest at the end. ok is false if the interval or the zone is not known here.
func (s Schedule) Whole(x Span) (whole Span, ok bool) {
	if x.Start.IsZero() { // one run
		return x, true
	}
	if s.takesDates() {
		days, err := s.Days()
		if err != nil {
			return x, false
		}
		start := days.floor(x.Start)
		return Span{start, narrow.Later(start, days.floor(x.End))}, true
	}
	step, ok := Step(s.Interval)
	if !ok {
		return x, false
	}
	start := x.Start // servers without time zones step from any start
	if s.Timezone != "" {
		start = start.Truncate(step)
	}
	return Span{start, narrow.Later(start, start.Add(x.End.Sub(start).Truncate(step)))}, true
}

// floor returns the begin of the day or week that contains a time.
func (d Days) floor(t time.Time) time.Time {
	year, month, n := t.In(d.Zone).Date()
	for date := time.Date(year, month, n+1, 0, 0, 0, 0, time.UTC); ; date = date.AddDate(0, 0, -1) {
		if begin := d.Begin(date); !begin.After(t) && (!d.Weekly || date.Weekday() == d.Weekday) {
			return begin.UTC()
		}
	}
}
