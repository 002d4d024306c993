package reconcile

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	modelEnd   = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	modelSince = modelEnd.Add(-20 * 24 * time.Hour)
)

// world makes a service and a destination row by row, and knows the class of each row.
type world struct {
	*rand.Rand

	from, to       time.Time
	exports        []Export
	service, there *memory
	want           []string // findings
	classes        map[Class]bool
	delivered      map[string]int64 // by day
	filtered       map[string]int64
	neverAsked     map[string]int64
}

func (w *world) id() (id uuid.UUID) {
	for i := range id {
		id[i] = byte(w.UintN(256))
	}
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id
}

// newRow is a row at any time that is compared, which arrived at once or late.
func (w *world) newRow(event string) stored {
	at := w.from.Add(time.Duration(w.Float64() * float64(w.to.Sub(w.from)))).Truncate(time.Microsecond)
	late := time.Duration(w.Float64() * float64(time.Minute))
	if w.IntN(10) == 0 {
		late = time.Duration(w.Float64() * float64(5*24*time.Hour))
	}
	created := at.Add(late)
	if limit := w.to.Add(-2 * time.Hour); created.After(limit) {
		created = limit
	}
	if created.Before(modelSince) && event != "never" {
		created = modelSince.Add(time.Hour)
	}
	return stored{w.id(), event, fmt.Sprint("person ", w.IntN(20)), at, created}
}

func (w *world) expect(class Class, r stored, rows int64) {
	w.classes[class] = true
	w.want = append(w.want, fmt.Sprintf("%s %v %s %s %s %d", class, r.id, dayOf(r.at).Format(time.DateOnly), r.event, r.who, rows))
}

func day(r stored) string { return dayOf(r.at).Format(time.DateOnly) }

// deliver puts a row into both sides.
func (w *world) deliver(r stored, copies int) {
	w.service.rows = append(w.service.rows, r)
	for range copies {
		w.there.rows = append(w.there.rows, r)
	}
	w.delivered[day(r)]++
}

// otherDay moves a row to another day.
func (w *world) otherDay(r stored) stored {
	other := r
	for day(other) == day(r) {
		other.at = w.from.Add(time.Duration(w.Float64() * float64(w.to.Sub(w.from)))).Truncate(time.Microsecond)
	}
	return other
}

// fates are the ways of a row, by name.
var fates = map[string]func(w *world){
	"delivered": func(w *world) { w.deliver(w.newRow("e"), 1) },
	"taken in twice": func(w *world) { // on one day: copies that are not merged
		r := w.newRow("e")
		again := r
		again.at = dayOf(r.at).Add(time.Duration(w.Float64() * float64(24*time.Hour)))
		if again.at.Before(w.from) || !again.at.Before(w.to) {
			again.at = r.at
		}
		again.created = r.created.Add(time.Hour)
		w.service.rows = append(w.service.rows, again)
		w.deliver(r, 1)
	},
	"missing": func(w *world) {
		r := w.newRow("e")
		w.service.rows = append(w.service.rows, r)
		w.expect(Missing, r, 1)
	},
	"deleted": func(w *world) {
		r := w.newRow("e")
		n := 1 + w.IntN(2)
		for range n {
			w.there.rows = append(w.there.rows, r)
		}
		w.expect(OnlyThere, r, int64(n))
	},
	"doubled": func(w *world) {
		r := w.newRow("e")
		n := 2 + w.IntN(3)
		w.deliver(r, n)
		w.expect(Doubled, r, int64(n-1))
	},
	"doubled and taken in twice": func(w *world) {
		r := w.newRow("e")
		again := r
		again.created = r.created.Add(2 * time.Hour)
		w.service.rows = append(w.service.rows, again)
		w.deliver(r, 2)
		w.expect(Doubled, r, 1)
	},
	"filtered": func(w *world) {
		r := w.newRow("excluded")
		w.service.rows = append(w.service.rows, r)
		w.filtered[day(r)]++
	},
	"filtered, but there": func(w *world) { w.deliver(w.newRow("excluded"), 1) },
	"never asked": func(w *world) {
		r := w.newRow("never")
		r.created = modelSince.Add(-time.Hour)
		w.service.rows = append(w.service.rows, r)
		if b := w.exports[0].Backfills[0]; !r.at.Before(b.From) && r.at.Before(b.To) {
			w.expect(Missing, r, 1)
			return
		}
		w.neverAsked[day(r)]++
	},
	"pending": func(w *world) {
		r := w.newRow("e")
		r.created = modelEnd.Add(-time.Duration(w.Float64() * float64(time.Hour)))
		w.service.rows = append(w.service.rows, r)
		w.expect(Pending, r, 1)
	},
	"pending, but there": func(w *world) {
		r := w.newRow("e")
		r.created = modelEnd.Add(-time.Duration(w.Float64() * float64(time.Hour)))
		w.deliver(r, 1)
	},
	"altered": func(w *world) {
		r := w.newRow("e\x00")
		w.service.rows = append(w.service.rows, r)
		altered := r
		switch w.IntN(3) {
		case 0:
			altered.event = "e"
		case 1:
			altered.who = "p"
		default:
			altered = w.otherDay(r)
		}
		w.there.rows = append(w.there.rows, altered)
		w.expect(Altered, r, 1)
	},
	"collapsed": func(w *world) {
		r := w.newRow("e")
		w.deliver(r, 1)
		other := w.otherDay(r)
		w.service.rows = append(w.service.rows, other)
		w.expect(Collapsed, other, 1)
	},
	"the same key on two days": func(w *world) {
		r := w.newRow("e")
		w.deliver(r, 1)
		w.deliver(w.otherDay(r), 1)
	},
	"doubled on another day": func(w *world) {
		r := w.newRow("e")
		w.deliver(r, 1)
		other := w.otherDay(r)
		w.there.rows = append(w.there.rows, other)
		w.expect(Doubled, other, 1)
	},
	"of the second export": func(w *world) { // which sends other names, and began later
		r := w.newRow("g")
		switch second := w.exports[1]; {
		case !isAsked(second, r):
			w.service.rows = append(w.service.rows, r)
			w.filtered[day(r)]++
		case w.IntN(2) == 0:
			w.deliver(r, 1)
		default:
			w.service.rows = append(w.service.rows, r)
			w.expect(Missing, r, 1)
		}
	},
	"equal uuids": func(w *world) {
		r, other := w.newRow("e"), w.newRow("f")
		other.id = r.id
		w.deliver(r, 1)
		w.deliver(other, 1)
	},
	"equal uuids, one missing": func(w *world) {
		r, other := w.newRow("e"), w.newRow("f")
		other.id = r.id
		w.deliver(r, 1)
		w.service.rows = append(w.service.rows, other)
		if w.exports[0].MergesByUUID {
			w.expect(Replaced, other, 1)
			return
		}
		w.expect(Missing, other, 1)
	},
}

func newWorld(seed uint64) *world {
	w := &world{
		Rand: rand.New(rand.NewPCG(seed, 32)), to: modelEnd.Add(-time.Duration(seed%30) * time.Hour),
		service: &memory{name: "project 1"}, there: &memory{name: "table events"},
		classes: map[Class]bool{}, delivered: map[string]int64{}, filtered: map[string]int64{}, neverAsked: map[string]int64{},
	}
	w.from = w.to.Add(-time.Duration(30+w.IntN(2000)) * time.Hour)
	backfill := Span{w.from, w.from.Add(time.Duration(w.IntN(400)) * time.Hour)}
	w.exports = []Export{
		{Name: "one", Since: modelSince, Backfills: []Span{backfill}, Include: []string{"e", "e\x00", "f", "never"}},
		{Name: "two", Since: modelSince.Add(8 * 24 * time.Hour), Include: []string{"f", "g"}, Until: modelEnd},
	}
	w.exports[0].MergesByUUID = seed%3 == 0
	w.exports[1].MergesByUUID = seed%3 == 0
	names := slices.Sorted(maps.Keys(fates))
	if w.IntN(10) == 0 {
		names = []string{"delivered", "taken in twice", "equal uuids", "the same key on two days"}
	}
	for range w.IntN(150) {
		name := names[w.IntN(len(names))]
		if w.IntN(2) == 0 {
			name = "delivered"
		}
		fates[name](w)
	}
	w.Shuffle(len(w.service.rows), func(i, k int) { w.service.rows[i], w.service.rows[k] = w.service.rows[k], w.service.rows[i] })
	return w
}

// options makes some levels small, so that all are reached.
func (w *world) options() *Options {
	o := &Options{
		From: w.from.Truncate(time.Hour), To: w.to, Exports: w.exports,
		listDays: int64(w.IntN(20)), listHours: int64(w.IntN(5)), listRows: int64(1 + w.IntN(40)), lookUp: 1 + w.IntN(10),
		now: func() time.Time { return modelEnd },
	}
	if w.IntN(2) == 0 {
		w.service.most, w.there.most = 5+w.IntN(60), 5+w.IntN(60)
	}
	return o
}

// shown are the findings of a report, as the world expects them.
func shown(r *Report) (all []string) {
	for _, f := range r.Findings {
		all = append(all, fmt.Sprintf("%s %v %s %s %s %d", f.Class, f.UUID, f.Day.Format(time.DateOnly), f.Event, f.DistinctID, f.Rows))
	}
	slices.Sort(all)
	return all
}

// findings returns the findings that a world expects.
func (w *world) findings() []string {
	slices.Sort(w.want)
	return w.want
}

func byDay(r *Report, class Class) map[string]int64 {
	counts := map[string]int64{}
	for _, d := range r.Days {
		if n := d.Counts[class]; n != 0 {
			counts[d.Day] = n
		}
	}
	return counts
}

// compare compares two sides without an error.
func compare(t *testing.T, service Service, there Side, o *Options) *Report {
	t.Helper()
	r, err := Compare(t.Context(), service, there, o)
	require.NoError(t, err)
	return r
}

func histories() uint64 {
	if os.Getenv("HOGAPI_TEST") == "gate" {
		return 150
	}
	return 1000
}

// Histories with late, deleted, doubled, filtered and altered rows, copies that are not merged, and equal uuids: each row is
// in its class, and no other row is named.
func TestEachRowIsInItsClass(t *testing.T) {
	t.Parallel()
	for seed := range histories() {
		w := newWorld(seed)
		r, err := Compare(t.Context(), w.service, w.there, w.options())
		require.NoError(t, err, "seed %d", seed)
		require.Empty(t, r.Unknown, "seed %d", seed)
		require.Equal(t, w.findings(), shown(r), "seed %d", seed)
		require.Equal(t, w.delivered, byDay(r, Delivered), "seed %d", seed)
		require.Equal(t, w.filtered, byDay(r, Filtered), "seed %d", seed)
		require.Equal(t, w.neverAsked, byDay(r, NeverAsked), "seed %d", seed)
		require.Equal(t, w.verdict(), r.Verdict, "seed %d", seed)
	}
}

// verdict is the verdict that the expected findings lead to.
func (w *world) verdict() Verdict {
	switch {
	case w.classes[Missing]:
		return Incomplete
	case w.classes[Doubled], w.classes[Altered], w.classes[OnlyThere], w.classes[Replaced]:
		return CompleteWithDifferences
	case len(w.findings())+len(w.delivered)+len(w.filtered)+len(w.neverAsked) == 0:
		return Undecided // nothing was compared
	}
	return Complete
}

// spread makes a world of n delivered rows in some days and one row of each further fate, and compares its sides. The only
// buckets that are small enough to be listed at once are slices of an hour.
func spread(t *testing.T, seed uint64, days, n int, further ...string) (*world, *Report) {
	t.Helper()
	w := newWorld(seed)
	w.service.rows, w.there.rows, w.want = nil, nil, nil
	w.from, w.exports = w.to.Add(-time.Duration(days)*24*time.Hour), nil
	for range n {
		w.deliver(w.newRow("e"), 1)
	}
	for _, fate := range further {
		fates[fate](w)
	}
	o := &Options{From: w.from.Truncate(time.Hour), To: w.to, now: func() time.Time { return modelEnd }, listDays: 1, listHours: 1}
	r := compare(t, w.service, w.there, o)
	assert.Equal(t, w.findings(), shown(r))
	return w, r
}

// No question is about more than a year.
func TestSeveralYears(t *testing.T) {
	t.Parallel()
	w, _ := spread(t, 3, 1000, 2000, "missing", "doubled", "deleted")
	for _, side := range []*memory{w.service, w.there} {
		assert.LessOrEqual(t, side.longest, 366*24*time.Hour)
		assert.Greater(t, side.longest, 300*24*time.Hour)
	}
}

// One wrong row in a year takes one question a level to each side, since digests are compared first.
func TestQuestionsForOneRow(t *testing.T) {
	t.Parallel()
	w, r := spread(t, 1, 365, 3000, "missing", "doubled", "altered", "deleted")
	assert.LessOrEqual(t, max(r.Queries[0], r.Queries[1]), 10)
	t.Log(w.service.asked, w.there.asked)
	t.Log(r)
}

// stored is a row of a side in memory.
type stored struct {
	id         uuid.UUID
	event, who string
	at         time.Time
	created    time.Time
}

func (r stored) key() key { return key{r.id, r.event, r.who} }

// memory is a side in memory.
type memory struct {
	name    string
	rows    []stored
	most    int                       // rows that it reads for one answer; 0 for any number
	lie     func(method string) error // what it does instead of an answer
	asked   []string
	wheres  map[string]func(stored) bool
	perHour int
	longest time.Duration // that it was asked for at once
}

func (m *memory) Name() string        { return m.name }
func (m *memory) QueriesPerHour() int { return m.perHour }
func (m *memory) ask(what string) error {
	m.asked = append(m.asked, what)
	if m.lie != nil {
		return m.lie(what)
	}
	return nil
}

func (m *memory) Count(_ context.Context, s Selection) ([]DayCount, error) {
	if err := m.ask("count"); err != nil {
		return nil, err
	}
	counts := map[time.Time]int64{}
	m.longest = max(m.longest, s.Parts[0].To.Sub(s.Parts[0].From))
	for _, r := range m.rows {
		if !r.at.Before(s.Parts[0].From) && r.at.Before(s.Parts[0].To) && m.sends(s.Exports, r) {
			counts[dayOf(r.at)]++
		}
	}
	var days []DayCount
	for day, n := range counts {
		days = append(days, DayCount{day, n})
	}
	return days, nil
}

// isAsked and passes are the rules of an export, written once more.
func isAsked(e Export, r stored) bool {
	if e.Since.IsZero() || !r.created.Before(e.Since) {
		return true
	}
	for _, b := range e.Backfills {
		if !r.at.Before(b.From) && r.at.Before(b.To) {
			return true
		}
	}
	return false
}

func (m *memory) passes(e Export, r stored) bool {
	switch {
	case len(e.Include) > 0 && !slices.Contains(e.Include, r.event), slices.Contains(e.Exclude, r.event):
		return false
	case e.Where != "":
		return m.wheres[e.Where](r)
	}
	return true
}

func (m *memory) sends(exports []Export, r stored) bool {
	return len(exports) == 0 || slices.ContainsFunc(exports, func(e Export) bool { return isAsked(e, r) && m.passes(e, r) })
}

func (m *memory) selected(s Selection) (rows []stored, err error) {
	for _, p := range s.Parts {
		m.longest = max(m.longest, p.To.Sub(p.From))
	}
	for _, r := range m.rows {
		isOf := slices.ContainsFunc(s.Parts, func(p Part) bool {
			return !r.at.Before(p.From) && r.at.Before(p.To) && strings.HasSuffix(strings.ReplaceAll(r.id.String(), "-", ""), p.Suffix)
		})
		if isOf && (len(s.UUIDs) == 0 || slices.Contains(s.UUIDs, r.id)) && m.sends(s.Exports, r) {
			rows = append(rows, r)
		}
	}
	if m.most > 0 && len(rows) > m.most && len(s.UUIDs) == 0 {
		return nil, fmt.Errorf("%w: %d rows", ErrTooMuch, len(rows))
	}
	return rows, nil
}

func (m *memory) Digest(_ context.Context, s Selection, by Bucket) ([]Digest, error) {
	if err := m.ask("digest by " + string(by)); err != nil {
		return nil, err
	}
	rows, err := m.selected(s)
	if err != nil {
		return nil, err
	}
	keys := map[keyAt]int64{}
	for _, r := range rows {
		keys[keyAt{r.key(), r.at.Truncate(by.Unit())}]++
	}
	sums := map[bucketKey]*Digest{}
	for u, n := range keys {
		k := bucketKey{at: u.at}
		if by == BySlice {
			text := u.id.String()
			k.slice = text[len(text)-2:]
		}
		if sums[k] == nil {
			sums[k] = &Digest{At: k.at, Slice: k.slice}
		}
		sums[k].Add(u.id, u.event, u.distinctID, n)
	}
	var all []Digest
	for _, d := range sums {
		all = append(all, *d)
	}
	return all, nil
}

func (m *memory) List(_ context.Context, s Selection, limit int) ([]Row, error) {
	what := "list"
	if len(s.UUIDs) > 0 {
		what = "look up"
	} else if s.Doubled {
		what = "doubled"
	}
	if err := m.ask(what); err != nil {
		return nil, err
	}
	rows, err := m.selected(s)
	if err != nil {
		return nil, err
	}
	unit := time.Hour
	if s.Doubled {
		unit = 24 * time.Hour
	}
	list := map[keyAt]*Row{}
	for _, r := range rows {
		k := keyAt{r.key(), r.at.Truncate(unit)}
		if list[k] == nil {
			list[k] = &Row{UUID: r.id, Event: r.event, DistinctID: r.who, Hour: k.at, CreatedAt: r.created}
		}
		list[k].Rows++
		if r.created.Before(list[k].CreatedAt) {
			list[k].CreatedAt = r.created
		}
	}
	var all []Row
	for _, r := range list {
		if !s.Doubled || r.Rows > 1 {
			all = append(all, *r)
		}
	}
	if len(all) >= limit {
		return nil, ErrTooMuch
	}
	return all, nil
}

func (m *memory) LeftOut(_ context.Context, s Selection) ([]LeftOut, error) {
	if err := m.ask("left out"); err != nil {
		return nil, err
	}
	rows, err := m.selected(Selection{Parts: s.Parts})
	if err != nil {
		return nil, err
	}
	type state struct{ asked, sent bool }
	keys := map[keyAt]*state{}
	for _, r := range rows {
		k := keyAt{r.key(), dayOf(r.at)}
		if keys[k] == nil {
			keys[k] = &state{}
		}
		for _, e := range s.Exports {
			keys[k].asked = keys[k].asked || isAsked(e, r)
			keys[k].sent = keys[k].sent || isAsked(e, r) && m.passes(e, r)
		}
	}
	days := map[time.Time]*LeftOut{}
	for k, is := range keys {
		if days[k.at] == nil {
			days[k.at] = &LeftOut{Day: k.at}
		}
		switch {
		case is.sent:
		case is.asked:
			days[k.at].Filtered++
		default:
			days[k.at].NeverAsked++
		}
	}
	var all []LeftOut
	for _, d := range days {
		all = append(all, *d)
	}
	return all, nil
}
