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
