package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/page"
	pages "github.com/hogapi/hogapi/cmd/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/history"
)

// verifyTable writes a verification in 80 columns: the numbers, the incomplete cells, and their
// meaning.
func verifyTable(w io.Writer, p *page.Verify) {
	v := p.Verification
	said := p.Verdict()
	fmt.Fprintf(w, "%s\n\n", term.Flow(said.Title+". "+said.Text))
	row := func(name string, n int64) { fmt.Fprintf(w, "%-16s  %15s\n", name, pages.Count(n)) }
	row("sent", v.Acknowledged)
	row("found", v.Seen)
	if once := p.Once() - p.Apart(); once > 0 {
		row("stored once", once)
	}
	if apart := p.Apart(); apart > 0 {
		row("with equal uuids", apart)
	}
	row("missing", v.MissingEvents)
	for _, more := range []struct {
		name string
		n    int64
	}{{"unconfirmed", v.Unconfirmed}, {"moved", v.MovedEvents}, {"too many", v.ForeignEvents}} {
		if more.n > 0 {
			row(more.name, more.n)
		}
	}
	openDays(w, v)
	whyOpen(w, v)
	for i, id := range v.MissingIDs {
		const most = 5
		if i == 0 {
			fmt.Fprintln(w, "\nmissing, by uuid")
		}
		if i == most {
			fmt.Fprintf(w, "  and %s more\n", pages.Count(v.MissingEvents-most))
			break
		}
		fmt.Fprintf(w, "  %s\n", id)
	}
	for i, reason := range largestFirst(p.Receipt.Rejects) {
		if i == 0 {
			fmt.Fprintln(w, "\nrejected, by reason")
		}
		fmt.Fprintf(w, "  %-40s  %13s\n", reason, pages.Count(p.Receipt.Rejects[reason]))
	}
	if p.Rows != nil {
		fmt.Fprintln(w)
		page.NotCarried(p.Rows, func(line string) { fmt.Fprintln(w, term.Flow(line)) })
	}
	if note, isNeeded := p.LinkNote(); isNeeded {
		fmt.Fprintf(w, "\n%s\n", term.Flow("Note: "+note.Title+". "+note.Text))
	}
	for _, note := range v.Notes {
		fmt.Fprintf(w, "\n%s\n", term.Flow("Note: "+page.Explained(note)))
	}
	if read := progress.Read(v.BytesRead, v.BudgetLeft); read != "" {
		fmt.Fprintf(w, "\n%s\n", read)
	}
	if v.Complete() { // otherwise the error has the advice
		for _, step := range p.Next {
			fmt.Fprintf(w, "\n%s\n", term.Flow(step.Text))
		}
	}
}

// whyOpen writes the reasons why days are not complete, each once.
func whyOpen(w io.Writer, v *history.Verification) {
	var said []string
	for _, c := range slices.Concat(v.Cells, v.Outside) {
		why := page.Why(c.Reason)
		if c.State == history.VerificationComplete || why == "" || slices.Contains(said, why) {
			continue
		}
		const most = 5
		if said = append(said, why); len(said) > most {
			fmt.Fprintln(w, "\nThe JSON and the page have further reasons.")
			break
		}
		fmt.Fprintf(w, "\n%s\n", term.Flow(c.State.String()+": "+why))
	}
}

// openDays writes the days that are not complete, with all names of a day together.
func openDays(w io.Writer, v *history.Verification) {
	type day struct {
		sent, found, missing int64
		state                history.VerificationState
	}
	days := map[string]*day{}
	for _, c := range slices.Concat(v.Cells, v.Outside) {
		d := days[c.Day]
		if d == nil {
			d = &day{state: history.VerificationComplete}
			days[c.Day] = d
		}
		d.sent, d.found, d.missing = d.sent+c.Acknowledged, d.found+c.Seen, d.missing+c.Missing
		d.state = page.Worse(d.state, c.State)
	}
	maps.DeleteFunc(days, func(_ string, d *day) bool { return d.state == history.VerificationComplete })
	if len(days) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%-10s  %13s  %13s  %13s  %s\n", "day (UTC)", "sent", "found", "missing", "state")
	for i, name := range slices.Sorted(maps.Keys(days)) {
		const most = 30
		if i == most {
			fmt.Fprintf(w, "and %s more days\n", pages.Count(int64(len(days)-most)))
			break
		}
		d := days[name]
		fmt.Fprintf(w, "%-10s  %13s  %13s  %13s  %s\n", cmp.Or(name, "all days"), pages.Count(d.sent), pages.Count(d.found), pages.Count(d.missing), d.state)
	}
}
