package reconcile

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/errtext"
)

// list lists the keys of the buckets that differ, and keeps the rows of each uuid that differs.
func (c *comparison) list(ctx context.Context, differing []cell) error {
	groups := c.grouped(differing)
	for i, group := range groups {
		c.step = Progress{Step: "list", Done: i, Total: len(groups)}
		if len(c.found) >= c.MaxFindings {
			for _, x := range group {
				why := "its rows were not listed, since %d others differ already: MaxFindings"
				c.unknown(x.Part, x.digest[ofService].Keys, fmt.Sprintf(why, len(c.found)))
			}
			continue
		}
		rows, failed, err := c.listBoth(ctx, partsOf(group), 0)
		if err != nil {
			return err
		}
		for _, x := range group {
			if why := failed[x.Part]; why != nil {
				c.unknown(x.Part, x.digest[ofService].Keys, why.Error())
				continue
			}
			if c.settle(x, rows) {
				continue
			}
			if err := c.readAgain(ctx, x); err != nil {
				return err
			}
		}
	}
	return nil
}

// grouped joins buckets for one list.
func (c *comparison) grouped(cells []cell) (groups [][]cell) {
	var size int64
	for _, x := range cells {
		last := len(groups) - 1
		if last >= 0 && size+x.keys() <= c.listRows && len(groups[last]) < mostParts {
			groups[last] = append(groups[last], x)
			size += x.keys()
			continue
		}
		groups, size = append(groups, []cell{x}), x.keys()
	}
	return groups
}

// listBoth lists parts on both sides. It also returns why a part could not be listed.
func (c *comparison) listBoth(ctx context.Context, parts []Part, try int) (rows [2][]Row, failed map[Part]error, err error) {
	failed = map[Part]error{}
	for side := range c.sides {
		rows[side], err = c.listParts(ctx, side, parts, failed, try)
		if err != nil {
			return rows, nil, err
		}
	}
	return rows, failed, nil
}

// listParts lists parts of a side, and smaller ones where that is too much.
func (c *comparison) listParts(ctx context.Context, side int, parts []Part, failed map[Part]error, try int) (rows []Row, err error) {
	for _, p := range parts {
		rows, err = c.listOne(ctx, side, parts, try)
		if err == nil || !isOpen(err) {
			return rows, err
		}
		if len(parts) == 1 {
			failed[p] = fmt.Errorf("%s: %w", c.report.sideName(side), errtext.Bare(err))
			return nil, nil
		}
		break
	}
	for _, p := range parts {
		some, err := c.listParts(ctx, side, []Part{p}, failed, try)
		if err != nil {
			return nil, err
		}
		rows = append(rows, some...)
	}
	return rows, nil
}

// listOne lists parts; a single part that is too much is divided.
func (c *comparison) listOne(ctx context.Context, side int, parts []Part, try int) (rows []Row, err error) {
	s := c.selection(side, parts)
	rows, err = c.askList(ctx, side, s, try)
	const mostDigits = 4
	if !errors.Is(err, ErrTooMuch) || len(parts) > 1 {
		return rows, err
	}
	smaller := parts[0].halves(time.Hour)
	if smaller == nil && len(parts[0].Suffix) < mostDigits {
		smaller = parts[0].slices()
	}
	if smaller == nil {
		return nil, err
	}
	rows = nil
	for _, p := range smaller {
		some, err := c.listOne(ctx, side, []Part{p}, try)
		if err != nil {
			return nil, err
		}
		rows = append(rows, some...)
	}
	return rows, nil
}

func (c *comparison) askList(ctx context.Context, side int, s Selection, try int) ([]Row, error) {
	return ask(ctx, c, side, []any{"list", s, len(s.Exports) > 0, try}, func(asked Side) ([]Row, error) {
		rows, err := asked.List(ctx, s, c.mostRows)
		for i := range rows {
			rows[i].Hour = rows[i].Hour.UTC()
		}
		return rows, err
	}, func(rows []Row) error { return checkRows(rows, s, c.mostRows) })
}

// checkRows refuses an answer that contradicts the question or itself.
func checkRows(rows []Row, s Selection, limit int) error {
	type keyHour struct {
		key
		hour time.Time
	}
	seen := make(map[keyHour]bool, len(rows))
	wanted := make(map[uuid.UUID]bool, len(s.UUIDs))
	for _, id := range s.UUIDs {
		wanted[id] = true
	}
	for _, r := range rows {
		k := keyHour{r.key(), r.Hour}
		isOf := r.Hour.IsZero() && len(s.UUIDs) > 0 || slices.ContainsFunc(s.Parts, func(p Part) bool {
			return p.Has(r.Hour, r.UUID) || s.Doubled && r.Hour.Equal(dayOf(p.From)) && hasSuffix(r.UUID, p.Suffix)
		})
		switch {
		case !isOf || len(s.UUIDs) > 0 && !wanted[r.UUID]:
			return errors.New("the answer has rows outside the question")
		case !r.Hour.Equal(r.Hour.Truncate(time.Hour)):
			return errors.New("the answer has a time that is not an hour")
		case seen[k]:
			return errors.New("the answer has a key twice")
		case r.Rows < 1 || s.Doubled && r.Rows < 2:
			return errors.New("the answer has a key without rows")
		}
		seen[k] = true
	}
	if len(rows) >= limit {
		return errors.New("the answer may lack rows: it is full")
	}
	return nil
}

// settle keeps the rows of a bucket that differ. It reports whether the lists fit the digests, and show why these differ. A
// list may show a text in another way than it is, such as a half character, if the other side has the same text.
func (c *comparison) settle(x cell, rows [2][]Row) bool {
	var of [2][]Row
	var sets [2]map[key]Row
	var notShown [2]uint64 // of the texts' sum
	for side := range rows {
		for _, r := range rows[side] {
			if x.Has(r.Hour, r.UUID) {
				of[side] = append(of[side], r)
			}
		}
		var d Digest
		sets[side] = map[key]Row{}
		for _, r := range x.perUnit(of[side]) {
			d.Add(r.UUID, r.Event, r.DistinctID, r.Rows)
			sets[side][r.key()] = r
		}
		if !d.sameIDs(x.digest[side]) {
			return false
		}
		notShown[side] = x.digest[side].Text - d.Text
	}
	if notShown[ofService] != notShown[ofDestination] {
		return false
	}
	differ := map[uuid.UUID]bool{}
	for side := range sets {
		for k := range sets[side] {
			if _, both := sets[1-side][k]; !both {
				differ[k.id] = true
			}
		}
	}
	for side := range of {
		for _, r := range of[side] {
			if differ[r.UUID] {
				c.keep(side, r)
			}
		}
	}
	return true
}

// perUnit joins the rows of a key in a unit of the bucket.
func (x cell) perUnit(rows []Row) []Row {
	if x.by == ByDay {
		return perDay(rows)
	}
	return rows
}

func (c *comparison) keep(side int, r Row) {
	f := c.found[r.UUID]
	if f == nil {
		f = &rowsOf{}
		c.found[r.UUID] = f
	}
	if side == ofService {
		f.asked = append(f.asked, r)
	} else {
		f.there = append(f.there, r)
	}
}

// readAgain reads a bucket once more whose lists do not fit its digests.
func (c *comparison) readAgain(ctx context.Context, x cell) error {
	for side := range c.sides {
		digests, err := c.askDigest(ctx, side, []Part{x.Part}, x.by, 1)
		if isOpen(err) {
			c.unknown(x.Part, x.digest[ofService].Keys, fmt.Sprintf("%s: %v", c.report.sideName(side), errtext.Bare(err)))
			return nil
		}
		if err != nil {
			return err
		}
		x.digest[side] = Digest{}
		for _, d := range digests {
			x.digest[side].plus(d)
		}
	}
	rows, failed, err := c.listBoth(ctx, []Part{x.Part}, 1)
	if err != nil {
		return err
	}
	if why := failed[x.Part]; why != nil {
		c.unknown(x.Part, x.digest[ofService].Keys, why.Error())
	} else if !c.settle(x, rows) {
		c.unknown(x.Part, x.digest[ofService].Keys, "its lists do not fit its digests, or a side has texts that it does not list as they are: "+changed)
	}
	return nil
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
		parts = append(parts, Part{From: from, To: earlier(from.Add(longestWindow), end)})
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
				isLost[id] = fmt.Sprintf("%s: its uuid could not be looked up: %v", c.report.sideName(side), errtext.Bare(err))
			}
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		for _, r := range some {
			if !r.Hour.IsZero() || part == around[0] { // a row without a time is in each answer
				rows[r.UUID] = append(rows[r.UUID], r)
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
	rows, err := c.askList(ctx, side, s, 0)
	if !errors.Is(err, ErrTooMuch) {
		return rows, err
	}
	const two = 2
	halves, first, second := s.Parts[0].halves(24*time.Hour), s, s
	switch {
	case halves != nil:
		first.Parts, second.Parts = halves[:1], halves[1:]
	case len(s.UUIDs) >= two:
		first.UUIDs, second.UUIDs = s.UUIDs[:len(s.UUIDs)/two], s.UUIDs[len(s.UUIDs)/two:]
	default:
		return nil, err
	}
	if rows, err = c.lookUpIn(ctx, side, first); err != nil {
		return nil, err
	}
	more, err := c.lookUpIn(ctx, side, second)
	for _, r := range more {
		if !r.Hour.IsZero() || halves == nil {
			rows = append(rows, r)
		}
	}
	return rows, err
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

// listDoubled lists the further rows of keys in the destination.
func (c *comparison) listDoubled(ctx context.Context) error {
	days := slices.SortedFunc(maps.Keys(c.over), time.Time.Compare)
	var groups [][]Part
	var size int64
	for _, day := range days {
		p := Part{From: later(day, c.From), To: earlier(day.Add(24*time.Hour), c.To)}
		last := len(groups) - 1
		if last >= 0 && size+c.over[day] <= c.listRows && len(groups[last]) < mostParts {
			groups[last], size = append(groups[last], p), size+c.over[day]
			continue
		}
		groups, size = append(groups, []Part{p}), c.over[day]
	}
	for i, group := range groups {
		c.step = Progress{Step: "doubled", Done: i, Total: len(groups)}
		if err := c.listDoubledOf(ctx, group); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) listDoubledOf(ctx context.Context, days []Part) error {
	rows, err := c.askDoubled(ctx, days)
	if isOpen(err) && len(days) > 1 {
		for _, day := range days {
			if err := c.listDoubledOf(ctx, []Part{day}); err != nil {
				return err
			}
		}
		return nil
	}
	if isOpen(err) {
		why := fmt.Sprintf("the doubled rows of the destination could not be listed: %v", errtext.Bare(err))
		c.unknownThere(days[0], c.over[dayOf(days[0].From)], why)
		return nil
	}
	if err != nil {
		return err
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Or(compareRows(a, b), bytes.Compare(a.UUID[:], b.UUID[:])) })
	found := map[time.Time]int64{}
	for _, r := range rows {
		found[r.day()] += r.Rows - 1
		if !c.judged[r.UUID] {
			c.add(Finding{Class: Doubled, Day: r.day(), UUID: r.UUID, Event: r.Event, DistinctID: r.DistinctID, Rows: r.Rows - 1})
		}
	}
	for _, p := range days {
		if day := dayOf(p.From); found[day] != c.over[day] {
			why := "the destination has %d doubled rows by its digest and %d by its list: it changed while it was read"
			c.unknownThere(p, c.over[day], fmt.Sprintf(why, c.over[day], found[day]))
		}
	}
	return nil
}

// askDoubled lists the doubled rows of days; a day that is too much is divided by uuids.
func (c *comparison) askDoubled(ctx context.Context, days []Part) ([]Row, error) {
	rows, err := c.askList(ctx, ofDestination, Selection{Parts: days, Doubled: true}, 0)
	const mostDigits = 4
	if !errors.Is(err, ErrTooMuch) || len(days) > 1 || len(days[0].Suffix) >= mostDigits {
		return rows, err
	}
	rows = nil
	for _, p := range days[0].slices() {
		some, err := c.askDoubled(ctx, []Part{p})
		if err != nil {
			return nil, err
		}
		rows = append(rows, some...)
	}
	return rows, nil
}
