package reconcile

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/narrow"
)

// Class says how a row stands.
type Class string

// The classes.
const (
	// Delivered rows are in the destination.
	Delivered Class = "delivered"
	// Pending rows arrived too late for the newest interval that is exported.
	Pending Class = "pending"
	// NeverAsked rows are outside the time of every export and backfill.
	NeverAsked Class = "never_asked"
	// Filtered rows are left out by the names or the filters of the exports.
	Filtered Class = "filtered"
	// Missing rows should be in the destination and are not.
	Missing Class = "missing"
	// Doubled rows are further copies of a row in the destination.
	Doubled Class = "doubled"
	// Altered rows are in the destination under another name, another distinct id or on another day.
	Altered Class = "altered"
	// Collapsed rows have the key of a row on another day, which the destination has. One run of an export sends a key
	// once.
	Collapsed Class = "collapsed"
	// Replaced rows have the uuid of another row, which the destination has in their place: its table merges by uuid.
	Replaced Class = "replaced"
	// OnlyThere rows are in the destination and not in the service: of deleted persons or events, or of another project.
	OnlyThere Class = "only_there"
	// CannotTell rows could not be compared.
	CannotTell Class = "cannot_tell"
)

// Classes has all classes, in the order of reports.
var Classes = []Class{Delivered, Pending, NeverAsked, Filtered, Collapsed, Replaced, Altered, Doubled, OnlyThere, CannotTell, Missing}

// String returns the class in words.
func (c Class) String() string { return strings.ReplaceAll(string(c), "_", " ") }

// Finding is a row that is not simply delivered.
type Finding struct {
	Class      Class     `json:"class"`
	Day        time.Time `json:"day"` // of its timestamp, in UTC
	UUID       uuid.UUID `json:"uuid"`
	Event      string    `json:"event"`
	DistinctID string    `json:"distinct_id"`
	Rows       int64     `json:"rows"`                // that it stands for
	ArrivedAt  time.Time `json:"arrived_at,omitzero"` // at the service
	Why        string    `json:"why,omitempty"`

	isUnasked bool // no export sends the row, and the destination has it
	isOpen    bool // the exports send the row, and the destination does not have it as it is
}

// key is the key of a row.
type key struct {
	id                uuid.UUID
	event, distinctID string
}

func (r Row) key() key { return key{r.UUID, r.Event, r.DistinctID} }

// keyAt is a key in a unit of time.
type keyAt struct {
	key
	at time.Time
}

// perUnit joins the rows of one key in one unit of time. The order is kept.
func perUnit(rows []Row, unit time.Duration) (joined []Row) {
	if len(rows) < 2 {
		return rows
	}
	at := map[keyAt]int{}
	for _, r := range rows {
		k := keyAt{r.key(), r.Hour.UTC().Truncate(unit)}
		i, known := at[k]
		if !known {
			at[k] = len(joined)
			joined = append(joined, r)
			continue
		}
		first := &joined[i]
		first.Rows += r.Rows
		if first.CreatedAt.IsZero() || !r.CreatedAt.IsZero() && r.CreatedAt.Before(first.CreatedAt) {
			first.CreatedAt = r.CreatedAt
		}
	}
	return joined
}

// judge compares all rows of one uuid. asked are the rows that the exports send, as far as they are of the buckets that
// were listed; all are the rows of the service; there are the rows of the destination.
type judge struct {
	rules  rules
	asked  []Row
	all    []Row
	there  []Row
	yields func(Finding)

	hasSource []bool // by there: a row of the service stands for it
	isMet     []bool // by all: a row of the destination stands for it
}

// judgeUUID finds the differences of one uuid.
func judgeUUID(rules rules, asked, all, there []Row, yield func(Finding)) {
	perDay := func(rows []Row) []Row { return perUnit(rows, ByDay.Unit()) }
	all = perDay(slices.Concat(all, asked))
	j := &judge{rules: rules, asked: perDay(asked), all: all, there: perDay(there), yields: yield}
	j.hasSource, j.isMet = make([]bool, len(j.there)), make([]bool, len(j.all))
	j.match(func(s, d Row) bool { return s.key() == d.key() && s.day().Equal(d.day()) }, Delivered)
	j.match(func(s, d Row) bool { return s.key() == d.key() }, Altered)
	j.copies()
	for _, fits := range []func(s, d Row) bool{
		func(s, d Row) bool {
			return s.day().Equal(d.day()) && (s.Event == d.Event || s.DistinctID == d.DistinctID)
		},
		func(s, d Row) bool { return s.day().Equal(d.day()) },
		func(Row, Row) bool { return true },
	} {
		j.match(func(s, d Row) bool { return !j.hasOwnRow(s) && fits(s, d) }, Altered)
	}
	j.rest()
}

// match pairs rows of the service with rows of the destination that have no partner yet.
func (j *judge) match(fits func(s, d Row) bool, class Class) {
	for i, d := range j.there {
		if j.hasSource[i] {
			continue
		}
		for k, s := range j.all {
			if j.isMet[k] || !fits(s, d) {
				continue
			}
			j.hasSource[i], j.isMet[k] = true, true
			switch isAsked := j.isAsked(s); {
			case class == Altered:
				j.yield(Altered, s, s, 1, difference(s, d))
			case !isAsked:
				j.yield(Delivered, s, s, 1, "")
			}
			if d.Rows > 1 {
				j.yield(Doubled, d, s, d.Rows-1, "")
			}
			break
		}
	}
}

// hasOwnRow reports whether the destination has the key of s on a day on which the service has it too.
func (j *judge) hasOwnRow(s Row) bool {
	for k, other := range j.all {
		if j.isMet[k] && other.key() == s.key() {
			return true
		}
	}
	return false
}

// copies finds the further rows of keys that are delivered.
func (j *judge) copies() {
	for i, d := range j.there {
		if !j.hasSource[i] && j.hasOwnRow(d) {
			j.hasSource[i] = true
			j.yield(Doubled, d, Row{}, d.Rows, "on another day")
		}
	}
}

// rest judges the rows without a partner.
func (j *judge) rest() {
	for k, s := range j.all {
		switch {
		case j.isMet[k] || !j.isAsked(s):
		case j.hasOwnRow(s):
			j.yield(Collapsed, s, s, 1, "")
		default:
			class, why := j.rules.absent(s, len(j.there) > 0)
			j.yield(class, s, s, 1, why)
		}
	}
	for i, d := range j.there {
		if !j.hasSource[i] {
			j.yield(OnlyThere, d, Row{}, d.Rows, "")
		}
	}
}

// isAsked reports whether a row is one that the exports send.
func (j *judge) isAsked(s Row) bool {
	return slices.ContainsFunc(j.asked, func(a Row) bool { return a.key() == s.key() && a.day().Equal(s.day()) })
}

// yield reports a finding about a row. Rows of the destination outside the time of the comparison are not its matter.
func (j *judge) yield(class Class, r, source Row, rows int64, why string) {
	if source.UUID == uuid.Nil && !r.Hour.IsZero() && (r.Hour.Before(j.rules.from) || !r.Hour.Before(j.rules.to)) {
		return
	}
	f := Finding{
		Class: class, Day: r.day(), UUID: r.UUID, Event: r.Event, DistinctID: r.DistinctID, Rows: rows, ArrivedAt: source.CreatedAt, Why: why,
	}
	if source.UUID != uuid.Nil && class != Doubled {
		f.isUnasked = !j.isAsked(source)
		f.isOpen = !f.isUnasked
	}
	j.yields(f)
}

// difference says how the destination has altered a row.
func difference(s, d Row) string {
	var parts []string
	if s.Event != d.Event {
		parts = append(parts, fmt.Sprintf("event %q there", d.Event))
	}
	if s.DistinctID != d.DistinctID {
		parts = append(parts, fmt.Sprintf("distinct_id %q there", d.DistinctID))
	}
	switch {
	case d.Hour.IsZero():
		parts = append(parts, "no timestamp there")
	case !s.day().Equal(d.day()):
		parts = append(parts, "at "+d.Hour.Format(clock)+" there")
	}
	return strings.Join(parts, ", ")
}

// judge looks the uuids that differ up on both sides, and judges them.
func (c *comparison) judge(ctx context.Context) error {
	ids := slices.SortedFunc(maps.Keys(c.found), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	around := c.around()
	isLost := map[uuid.UUID]string{}
	for n := 0; n < len(ids); n += c.lookUp {
		c.step = Progress{Step: "look up", Done: n, Total: len(ids)}
		chunk := ids[n:min(n+c.lookUp, len(ids))]
		there, err := c.lookUpAll(ctx, ofDestination, chunk, around, nil, isLost)
		if err != nil {
			return err
		}
		for id, rows := range there {
			c.found[id].there = rows
		}
		var open []uuid.UUID
		for _, id := range chunk {
			if c.found[id].hasStranger() {
				open = append(open, id)
			}
		}
		asked, err := c.lookUpAll(ctx, ofService, open, around, c.Exports, isLost)
		if err != nil {
			return err
		}
		all := asked
		if len(c.Exports) > 0 {
			if all, err = c.lookUpAll(ctx, ofService, open, around, nil, isLost); err != nil {
				return err
			}
		}
		for _, id := range open {
			c.found[id].asked, c.found[id].all = append(c.found[id].asked, asked[id]...), all[id]
		}
	}
	rules := rules{exports: c.Exports, now: c.journal.begun, margin: c.Margin, from: c.From, to: c.To, bad: c.bad}
	for _, id := range ids {
		f := c.found[id]
		for _, rows := range [][]Row{f.asked, f.all, f.there} {
			slices.SortFunc(rows, compareRows)
		}
		c.judged[id] = true
		judgeUUID(rules, f.asked, f.all, f.there, func(finding Finding) {
			if why := isLost[id]; why != "" {
				finding.Class, finding.Why = CannotTell, why
			}
			c.add(finding)
		})
	}
	return nil
}

func compareRows(a, b Row) int {
	return cmp.Or(a.Hour.Compare(b.Hour), cmp.Compare(a.Event, b.Event), cmp.Compare(a.DistinctID, b.DistinctID))
}

// around is the time in which uuids are looked up, in parts of at most a year.
func (c *comparison) around() (parts []Part) {
	const aDay = 24 * time.Hour
	end := dayOf(c.To).Add(2 * aDay)
	for from := dayOf(c.From).Add(-aDay); from.Before(end); from = from.Add(longestWindow) {
		parts = append(parts, Part{From: from, To: narrow.Earlier(from.Add(longestWindow), end)})
	}
	return parts
}

// hasStranger reports whether the destination has a row that the listed rows of the service do not explain.
func (f *rowsOf) hasStranger() bool {
	return slices.ContainsFunc(f.there, func(d Row) bool {
		return !slices.ContainsFunc(f.asked, func(s Row) bool { return s.key() == d.key() && s.day().Equal(d.day()) })
	})
}

// lookUpAll returns all rows that a side has of some uuids.
func (c *comparison) lookUpAll(
	ctx context.Context, side int, ids []uuid.UUID, around []Part, exports []Export, isLost map[uuid.UUID]string,
) (rows map[uuid.UUID][]Row, err error) {
	rows = map[uuid.UUID][]Row{}
	if len(ids) == 0 {
		return rows, nil
	}
	for _, part := range around {
		some, err := c.lookUpIn(ctx, side, Selection{Parts: []Part{part}, UUIDs: ids, Exports: exports})
		if isOpen(err) {
			for _, id := range ids {
				isLost[id] = fmt.Sprintf("%s: the uuid could not be looked up: %v", c.report.sideName(side), errtext.WithoutPrefix(err))
			}
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		for _, r := range some {
			if !r.Hour.IsZero() || !slices.ContainsFunc(rows[r.UUID], func(x Row) bool { return x.Hour.IsZero() && x.key() == r.key() }) {
				rows[r.UUID] = append(rows[r.UUID], r) // a row without a time is in each answer
			}
		}
	}
	if side == ofDestination {
		for _, id := range ids {
			if rows[id] == nil {
				rows[id] = []Row{}
			}
		}
	}
	return rows, nil
}

// lookUpIn looks uuids up. A question that is too much is divided by time, then between the uuids.
func (c *comparison) lookUpIn(ctx context.Context, side int, s Selection) ([]Row, error) {
	ask := func(s Selection) ([]Row, error) { return c.askList(ctx, side, s, 0) }
	return narrow.Ask(s, ask, isTooMuch, func(s Selection) []Selection {
		first, second, n := s, s, len(s.UUIDs)/2
		switch halves := s.Parts[0].halves(24 * time.Hour); {
		case halves != nil:
			first.Parts, second.Parts = halves[:1], halves[1:]
		case n > 0:
			first.UUIDs, second.UUIDs = s.UUIDs[:n], s.UUIDs[n:]
		default:
			return nil
		}
		return []Selection{first, second}
	})
}

// add counts a finding and keeps it.
func (c *comparison) add(f Finding) {
	d := c.day(f.Day)
	if f.isUnasked {
		d.unasked++
	}
	if f.isOpen {
		d.open++
	}
	if f.Class == Delivered { // though no export sends it
		d.Counts[Delivered]++
		return
	}
	if c.rows >= int64(c.MaxFindings) {
		f.Class = CannotTell
		d.Counts[CannotTell] += f.Rows
		c.report.Cut += f.Rows
		return
	}
	c.rows++
	d.Counts[f.Class] += f.Rows
	c.report.Findings = append(c.report.Findings, f)
}
