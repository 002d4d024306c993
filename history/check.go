package history

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/bridge"
	"github.com/hogapi/hogapi/internal/engine"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/ledger"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/survey"
	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/ops"
)

// CheckReport counts the events that an import would send, reject and skip.
type CheckReport struct {
	Read     int64     `json:"read"`
	Good     int64     `json:"good"`     // would be sent
	Rejected int64     `json:"rejected"` // would go to the reject handler
	Skipped  int64     `json:"skipped"`  // would be left out on purpose
	Oldest   time.Time `json:"oldest"`   // of the good events
	Newest   time.Time `json:"newest"`
	Bytes    int64     `json:"bytes"`   // of the good events as JSON
	Largest  int       `json:"largest"` // of the largest good event
	Persons  int64     `json:"persons"` // an estimate of the number of distinct ids, within about 2 %

	// Days counts the good events by day in UTC and name. It is rolled up like Receipt.Days.
	Days []CheckCount `json:"days"`

	Reasons  map[event.Reason]CheckFinding  `json:"reasons,omitempty"` // of the refused events, which can have several reasons
	Skips    map[string]int64               `json:"skips,omitempty"`
	Warnings map[event.Warning]CheckFinding `json:"warnings,omitempty"`

	DoubleUUIDs CheckFinding `json:"double_uuids"` // events with the uuid of an earlier event
	// UUIDsPartial means that there are more than 1,000,000 uuids. The later ones were compared with the first
	// million only.
	UUIDsPartial bool          `json:"uuids_partial,omitempty"`
	Backwards    CheckFinding  `json:"backwards"`    // events older than the one before
	LargestJump  time.Duration `json:"largest_jump"` // the furthest jump back in time
	// WideSpans is the number of groups of a thousand consecutive events that span more than a day.
	WideSpans int64 `json:"wide_spans"`
}

// CheckCount counts the good events of one name on one day.
type CheckCount struct {
	Day    string `json:"day"` // 2006-01-02; 2006-01 or empty if the table was rolled up
	Event  string `json:"event"`
	Events int64  `json:"events"`
}

// CheckFinding counts the occurrences of a finding and has examples.
type CheckFinding struct {
	Count    int64           `json:"count"`
	Examples []event.Example `json:"examples,omitempty"` // the first five
}

const eventRefused = "event refused: "

const maxExamples = 5

func (f *CheckFinding) add(p event.Position, text string) {
	f.Count++
	if len(f.Examples) < maxExamples {
		f.Examples = append(f.Examples, event.Example{Position: p, Text: text})
	}
}

// Check reads a whole source and sends nothing: it needs no client and no key. The gate of an import accepts
// the events that Check counts as good. Check uses only the options ID, Gate, Delivery.Protocol, MaxRejectShare
// and MaxRejects. If the gate alone refuses more events than an import allows, the error is a [*hogapi.StopError] with
// the reason [hogapi.StopTooManyRejects]. Check cannot know which events the service would refuse. The report is valid
// with an error too; it then covers the events read so far.
//
// A pipe can be read once: after Check, an import of the same source stops with an error. Import it without
// Check, or write it to a file first.
func Check(ctx context.Context, source Source, options *Options) (CheckReport, error) {
	o := outgoing.OrDefault(options)
	rules, unfit := bridge.Rules(ops.Import, o.Gate, o.Delivery.Protocol)
	if err := errors.Join(outgoing.Refused(ops.Import, outgoing.CheckContext(ctx)), o.check(source), unfit); err != nil {
		return CheckReport{}, err
	}
	seed := maphash.MakeSeed()
	c := &checker{
		report: CheckReport{Reasons: map[event.Reason]CheckFinding{}, Skips: map[string]int64{}, Warnings: map[event.Warning]CheckFinding{}},
		events: newDryRun(o.ID, rules, seed), good: survey.New(seed), seed: seed,
	}
	var public event.Event
	watch := survey.WatchesOf(ctx)
	ctx = readOnly(ctx, isDirect(source), c)
	for ev, err := range taken(ctx, source, event.Position{}) {
		if ctx.Err() != nil {
			break // the source's error does not matter then
		}
		if err != nil {
			return c.finish(), fmt.Errorf("hogapi: check: the source failed: %w", errtext.WithoutPrefix(err))
		}
		if isGood, isCopy := c.add(ev); isGood && len(watch) > 0 {
			watch.Event(ev.Public(&public), isCopy)
		}
	}
	if ctx.Err() != nil {
		return c.finish(), fmt.Errorf("hogapi: check: stopped: %w", context.Cause(ctx))
	}
	if c.report.Skipped > 0 && c.report.Good+c.report.Rejected == 0 {
		c.Warn(event.WarningAllSkipped, "every record of the source was skipped")
	}
	if c.report.Read == 0 {
		c.Warn(event.WarningNoRecords, engine.NoRecords)
	}
	return c.finish(), c.judge(o.rejectLimits())
}

// checker is the state of a Check. Its memory does not grow with the source.
type checker struct {
	report  CheckReport
	refused error // the first refusal
	events  *engine.DryRun
	good    *survey.Survey
	seed    maphash.Seed
}

// judge applies the limits of rejects as the import does at its end.
func (c *checker) judge(limits engine.RejectLimits) error {
	limits.First, limits.IsCheck = c.refused, true
	return limits.JudgeEnd(ledger.Counts{Acknowledged: c.report.Good, Rejected: c.report.Rejected, Skipped: c.report.Skipped})
}

// Warn counts a warning that is not about a single event.
func (c *checker) Warn(w event.Warning, text string) {
	note(c.report.Warnings, w, event.Position{}, text)
}

// add counts an event. A copy has the uuid of an earlier event, and the service stores both as one.
func (c *checker) add(ev *engine.Event) (isGood, isCopy bool) {
	c.report.Read++
	out, refusal := c.events.Next(ev)
	if refusal != nil {
		c.report.Rejected++
		if c.refused == nil {
			c.refused = refusal
		}
		note(c.report.Reasons, refusal.Reason, ev.Position, errtext.WithoutPrefix(refusal).Error())
		for _, other := range refusal.Also {
			alone := *other
			alone.Position, alone.Where = refusal.Position, refusal.Where
			note(c.report.Reasons, other.Reason, ev.Position, errtext.WithoutPrefix(&alone).Error())
		}
		return false, false
	}
	if out == nil {
		c.report.Skipped++
		ledger.AddTo(c.report.Skips, ev.Skip, 1)
		return false, false
	}
	c.report.Good++
	for name := range out.Warnings.All {
		note(c.report.Warnings, name, ev.Position, "")
	}
	found := c.good.Add(survey.Event{ID: out.UUID, Name: ev.Name, Person: out.Person, Time: out.Time, Content: out.Content(c.seed), Size: len(out.Wire)})
	if found.IsDouble {
		c.report.DoubleUUIDs.add(ev.Position, out.UUID.String())
	}
	if found.IsConflict {
		note(c.report.Warnings, event.WarningUUIDConflict, ev.Position, out.UUID.String())
	}
	if found.IsReuse {
		note(c.report.Warnings, event.WarningUUIDReuse, ev.Position, out.UUID.String())
	}
	if found.Jump > 0 {
		c.report.Backwards.add(ev.Position, found.Jump.String())
	}
	return true, found.IsDouble && !found.IsConflict
}

func newDryRun(importID string, rules wire.Rules, seed maphash.Seed) *engine.DryRun {
	return engine.NewDryRun(importID, rules, wire.NewStamps(outgoing.Library, outgoing.Version(), importID), seed)
}

func note[K comparable](findings map[K]CheckFinding, key K, p event.Position, text string) {
	f := findings[key]
	f.add(p, text)
	findings[key] = f
}

func (c *checker) finish() CheckReport {
	r, good := c.report, c.good.Totals()
	r.Bytes, r.Largest, r.Oldest, r.Newest = good.Bytes, good.Largest, good.Oldest, good.Newest
	r.LargestJump, r.WideSpans, r.UUIDsPartial, r.Persons = good.LargestJump, good.WideSpans, good.IsPartial, c.good.Persons()
	for _, row := range c.good.Days() {
		r.Days = append(r.Days, CheckCount{row.Period, row.Name, row.Acknowledged})
	}
	return r
}

// String returns the report as a short text.
func (r CheckReport) String() string {
	var b errtext.Text
	b.Add("read %d = good %d + rejected %d", r.Read, r.Good, r.Rejected)
	b.AddIf(r.Skipped > 0, " + skipped %d", r.Skipped)
	b.AddIf(r.Good > 0, "\nfrom %s to %s, about %d distinct ids, %d bytes, the largest event %d",
		r.Oldest.UTC().Format(time.RFC3339), r.Newest.UTC().Format(time.RFC3339), r.Persons, r.Bytes, r.Largest)
	names := map[string]int64{}
	for _, d := range r.Days {
		names[d.Event] += d.Events
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		b.Add("\n  %-40s %12d", mask.Shown(name), names[name])
	}
	finding := func(text string, f CheckFinding, advice string) {
		b.AddIf(f.Count > 0, "\n%s: %d", text, f.Count)
		b.AddIf(f.Count > 0 && advice != "", " (%s)", advice)
		for _, e := range f.Examples {
			b.Add("\n  ")
			b.AddIf(!e.Position.IsZero(), "%s ", e.Position)
			b.Add("%s", mask.Clean(e.Text))
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(r.Reasons)) {
		b.Add("\nrefused, %s: %d", mask.Shown(reason), r.Reasons[reason].Count)
		for _, e := range r.Reasons[reason].Examples { // the text has the position
			b.Add("\n  %s", strings.TrimPrefix(mask.Clean(e.Text), eventRefused+mask.OneLine(string(reason))+": "))
		}
	}
	for _, why := range slices.Sorted(maps.Keys(r.Skips)) {
		b.Add("\nskipped, %s: %d", mask.Shown(why), r.Skips[why])
	}
	for _, w := range slices.Sorted(maps.Keys(r.Warnings)) {
		finding("warning, "+mask.Shown(w), r.Warnings[w], w.Advice())
	}
	finding("the uuid of an earlier event", r.DoubleUUIDs, "")
	finding("older than the event before", r.Backwards, "")
	b.AddIf(r.LargestJump > 0, "\nthe furthest jump backwards: %v", r.LargestJump)
	b.AddIf(r.WideSpans > 0, "\na thousand events in a row span more than a day: %d times", r.WideSpans)
	return b.String()
}
