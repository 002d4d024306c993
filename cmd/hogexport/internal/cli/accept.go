package cli

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/coverage"
)

// acceptance is a time range with known gaps; it covers every interval inside it. A zero bound is open.
type acceptance struct {
	Export string    `json:"export"`
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Reason string    `json:"reason"`
}

// acceptedBy returns the acceptance that covers the whole gap, or nil.
func acceptedBy(known []acceptance, c *coverage.Coverage, gap coverage.Gap) *acceptance {
	var by *acceptance
	for at := gap.Start; at.Before(gap.End); {
		next := at
		for i := range known {
			a := &known[i]
			id := c.ExportID.String()
			isOf := a.Export == c.Name || len(a.Export) >= minID && strings.HasPrefix(id, a.Export)
			if !isOf || at.Before(a.From) || !a.To.IsZero() && !a.To.After(at) {
				continue
			}
			if by == nil {
				by = &acceptance{c.Name, gap.Start, gap.End, a.Reason}
			}
			if a.To.IsZero() {
				return by
			}
			if a.To.After(next) {
				next = a.To
			}
		}
		if next.Equal(at) {
			return nil
		}
		at = next
	}
	return by
}

// piece is a gap, or the part of one that is known or is not.
type piece struct {
	coverage.Gap

	by *acceptance // nil: it is not known
}

// pieces returns the gaps of a coverage, split where an acceptance begins or ends.
func pieces(c *coverage.Coverage, known []acceptance) (all []piece) {
	for _, gap := range c.Gaps() {
		first := len(all)
		for _, x := range c.Intervals {
			if !x.State.IsGap() || x.Start.Before(gap.Start) || x.End.After(gap.End) {
				continue
			}
			one := coverage.Gap{Start: x.Start, End: x.End, Intervals: 1, States: []coverage.State{x.State}}
			by := acceptedBy(known, c, one)
			if n := len(all) - 1; n >= first && (by == nil) == (all[n].by == nil) && (by == nil || by.Reason == all[n].by.Reason) {
				last := &all[n]
				last.End, last.Intervals = x.End, last.Intervals+1
				if by != nil {
					last.by.To = x.End
				}
				if !slices.Contains(last.States, x.State) {
					last.States = append(last.States, x.State)
				}
				continue
			}
			all = append(all, piece{one, by})
		}
	}
	return all
}

func readAccepted(path string) (known []acceptance, err error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, shell.UsageError(fmt.Sprintf("--accept %s: %v", path, shell.Cause(err)), "give a file of known gaps")
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		const columns = 4
		parts := strings.SplitN(text, "\t", columns)
		a, isGood := acceptanceOf(parts)
		if !isGood {
			return nil, shell.UsageError(fmt.Sprintf("--accept %s, line %d: expected the export, two times and the reason, separated by tabs", path, n), "instead of two times, a line can have from and one time, or no time: see hogexport gaps --help")
		}
		known = append(known, a)
	}
	return known, lines.Err()
}

// acceptanceOf reads the columns of a line: the export, its times, and the reason.
func acceptanceOf(columns []string) (a acceptance, isGood bool) {
	for i := range columns {
		columns[i] = strings.TrimSpace(columns[i])
	}
	last := len(columns) - 1
	a.Export, a.Reason = columns[0], columns[last]
	read := func(text string, to *time.Time) bool {
		at, err := parseTime("a time", text, time.Time{})
		*to = at
		return err == nil && !at.IsZero()
	}
	const noTime, openEnd, twoTimes = 1, 2, 3
	switch last {
	case noTime:
		isGood = true
	case openEnd:
		from, hasFrom := strings.CutPrefix(columns[1], "from ")
		isGood = hasFrom && read(from, &a.From)
	case twoTimes:
		isGood = read(columns[1], &a.From) && read(columns[2], &a.To)
	}
	return a, isGood && a.Export != "" && a.Reason != ""
}
