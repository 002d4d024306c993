package coverage

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi/internal/narrow"
	"github.com/hogapi/hogapi/internal/outgoing"
)

// Settings are the settings of an export that decide when it runs.
type Settings struct {
	Schedule

	Paused       bool
	Start, Until time.Time // no run before and after; zero: no bound
}

// Phase is a time with unchanged settings. It lasts until the next phase.
type Phase struct {
	From time.Time
	Settings

	calendar Calendar // set by usable
}

// History is the known history of an export's settings, oldest first.
type History struct {
	Phases  []Phase   // at least one
	IsWhole bool      // the first phase begins with the creation of the export
	Paused  time.Time // the last pause, which may be before the first phase; zero: never
}

// Entry is an entry of the activity log of an export.
type Entry struct {
	At        time.Time
	IsCreated bool // it is about the creation
	Changes   []Change
}

// Change is a change of one field. The values are as in the log.
type Change struct {
	Field         string
	Before, After json.RawMessage
}

// UnmarshalJSON reads the service's form.
func (e *Entry) UnmarshalJSON(b []byte) error {
	var row struct {
		At       time.Time `json:"created_at"`
		Activity string    `json:"activity"`
		Detail   struct {
			Changes []Change `json:"changes"`
		} `json:"detail"`
	}
	err := json.Unmarshal(b, &row)
	if err == nil && (row.At.IsZero() || row.Activity == "") {
		err = errors.New("an entry without a time or an activity")
	}
	*e = Entry{row.At.UTC(), row.Activity == "created", row.Detail.Changes}
	return err
}

// NewHistory goes back from today's settings by the entries of the log, which may come in any
// order. Without an entry about the creation, the settings are known from the oldest entry on, or
// from their last change. An entry that does not fit the settings after it ends the history.
func NewHistory(now Settings, created, changed time.Time, log []Entry) (h History) {
	settings := now
	phase := func(from time.Time) { h.Phases = append(h.Phases, Phase{From: from, Settings: settings}) }
	log = slices.SortedFunc(slices.Values(log), func(a, b Entry) int { return b.At.Compare(a.At) })
	for _, entry := range log {
		if entry.IsCreated {
			h.IsWhole = true
			break
		}
		before, ok := settings.before(entry.Changes)
		if before != settings || !ok {
			phase(entry.At)
		}
		if settings = before; !ok {
			slices.Reverse(h.Phases)
			return h
		}
	}
	switch isUnchanged := len(log) == 0 && !changed.After(created.Add(ClocksApart)); {
	case h.IsWhole || isUnchanged:
		h.IsWhole = true
		phase(created)
	case len(log) == 0:
		phase(changed)
	case len(h.Phases) == 0 || h.Phases[len(h.Phases)-1].From.After(log[len(log)-1].At):
		phase(log[len(log)-1].At)
	}
	slices.Reverse(h.Phases)
	return h
}

// before returns the settings before changes. ok is false if the changes do not lead to the
// settings.
func (s Settings) before(changes []Change) (before Settings, ok bool) {
	before = s
	for _, c := range changes {
		if was, ok := s.with(c.Field, c.After); !ok || was != s {
			return s, false
		}
		if before, ok = before.with(c.Field, c.Before); !ok {
			return s, false
		}
	}
	return before, true
}

// with returns the settings with another value of a field of the log. Other fields change nothing.
func (s Settings) with(field string, value json.RawMessage) (Settings, bool) {
	var (
		offset       int
		start, until *time.Time // null: no bound
	)
	target := map[string]any{
		"interval": &s.Interval, "timezone": &s.Timezone, "interval_offset": &offset, "start_at": &start, "end_at": &until,
		"enabled": &s.Paused, "paused": &s.Paused, // enabled since 2025; the values are those of paused
	}[field]
	if target == nil {
		return s, true
	}
	if len(value) > 0 && json.Unmarshal(value, target) != nil {
		return s, false
	}
	switch field {
	case "interval_offset":
		s.Hour, s.Weekday = offset/3600%24, time.Weekday(offset/86400)
	case "start_at":
		s.Start = bound(start)
	case "end_at":
		s.Until = bound(until)
	}
	return s, true
}

func bound(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// since returns the history from a time on.
func (h History) since(t time.Time) History {
	i := slices.IndexFunc(h.Phases, func(p Phase) bool { return p.From.After(t) })
	if i < 0 {
		i = len(h.Phases)
	}
	rest := slices.Clone(h.Phases[max(i-1, 0):])
	rest[0].From = t
	return History{Phases: rest, Paused: h.Paused}
}

// Notes returns the limits of a coverage by the history. why says why the log was not read.
func (h History) Notes(hasUnknown bool, why string, hasFilters bool) []string {
	notes := []string{}
	if !h.IsWhole {
		notes = append(notes, fmt.Sprintf("The settings before %s are unknown%s: an earlier time without a run may be a pause.",
			outgoing.Time(h.Phases[0].From), why))
	} else if hasUnknown {
		notes = append(notes, "Some runs do not fit the settings in the activity log: the settings before them are unknown.")
	}
	if hasFilters {
		notes = append(notes, "This shows the exported intervals, not the rows: past filters are unknown.")
	}
	return notes
}

// Absence says why the schedule has no run for an interval.
type Absence uint8

// Absences.
const (
	Expected    Absence = iota // a run was due
	Unknown                    // the settings of that time are not known
	WasPaused                  // the export was paused
	ClocksMoved                // clocks skipped the end of the interval
	WasEdited                  // a change of the schedule left the time out
	BeforeStart                // before the creation, or before the start in the settings
	AfterEnd                   // after the end in the settings
)

// Due is an interval of a schedule, or a time that no interval of it contains.
type Due struct {
	Span

	Absence Absence
}

// startsWithin is the longest time from the end of an interval until its run begins, by the older
// servers, which spread the runs further.
var startsWithin = map[string]time.Duration{"day": time.Hour, "week": day}

const usuallyStartsWithin = 15 * time.Minute

// LongestDelay returns the longest time from the end of an interval until the schedule begins its run.
func LongestDelay(interval string) time.Duration {
	return cmp.Or(startsWithin[interval], usuallyStartsWithin)
}

// StuckAfter returns the time after which a run that is under way is stuck: three hours, or three intervals.
func StuckAfter(interval string) time.Duration {
	step, _ := Step(interval)
	return max(3*time.Hour, 3*step)
}

// Dues returns the intervals with an end in a range, and the times that no interval contains.
// Before the known history it takes the intervals from the runs of the schedule, which must be in
// the order of their ends.
func (h History) Dues(whole Span, created time.Time, scheduled []Span) []Due {
	h = h.usable(scheduled)
	known := whole.End
	if len(h.Phases) > 0 {
		known = h.Phases[0].From
	}
	dues := seen(scheduled, whole.Start, narrow.Earlier(known, whole.End))
	for i, phase := range h.Phases {
		until := whole.End
		if i+1 < len(h.Phases) {
			until = narrow.Earlier(until, h.Phases[i+1].From)
		}
		for _, x := range phase.calendar.Intervals(narrow.Later(whole.Start, phase.From), until) {
			dues = append(dues, Due{x, h.absence(i, x)})
		}
	}
	return h.fill(whole, known, created, dues)
}

// usable returns the history since the last schedule that this package does not know, and since
// the last run that the history does not explain.
func (h History) usable(scheduled []Span) History {
	h.Phases = slices.Clone(h.Phases)
	for i := len(h.Phases) - 1; i >= 0; i-- {
		var ok bool
		if h.Phases[i].calendar, ok = h.Phases[i].Calendar(); !ok {
			h.Phases, h.IsWhole = h.Phases[i+1:], false
			break
		}
	}
	for _, x := range slices.Backward(scheduled) {
		if len(h.Phases) > 0 && x.End.After(h.Phases[0].From) && !h.explains(x) {
			return h.since(x.End)
		}
	}
	return h
}

// explains reports whether an interval belongs to the schedule of its time.
func (h History) explains(x Span) bool {
	for _, phase := range slices.Backward(h.Phases) {
		if x.End.After(phase.From) {
			return slices.Contains(phase.calendar.Intervals(x.End.Add(-1), x.End), x)
		}
	}
	return false
}

// absence returns why the schedule has no run for an interval of a phase.
func (h History) absence(i int, x Span) Absence {
	phase := h.Phases[i]
	isPausedSoon := slices.ContainsFunc(h.Phases[i+1:], func(next Phase) bool { // before the run begins, if it is late
		return next.Paused && next.From.Before(x.End.Add(LongestDelay(phase.Interval)))
	})
	switch {
	case !phase.Start.IsZero() && x.End.Before(phase.Start):
		return BeforeStart
	case !phase.Until.IsZero() && x.End.After(phase.Until):
		return AfterEnd
	case h.isUnstarted(i):
		return BeforeStart
	case phase.Paused || isPausedSoon:
		return WasPaused
	}
	return Expected
}

// PausedSince returns when the last pause began. ok is false if it may have begun before the known history.
func (h History) PausedSince() (since time.Time, ok bool) {
	for _, phase := range slices.Backward(h.Phases) {
		if !phase.Paused {
			return since, !since.IsZero()
		}
		since = phase.From
	}
	return since, h.IsWhole || !since.After(h.Paused.Add(ClocksApart))
}

// isUnstarted reports whether the export was made paused, and was not unpaused up to a phase: its schedule has not
// begun. A second export of a repair is so.
func (h History) isUnstarted(i int) bool {
	isRunning := func(p Phase) bool { return !p.Paused }
	isLater := i+1 < len(h.Phases) && !h.Paused.Before(h.Phases[i+1].From) // the last pause
	return h.IsWhole && (h.Paused.IsZero() || isLater) && !slices.ContainsFunc(h.Phases[:i+1], isRunning)
}

// seen returns the intervals of runs before the known history.
func seen(scheduled []Span, after, until time.Time) (dues []Due) {
	for _, x := range scheduled {
		if x.End.After(after) && !x.End.After(until) && (len(dues) == 0 || dues[len(dues)-1].Span != x) {
			dues = append(dues, Due{Span: x})
		}
	}
	return dues
}

// fill adds the times that no interval contains.
func (h History) fill(whole Span, known, created time.Time, dues []Due) (all []Due) {
	at := whole.Start
	gap := func(to time.Time) {
		if from, until := at, narrow.Earlier(created, to); from.Before(until) {
			all = append(all, Due{Span{from, until}, BeforeStart})
		}
		if from := narrow.Later(at, created); from.Before(to) {
			all = append(all, Due{Span{from, to}, h.between(from, to, known)})
		}
		at = narrow.Later(at, to)
	}
	for _, due := range dues {
		gap(due.Start)
		if !h.IsWhole && due.Absence >= BeforeStart { // of today's settings, which say nothing about earlier ones
			gap(narrow.Earlier(known, due.End))
		}
		all = append(all, due)
		at = due.End
	}
	if end := whole.End; !h.IsWhole { // no interval since the settings are known
		if len(h.Phases) > 0 && !known.After(end) {
			end = h.begun(end)
		}
		gap(narrow.Earlier(known, end))
	}
	return all
}

// begun returns the start of the interval of the last settings that has not ended at a time.
func (h History) begun(t time.Time) time.Time {
	return h.Phases[len(h.Phases)-1].calendar.Intervals(t, t.Add(longestInterval))[0].Start
}

// longestInterval is longer than every interval: a week of which clocks skip the end is followed by another.
const longestInterval = 15 * day

// between returns why no interval contains a time.
func (h History) between(from, to, known time.Time) Absence {
	switch isLastPause := !h.Paused.IsZero() && !h.Paused.Before(from) && h.Paused.Before(to); {
	case from.Before(known) && isLastPause:
		return WasPaused
	case from.Before(known):
		return Unknown
	case h.Phases[h.phaseAt(to)-1].calendar.skips(to):
		return ClocksMoved
	}
	return WasEdited
}

// phaseAt returns the number of the phase of a time.
func (h History) phaseAt(t time.Time) int {
	n := slices.IndexFunc(h.Phases, func(p Phase) bool { return !t.After(p.From) })
	if n < 0 {
		n = len(h.Phases)
	}
	return n
}

// HasIntervalPlaceholders reports whether a HogQL query may depend on the interval of its run. A query
// that does not exports all of its rows in each run.
func HasIntervalPlaceholders(query string) bool {
	return query == "" || strings.Contains(query, "data_interval_start") || strings.Contains(query, "data_interval_end")
}
