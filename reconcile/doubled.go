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

	"github.com/hogapi/hogapi/internal/errtext"
)

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
	return inParts(days[0].slices(), func(p Part) ([]Row, error) { return c.askDoubled(ctx, []Part{p}) })
}
