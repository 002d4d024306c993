package reconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

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
