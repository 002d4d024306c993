package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/page"
	pages "github.com/hogapi/hogapi/cmd/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
)

func checkTable(w io.Writer, p *page.Check) {
	r := p.Report
	all := r.Good + r.Rejected + r.Skipped
	row := func(name string, n int64) {
		fmt.Fprintf(w, "%-16s  %15s  %9s\n", name, pages.Count(n), pages.Share(n, all))
	}
	row("read", r.Read)
	row("would be sent", r.Good)
	if !r.UUIDsPartial {
		row("different events", p.Different())
	}
	row("rejected", r.Rejected)
	row("left out", r.Skipped)
	if r.Good > 0 {
		line := func(name, value string) { fmt.Fprintf(w, "%-16s  %s\n", name, value) }
		line("from", r.Oldest.UTC().Format(time.DateTime)+" UTC")
		line("to", r.Newest.UTC().Format(time.DateTime)+" UTC")
		line("persons", "about "+pages.Count(page.Rounded(r.Persons)))
		if r.Hours > 0 {
			line("takes", fmt.Sprintf("%s at %s events a second", page.Duration(r.Hours), pages.Count(int64(p.Rate))))
		}
	}
	names := map[string]int64{}
	for _, d := range r.Days {
		names[d.Event] += d.Events
	}
	counts(w, "event", "events", names, r.Good)
	webTable(w, p)
	rejects := map[string]int64{}
	for reason, f := range r.Reasons {
		rejects[string(reason)] = f.Count
	}
	counts(w, "rejected because", "events", rejects, r.Good+r.Rejected)
	examples(w, p)
	for _, reason := range largestFirst(r.Skips) {
		fmt.Fprintf(w, "\n%s\n", term.Flow("Left out: "+pages.Shown(p.SkipText(reason))))
	}
	if p.ListCommand != "" {
		fmt.Fprintf(w, "%s\n%s\n", listHint, term.Command("    "+p.ListCommand))
	}
	if text := p.Listed(); text != "" {
		fmt.Fprintf(w, "\n%s\n", term.Flow(text))
	}
	if p.ExportsHint != "" {
		fmt.Fprintf(w, "\n%s\n", term.Flow(p.ExportsHint))
	}
	said, findings := p.Summary()
	fmt.Fprintf(w, "\n%s\n", term.Flow(said.Title+". "+said.Text))
	for _, f := range findings {
		fmt.Fprintf(w, "%s\n%s\n", term.Flow("- "+colored(f.Level)+": "+f.Title), term.Flow("  "+f.Text))
	}
	if p.Read != "" {
		fmt.Fprintf(w, "\n%s\n", p.Read)
	}
	nextSteps(w, p.Next)
}

func nextSteps(w io.Writer, steps []shell.Step) {
	for i, step := range steps {
		if i == 0 {
			fmt.Fprintln(w, "\nWhat to do next:")
		}
		fmt.Fprintf(w, "%s\n%s\n", term.Flow(fmt.Sprintf("%d. %s", i+1, step.Text)), term.Command("    "+step.Command))
	}
}

const (
	nameWidth = 44
	maxRows   = 12
)

// largestFirst are the names of counts, the largest first.
func largestFirst[K ~string](counts map[K]int64) []K {
	return slices.SortedFunc(maps.Keys(counts), func(a, b K) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}

func counts(w io.Writer, what, of string, list map[string]int64, whole int64) {
	if len(list) == 0 {
		return
	}
	names := largestFirst(list)
	fmt.Fprintf(w, "\n%-*s  %15s  %9s\n", nameWidth, what, of, "share")
	var rest int64
	for i, name := range names {
		if i < maxRows {
			fmt.Fprintf(w, "%s  %15s  %9s\n", term.Padded(pages.Shown(name), nameWidth), pages.Count(list[name]), pages.Share(list[name], whole))
			continue
		}
		rest += list[name]
	}
	if more := len(names) - maxRows; more > 0 {
		fmt.Fprintf(w, "%-*s  %15s  %9s\n", nameWidth, pages.Count(int64(more))+" more", pages.Count(rest), pages.Share(rest, whole))
	}
}

func examples(w io.Writer, p *page.Check) {
	reasons := p.Report.Reasons
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		if list := reasons[reason].Examples; len(list) > 0 {
			text := page.Example(reason, list[0])
			fmt.Fprintf(w, "\n%s\n", term.Flow(p.Advice(reason)+" For example "+text))
		}
	}
}

func colored(l pages.Level) string {
	switch l {
	case pages.Bad:
		return term.Problem(l.Word())
	case pages.Warn:
		return term.Warning(l.Word())
	case pages.Good, pages.Info:
	}
	return l.Word()
}
