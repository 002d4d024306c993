package ledger

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hogapi/hogapi/internal/uuidsum"
)

// Row counts the settled events of one name in one period.
type Row struct {
	Period string // a day "2006-01-02", a month "2006-01", or "" if neither is known
	Name   string // "" for an event without a name
	Tally
}

// Tally counts events by outcome.
type Tally struct {
	Acknowledged, Rejected, Unconfirmed int64

	// Sent covers the uuids of the acknowledged and unconfirmed events. It has fewer if an older
	// release, without this sum, counted a part.
	Sent uuidsum.Sum
}

// Sum returns the number of events.
func (t Tally) Sum() int64 { return t.Acknowledged + t.Rejected + t.Unconfirmed }

func (t *Tally) add(more Tally) {
	t.Acknowledged += more.Acknowledged
	t.Rejected += more.Rejected
	t.Unconfirmed += more.Unconfirmed
	t.Sent.Add(more.Sent)
}

func (t Tally) isCount() bool {
	return min(t.Acknowledged, t.Rejected, t.Unconfirmed, t.Sent.N, t.Sent.Hashed) >= 0 && t.Sent.Hashed <= t.Sent.N && t.Sent.N <= t.Acknowledged+t.Unconfirmed
}

// numbers is the tally's form in a checkpoint.
func (t Tally) numbers() [8]int64 {
	return [8]int64{
		t.Acknowledged, t.Rejected, t.Unconfirmed, t.Sent.N, int64(t.Sent.High), int64(t.Sent.Low), int64(t.Sent.Hash), t.Sent.Hashed,
	}
}

// tallyOf reads it. Older releases have written six numbers.
func tallyOf(n [8]int64) Tally {
	return Tally{n[0], n[1], n[2], uuidsum.Sum{N: n[3], High: uint64(n[4]), Low: uint64(n[5]), Hash: uint64(n[6]), Hashed: n[7]}}
}

// table counts events by day and name. When it is full, days become months, then each name gets one
// row. Further names share one row.
type table struct {
	grain grain
	most  int
	rows  map[rowKey]*row
	other *row // for names that do not fit
	last  *row // last found: consecutive events usually share it
}

// Counter counts events by day and name, as a ledger does.
type Counter struct{ table *table }

// NewCounter returns an empty counter.
func NewCounter() *Counter { return &Counter{newTable(maxRows)} }

// Count counts an event.
func (c *Counter) Count(name string, at time.Time) { c.table.find(name, at).Acknowledged++ }

// Rows returns the counts, sorted.
func (c *Counter) Rows() []Row { return c.table.list() }

type grain uint8

const (
	byDay grain = iota
	byMonth
	byName
)

// maxRows bounds the table and so the size of a saved state: about 500 KB.
const maxRows = 10_000

// Other is the period and name of the row for events that do not fit a table by name.
const Other = "other"

type rowKey struct {
	name   string
	period int32 // days or months since the year 1, by the grain; or noPeriod
}

const noPeriod = -1

type row struct {
	rowKey

	Tally

	into *row // the row that replaced this one
}

func otherRow(of Tally) *row { return &row{rowKey: rowKey{Other, noPeriod}, Tally: of} }

func newTable(most int) *table { return &table{most: most, rows: map[rowKey]*row{}} }

// find returns the row for an event; at may be zero.
func (t *table) find(name string, at time.Time) *row {
	day := dayOf(at)
	key := rowKey{name, t.grain.period(day)}
	if t.last != nil && t.last.rowKey == key {
		return t.last
	}
	r := t.rows[key]
	for r == nil && len(t.rows) >= t.most && t.grain < byName {
		t.rollUp()
		key.period = t.grain.period(day)
		r = t.rows[key]
	}
	switch {
	case r != nil:
	case len(t.rows) < t.most:
		key.name = strings.Clone(name) // name may be part of a large string
		r = t.add(key)
	default:
		if t.other == nil {
			t.other = otherRow(Tally{})
		}
		return t.other
	}
	t.last = r
	return r
}

func (t *table) add(key rowKey) *row {
	r := &row{rowKey: key}
	t.rows[key] = r
	return r
}

// rollUp makes the periods of all rows coarser.
func (t *table) rollUp() {
	old := t.rows
	from := t.grain
	t.grain++
	t.rows, t.last = make(map[rowKey]*row), nil
	for key, r := range old {
		if from == byDay {
			key.period = monthOf(key.period)
		} else {
			key.period = noPeriod
		}
		to := t.rows[key]
		if to == nil {
			to = t.add(key)
		}
		to.add(r.Tally)
		r.into = to
	}
}

// current returns the row that replaced r, or r.
func (r *row) current() *row {
	for r.into != nil {
		r = r.into
	}
	return r
}

const secondsOfDay = 86_400

// dayOf returns the UTC day of a time, or noPeriod for the zero time and for years without four
// digits.
func dayOf(at time.Time) int32 {
	seconds := at.Unix()
	if at.IsZero() || seconds < firstSecond || seconds > lastSecond {
		return noPeriod
	}
	return int32((seconds - firstSecond) / secondsOfDay)
}

var (
	firstDay    = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	lastTime    = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	firstSecond = firstDay.Unix()
	lastSecond  = lastTime.Unix()
)

func dateOf(day int32) time.Time { return firstDay.AddDate(0, 0, int(day)) }

func monthOf(day int32) int32 {
	if day == noPeriod {
		return noPeriod
	}
	date := dateOf(day)
	return int32((date.Year()-1)*12 + int(date.Month()) - 1)
}

func (g grain) period(day int32) int32 {
	switch g {
	case byDay:
		return day
	case byMonth:
		return monthOf(day)
	default:
		return noPeriod
	}
}

const (
	dayLayout   = time.DateOnly
	monthLayout = "2006-01"
)

func (r *row) period(g grain) string {
	switch {
	case r.rowKey.period == noPeriod:
		return ""
	case g == byDay:
		return dateOf(r.rowKey.period).Format(dayLayout)
	default:
		return firstDay.AddDate(0, int(r.rowKey.period), 0).Format(monthLayout)
	}
}

// list returns the rows with counts, by period and name. The row of other names is last.
func (t *table) list() []Row {
	rows := make([]Row, 0, len(t.rows))
	for _, r := range t.rows {
		if r.Sum() > 0 {
			rows = append(rows, Row{r.period(t.grain), r.name, r.Tally})
		}
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(strings.Compare(a.Period, b.Period), strings.Compare(a.Name, b.Name))
	})
	if t.other != nil {
		rows = append(rows, Row{Other, Other, t.other.Tally})
	}
	return rows
}

// savedTable is a table in a checkpoint. It is compact, since a full one is saved several times a
// second.
type savedTable struct {
	grain grain
	rows  []row
	other *row
}

// save copies the counts, so that they can be encoded without holding the ledger's lock.
func (t *table) save() savedTable {
	s := savedTable{grain: t.grain, rows: make([]row, 0, len(t.rows))}
	for _, r := range t.rows {
		if r.Sum() > 0 {
			s.rows = append(s.rows, *r)
		}
	}
	if t.other != nil {
		s.other = otherRow(t.other.Tally)
	}
	return s
}

// MarshalJSON writes each name once; a row has the number of its name, its period and its counts.
func (s savedTable) MarshalJSON() ([]byte, error) {
	names, numbers := []string{}, map[string]int64{}
	b := append([]byte(`{"grain":`), strconv.Itoa(int(s.grain))...)
	b = append(b, `,"rows":[`...)
	for i, r := range s.rows {
		number, known := numbers[r.name]
		if !known {
			number = int64(len(names))
			names, numbers[r.name] = append(names, r.name), number
		}
		if i > 0 {
			b = append(b, ',')
		}
		n := r.numbers()
		b = appendNumbers(b, number, int64(r.rowKey.period), n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7])
	}
	b = append(b, `],"names":`...)
	list, err := json.Marshal(names)
	b = append(b, list...)
	if s.other != nil {
		n := s.other.numbers()
		b = append(b, `,"other":`...)
		b = appendNumbers(b, n[:]...)
	}
	return append(b, '}'), err
}

func appendNumbers(b []byte, numbers ...int64) []byte {
	b = append(b, '[')
	for i, n := range numbers {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return append(b, ']')
}

var errBadTable = errors.New("the table was not saved by this package")

// UnmarshalJSON reads the output of MarshalJSON, and older rows, which lack the last numbers.
func (s *savedTable) UnmarshalJSON(text []byte) error {
	var saved struct {
		Grain grain       `json:"grain"`
		Names []string    `json:"names"`
		Rows  [][10]int64 `json:"rows"`
		Other *[8]int64   `json:"other"`
	}
	if err := json.Unmarshal(text, &saved); err != nil {
		return err
	}
	*s = savedTable{grain: saved.Grain}
	for _, r := range saved.Rows {
		if r[0] < 0 || r[0] >= int64(len(saved.Names)) || r[1] != int64(int32(r[1])) {
			return errBadTable
		}
		s.rows = append(s.rows, row{rowKey: rowKey{saved.Names[r[0]], int32(r[1])}, Tally: tallyOf([8]int64(r[2:]))})
	}
	if saved.Other != nil {
		s.other = otherRow(tallyOf(*saved.Other))
	}
	return nil
}

func (s savedTable) restore(most int) (*table, error) {
	t := newTable(most)
	if s.grain > byName || len(s.rows) > most {
		return nil, errBadTable
	}
	t.grain = s.grain
	latest := t.grain.period(dayOf(lastTime))
	for _, r := range s.rows {
		if at := r.rowKey.period; at < noPeriod || at > latest || !r.isCount() || t.rows[r.rowKey] != nil {
			return nil, errBadTable
		}
		t.add(r.rowKey).Tally = r.Tally
	}
	if o := s.other; o != nil {
		if !o.isCount() {
			return nil, errBadTable
		}
		t.other = otherRow(o.Tally)
	}
	return t, nil
}
