package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/hogapi/hogapi/examples/internal/commits"
	"github.com/hogapi/hogapi/examples/internal/demo"
)

// report prints what was done and what the service holds, and fails where they differ.
func (q *quickstart) report() error {
	sent, held := q.acknowledged(), q.held()
	fmt.Fprintln(q.out)
	table := demo.Table(q.out, "WHAT", "DONE HERE", "THE SERVICE HOLDS")
	demo.Row(table, "batch exports", 1, q.exports)
	demo.Row(table, "runs of the backfill", q.state.Completed, q.runs)
	var allSent, allHeld int
	for _, g := range slices.SortedFunc(maps.Keys(sent), group.compare) {
		demo.Row(table, g.event+" in "+g.year, sent[g], q.orLater(held[g]))
		allSent, allHeld = allSent+sent[g], allHeld+held[g]
	}
	demo.Row(table, "all events", allSent, q.orLater(allHeld))
	if err := table.Flush(); err != nil {
		return err
	}
	switch {
	case q.Fake == nil:
		fmt.Fprintf(q.out, "\nThe service shows events some minutes after it has taken them. Compare then: this query should find %d uuids.\n\n%s\n", q.receipt.Acknowledged, q.receipt.TotalQuery())
	case !maps.Equal(sent, held):
		return errors.New("the service holds other events than it has acknowledged")
	default:
		fmt.Fprintf(q.out, "\nAcknowledged and held are equal: %d of %d events.\n", allHeld, commits.Count)
	}
	return nil
}

// group is what the report counts events by.
type group struct{ event, year string }

func (g group) compare(other group) int {
	return cmp.Or(cmp.Compare(g.event, other.event), cmp.Compare(g.year, other.year))
}

// acknowledged counts what the receipt says.
func (q *quickstart) acknowledged() map[group]int {
	counts := map[group]int{}
	for _, d := range q.receipt.Days {
		counts[group{d.Event, d.Day[:min(4, len(d.Day))]}] += int(d.Acknowledged) // a day can be empty
	}
	return counts
}

// held counts what the fake has stored, duplicates left out. The real service needs a while before it can tell.
func (q *quickstart) held() map[group]int {
	counts := map[group]int{}
	if q.Fake == nil {
		return counts
	}
	for day, n := range q.Fake.Ledger().Counts() {
		counts[group{day.Event, day.Day[:4]}] += n
	}
	return counts
}

func (q *quickstart) orLater(n int) string {
	if q.Fake == nil {
		return "later"
	}
	return strconv.Itoa(n)
}
