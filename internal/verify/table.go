package verify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hogapi/hogapi/internal/narrow"
	"github.com/hogapi/hogapi/internal/uuidsum"
)

// Key names a cell: the events of one name in one period.
type Key struct {
	Period string `json:"period"` // a day, a month or ""; Other for the names that a receipt does not list
	Name   string `json:"name"`
}

func (k Key) compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Period, other.Period), cmp.Compare(k.Name, other.Name))
}

// Other is the period and the name of the row for events that do not fit a receipt's table.
const Other = "other"

// BeforeEpoch is the period of rows of a longer window before 1970.
const BeforeEpoch = "before 1970"

const (
	dayLayout   = time.DateOnly
	monthLayout = "2006-01"
)

var (
	beginning = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC) // of all that can be imported
	epoch     = time.Unix(0, 0).UTC()                       // the first day that the service can name
)

// Row is a row of a receipt.
type Row struct {
	Key

	Acknowledged, Unconfirmed int64

	Sum uuidsum.Sum // of both; of fewer uuids where it is not known of all
}

// Counts are the numbers that the service shows for a cell.
type Counts struct {
	Seen   int64       `json:"seen"`         // different uuids
	Copies int64       `json:"copies"`       // rows
	Sum    uuidsum.Sum `json:"sum,omitzero"` // of the different uuids; of fewer where it is not known of all
}

func (c *Counts) add(more Counts) {
	c.Seen += more.Seen
	c.Copies += more.Copies
	c.Sum.Add(more.Sum)
}

// grain is the length of the periods of a table.
type grain uint8

const (
	byDay grain = iota
	byMonth
	byName
)

// table has the cells of a receipt, and the further cells that the service shows. Days before 1970, which
// the service cannot name, are grouped by month.
type table struct {
	Cells   []Row // in the order of their keys
	Outside map[Key]Counts
	Seen    []Counts // of Cells, by index
	Left    Counts   // outside, beyond the bound of Outside

	spans   []Window // of Cells, by index
	digests []string // of Cells, by index: of what the receipt has

	grain       grain
	index       map[Key]int
	from, until time.Time // of all events; whole days
}

// maxOutside bounds the memory for cells that no receipt has.
const maxOutside = 10_000

// newTable makes a table of a receipt's rows, which have events from oldest to newest. It leaves out rows
// without acknowledged or unconfirmed events.
func newTable(rows []Row, oldest, newest time.Time) *table {
	days := Days(oldest, newest)
	t := &table{index: map[Key]int{}, from: days.From, until: days.Until}
	for _, r := range rows {
		if r.Acknowledged+r.Unconfirmed == 0 {
			continue
		}
		switch len(r.Period) {
		case len(monthLayout):
			t.grain = max(t.grain, byMonth)
			t.widen(r.Key, oldest.IsZero())
		case len(dayLayout):
			t.widen(r.Key, oldest.IsZero())
			if r.Period < epoch.Format(dayLayout) {
				r.Period = r.Period[:len(monthLayout)]
			}
		default:
			t.grain = byName
		}
		if at, ok := t.index[r.Key]; ok {
			t.Cells[at].Acknowledged += r.Acknowledged
			t.Cells[at].Unconfirmed += r.Unconfirmed
			t.Cells[at].Sum.Add(r.Sum)
			continue
		}
		t.index[r.Key] = len(t.Cells)
		t.Cells = append(t.Cells, r)
	}
	slices.SortFunc(t.Cells, func(a, b Row) int { return a.compare(b.Key) })
	for i, r := range t.Cells {
		t.index[r.Key] = i
		t.spans = append(t.spans, t.Span(r.Key))
		t.digests = append(t.digests, r.Sum.String())
	}
	t.Begin()
	return t
}

// widen adds the days of a row, which may have unconfirmed events outside the days of the acknowledged
// ones. It adds the days of a month only if the receipt has no acknowledged events.
func (t *table) widen(k Key, noneAcknowledged bool) {
	span := t.Span(k)
	switch {
	case noneAcknowledged && t.from.IsZero():
		t.from, t.until = span.From, span.Until
	case noneAcknowledged || len(k.Period) == len(dayLayout):
		t.from = narrow.Earlier(t.from, span.From)
		t.until = narrow.Later(t.until, span.Until)
	}
}

// Begin empties the counts for a new look.
func (t *table) Begin() {
	t.Seen, t.Outside, t.Left = make([]Counts, len(t.Cells)), map[Key]Counts{}, Counts{}
}

// keyOf returns the key of an event by the receipt's grain, and the index of its cell, or -1.
func (t *table) keyOf(day time.Time, name string) (Key, int) {
	key := Key{day.Format(dayLayout), name}
	switch {
	case t.grain == byName && !day.Before(t.from) && day.Before(t.until):
		key.Period = ""
	case t.grain == byName:
		return key, -1
	case t.grain == byMonth || day.Before(epoch):
		key.Period = day.Format(monthLayout)
	}
	if i, ok := t.index[key]; ok {
		return key, i
	}
	if i, ok := t.index[Key{Other, Other}]; ok && t.grain == byName {
		return Key{Other, Other}, i
	}
	return key, -1
}

// place returns the key of a row of an answer for a window, and the index of its cell, or -1.
func (t *table) place(w Window, day time.Time, name string) (Key, int) {
	switch {
	case w.Until.After(epoch):
		return t.keyOf(day, name)
	case w.From.Format(monthLayout) == w.Until.AddDate(0, 0, -1).Format(monthLayout):
		return t.keyOf(w.From, name)
	}
	return Key{BeforeEpoch, name}, -1
}

func (t *table) cellOf(w Window, day time.Time, name string) int {
	_, i := t.place(w, day, name)
	return i
}

// Add counts a row of an answer for a window. Of the cells, it counts only the wanted ones, if wanted is not nil: in order.
func (t *table) Add(w Window, day time.Time, name string, n Counts, wanted []int) {
	key, i := t.place(w, day, name)
	at, known := t.Outside[key]
	switch {
	case i >= 0 && !isWanted(wanted, i):
	case i >= 0:
		t.Seen[i].add(n)
	case known || len(t.Outside) < maxOutside:
		at.add(n)
		t.Outside[key] = at
	default:
		t.Left.add(n)
	}
}

// isWanted reports whether some cells, in order, have one; nil has all.
func isWanted(wanted []int, i int) bool {
	_, found := slices.BinarySearch(wanted, i)
	return found || wanted == nil
}

// Span is the days of a cell, half open.
func (t *table) Span(k Key) Window {
	if k.Period == BeforeEpoch {
		return Window{beginning, epoch}
	}
	return Window{t.from, t.until}.Period(k.Period)
}

// Within returns the indexes of the cells that have days in a window.
func (t *table) Within(w Window) (cells []int) {
	for i, span := range t.spans {
		if span.overlaps(w) {
			cells = append(cells, i)
		}
	}
	return cells
}

// Windows returns the times to ask for: each month that has events, the time between such months, and one
// day more on both sides, which shows events that have moved. Without cells it returns all times until
// tomorrow.
func (t *table) Windows(now time.Time) (list []Window) {
	if len(t.Cells) == 0 {
		return []Window{{beginning, epoch}, {epoch, afterTomorrow(now)}}
	}
	months, all := map[string]bool{}, t.grain == byName
	for _, r := range t.Cells {
		months[r.Period[:min(len(r.Period), len(monthLayout))]] = true
	}
	gap := false // the last window has no month with events
	for _, month := range (Window{t.from, t.until}).Wider(1).Months() {
		has := all || months[month.From.Format(monthLayout)]
		if !has && gap && month.From != epoch {
			list[len(list)-1].Until = month.Until
		} else {
			list = append(list, month)
		}
		gap = !has
	}
	return list
}

// Beyond returns the windows before and after all others, from the year 1900 until tomorrow.
func (t *table) Beyond(now time.Time) []Window {
	first, last := t.from.AddDate(0, 0, -1), t.until.AddDate(0, 0, 1)
	var list []Window
	for _, w := range []Window{{beginning, narrow.Earlier(first, epoch)}, {epoch, first}, {last, afterTomorrow(now)}} {
		if w.From.Before(w.Until) {
			list = append(list, w)
		}
	}
	return list
}

// Wide returns all days on which an event of the table can be, even under another time: from 31 days before
// the table until tomorrow.
func (t *table) Wide(now time.Time) Window {
	return Window{t.from.AddDate(0, 0, -31), afterTomorrow(now)}
}

// SortedOutside are the keys of the cells that no receipt has, in order.
func (t *table) SortedOutside() []Key {
	return slices.SortedFunc(maps.Keys(t.Outside), Key.compare)
}

// Window is a time of whole days, half open.
type Window struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
}

// Days are the days of UTC of the events from oldest to newest.
func Days(oldest, newest time.Time) Window {
	return Window{dayOf(oldest), dayOf(newest).AddDate(0, 0, 1)}
}

func (w Window) String() string {
	if last := w.Until.AddDate(0, 0, -1); last.After(w.From) {
		return fmt.Sprintf("%s to %s", w.From.Format(dayLayout), last.Format(dayLayout))
	}
	return w.From.Format(dayLayout)
}

func (w Window) overlaps(other Window) bool {
	return w.From.Before(other.Until) && other.From.Before(w.Until)
}

// Wider returns the window with this many more days on both sides.
func (w Window) Wider(days int) Window {
	return Window{w.From.AddDate(0, 0, -days), w.Until.AddDate(0, 0, days)}
}

// Period returns the days of a period that is a day or a month, or else the whole window.
func (w Window) Period(period string) Window {
	if day, err := time.Parse(dayLayout, period); err == nil {
		return Window{day, day.AddDate(0, 0, 1)}
	}
	if month, err := time.Parse(monthLayout, period); err == nil {
		return Window{month, month.AddDate(0, 1, 0)}
	}
	return w
}

// Halves are the two halves of a window, or nil for a single day.
func (w Window) Halves() []Window {
	middle, ok := narrow.Middle(w.From, w.Until, 24*time.Hour)
	if !ok {
		return nil
	}
	return []Window{{w.From, middle}, {middle, w.Until}}
}

// Months are the parts of the window, one for each month.
func (w Window) Months() (list []Window) {
	for from := w.From; from.Before(w.Until); {
		next := narrow.Earlier(time.Date(from.Year(), from.Month()+1, 1, 0, 0, 0, 0, time.UTC), w.Until)
		list = append(list, Window{from, next})
		from = next
	}
	return list
}

// MonthsOf returns the months of the window that contain a period of a receipt. If a period is neither a
// day nor a month, it returns all months.
func (w Window) MonthsOf(periods []string) (list []Window) {
	months := map[string]bool{}
	for _, period := range periods {
		if len(period) < len(monthLayout) {
			return w.Months()
		}
		months[period[:len(monthLayout)]] = true
	}
	for _, month := range w.Months() {
		if months[month.From.Format(monthLayout)] {
			list = append(list, month)
		}
	}
	return list
}

func dayOf(at time.Time) time.Time { return at.UTC().Truncate(24 * time.Hour) }

func afterTomorrow(now time.Time) time.Time { return dayOf(now).AddDate(0, 0, 2) }
