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
	"github.com/hogapi/hogapi/internal/narrow"
)

// list lists the keys of the buckets that differ, and keeps the rows of each uuid that differs.
func (c *comparison) list(ctx context.Context, differing []cell) error {
	groups := narrow.Groups(differing, c.listRows, maxParts, cell.keys)
	for i, group := range groups {
		c.step = Progress{Step: "list", Done: i, Total: len(groups)}
		if len(c.found) >= c.MaxFindings {
			for _, x := range group {
				why := "the rows were not listed, since %d others already differ: MaxFindings"
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
	rows, err = c.listOne(ctx, side, parts, try)
	if err == nil || !isOpen(err) {
		return rows, err
	}
	if len(parts) == 1 {
		failed[parts[0]] = fmt.Errorf("%s: %w", c.report.sideName(side), errtext.WithoutPrefix(err))
		return nil, nil
	}
	return narrow.Each(parts, func(p Part) ([]Row, error) { return c.listParts(ctx, side, []Part{p}, failed, try) })
}

// listOne lists parts; a single part that is too much is divided.
func (c *comparison) listOne(ctx context.Context, side int, parts []Part, try int) ([]Row, error) {
	ask := func(parts []Part) ([]Row, error) { return c.askList(ctx, side, c.selection(side, parts), try) }
	return narrow.Ask(parts, ask, isTooMuch, dividedBy(time.Hour, listedDigits))
}

func isTooMuch(err error) bool { return errors.Is(err, ErrTooMuch) }

// dividedBy divides a single part by time down to a unit, and then by so many digits of the uuids.
func dividedBy(unit time.Duration, maxDigits int) func([]Part) [][]Part {
	return func(parts []Part) (smaller [][]Part) {
		if len(parts) > 1 {
			return nil
		}
		divided := parts[0].halves(unit)
		if divided == nil && len(parts[0].Suffix) < maxDigits {
			divided = parts[0].slices()
		}
		for i := range divided {
			smaller = append(smaller, divided[i:i+1])
		}
		return smaller
	}
}

const listedDigits = 4 // of the smallest part of a list

func (c *comparison) askList(ctx context.Context, side int, s Selection, try int) ([]Row, error) {
	s.rows = c.rowsOn(side, s.Parts)
	return ask(ctx, c, side, []any{"list", s, len(s.Exports) > 0, try}, func(asked Side) ([]Row, error) {
		rows, err := asked.List(ctx, s, c.maxRows)
		for i := range rows {
			rows[i].Hour = rows[i].Hour.UTC()
		}
		return rows, err
	}, func(rows []Row) error { return checkRows(rows, s, c.maxRows) })
}

// checkRows refuses an answer that contradicts the question or itself.
func checkRows(rows []Row, s Selection, limit int) error {
	seen := make(map[keyAt]bool, len(rows))
	isWanted := s.wants()
	for _, r := range rows {
		k := keyAt{r.key(), r.Hour}
		isOf := r.Hour.IsZero() && len(s.UUIDs) > 0 || slices.ContainsFunc(s.Parts, func(p Part) bool {
			return p.Has(r.Hour, r.UUID) || s.Doubled && r.Hour.Equal(dayOf(p.From)) && hasSuffix(r.UUID, p.Suffix)
		})
		switch {
		case !isOf || !isWanted(r.UUID):
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
		for _, r := range perUnit(of[side], x.by.Unit()) {
			d.Add(r.UUID, r.Event, r.DistinctID, r.Rows)
			sets[side][r.key()] = r
		}
		if !d.sameIDs(x.digest[side]) {
			return false
		}
		notShown[side] = x.digest[side].Text - d.Text
	}
	if !x.digest[ofService].NoText && !x.digest[ofDestination].NoText && notShown[ofService] != notShown[ofDestination] {
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
			switch {
			case differ[r.UUID]:
				c.keep(side, r)
			case side == ofService && !r.CreatedAt.IsZero():
				minute := r.CreatedAt.UTC().Truncate(time.Minute)
				c.arrived[Span{minute, minute.Add(time.Minute)}] = true
			}
		}
	}
	return true
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

// readAgain reads a bucket again if its lists do not fit its digests.
func (c *comparison) readAgain(ctx context.Context, x cell) error {
	for side := range c.sides {
		digests, err := c.askDigest(ctx, side, []Part{x.Part}, x.by, 1)
		if isOpen(err) {
			c.unknown(x.Part, x.digest[ofService].Keys, fmt.Sprintf("%s: %v", c.report.sideName(side), errtext.WithoutPrefix(err)))
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
		why := "the lists do not fit the digests, or a side does not list texts as it stores them: " + changed
		c.unknown(x.Part, x.digest[ofService].Keys, why)
	}
	return nil
}

// listDoubled lists the further rows of keys in the destination.
func (c *comparison) listDoubled(ctx context.Context) error {
	var days []Part
	for _, day := range slices.SortedFunc(maps.Keys(c.over), time.Time.Compare) {
		days = append(days, Part{From: narrow.Later(day, c.From), To: narrow.Earlier(day.Add(24*time.Hour), c.To)})
	}
	groups := narrow.Groups(days, c.listRows, maxParts, func(p Part) int64 { return c.over[dayOf(p.From)] })
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
		why := fmt.Sprintf("the doubled rows of the destination could not be listed: %v", errtext.WithoutPrefix(err))
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
	ask := func(days []Part) ([]Row, error) {
		return c.askList(ctx, ofDestination, Selection{Parts: days, Doubled: true}, 0)
	}
	return narrow.Ask(days, ask, isTooMuch, dividedBy(24*time.Hour, listedDigits))
}
