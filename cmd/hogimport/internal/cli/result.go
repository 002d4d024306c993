package cli

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/formats"
)

// resultText returns the result of a complete import. The last line is about its rejects.
func resultText(s *state, r hogapi.Receipt) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n  as the import %s\n", term.Flow("Complete: "+s.account(r)+"."), term.Line(s.kept.ID))
	if !r.Oldest.IsZero() {
		fmt.Fprintf(&b, "  events from %s to %s (UTC)\n", r.Oldest.UTC().Format(time.DateTime), r.Newest.UTC().Format(time.DateTime))
	}
	for _, reason := range slices.Sorted(maps.Keys(r.Skips)) {
		fmt.Fprintln(&b, term.Flow("  "+page.SkipText(s.kept.Input.Format, reason, r.Skips[reason], s.kept.Skipped[reason])))
	}
	if r.Skipped > r.Skips[formats.SkipSharedDevice] && s.kept.Rejects == "" {
		fmt.Fprintf(&b, "  %s\n%s\n", listHint, term.Command("    "+listCommand(s.kept.Input, "")))
	}
	for _, reason := range mostFirst(r.Rejects) {
		fmt.Fprintf(&b, "  rejected, %s: %s\n", reason, progress.Number(r.Rejects[reason]))
	}
	for _, warning := range slices.Sorted(maps.Keys(r.Warnings)) {
		if !isOfOrder(warning) || !s.kept.Input.Sort && s.kept.Rejects == "" { // a fix sorts nothing
			fmt.Fprintln(&b, term.Flow("  "+page.WarningText(warning, r.Warnings[warning])))
		}
	}
	for _, shared := range r.SharedUUIDs {
		text := "  the uuid of two events: " + shared.Text
		if fileOf(s.kept.Input.Files, shared.Position.Key) != "" {
			text += ", the second at " + placeText(s.kept.Input.Files, shared.Position)
		}
		fmt.Fprintln(&b, term.Flow(text))
	}
	if _, err := os.Stat(s.file("sorted")); err == nil {
		fmt.Fprintln(&b, term.Flow("Remove "+term.Line(s.file("sorted"))+" once it is verified: it holds the sorted events."))
	}
	fmt.Fprintf(&b, "%s\n  hogimport verify --state %s\n",
		term.Flow("Check that all of it is there, now, and again in a few hours if events are still arriving:"), shell.Quoted(s.dir))
	if r.Skipped > 0 {
		fmt.Fprintf(&b, "Left out: %s, which --max-rejects does not count\n", progress.Number(r.Skipped))
	}
	if n := r.Rejected + r.Unconfirmed; n > 0 {
		fmt.Fprintf(&b, "The rejects, each with its reason, are in %s\nRejected: %s; to correct them: hogimport fix --state %s\n",
			term.Line(s.rejects()), progress.Number(n), shell.Quoted(s.folder()))
	}
	return b.String()
}

// account counts every record and link of a complete import, so that the numbers add up.
func (s *state) account(r hogapi.Receipt) string {
	number, shared := progress.Number, r.Skips[formats.SkipSharedDevice]
	links := s.kept.Links - shared
	records, leftOut := r.Read-s.kept.Links, r.Skipped-shared
	refused := r.Rejected + r.Unconfirmed
	if refused == 0 {
		text := counted(r.Acknowledged-links, "event")
		if links > 0 {
			text += " and " + counted(links, "link") + " of persons"
		}
		text += " acknowledged; "
		switch {
		case r.Skipped == 0:
			return text + "no record left out or rejected"
		case shared == 0:
			return fmt.Sprintf("%s%s of %s left out", text, number(leftOut), counted(records, "record"))
		}
		return fmt.Sprintf("%s%s of %s and %s of %s left out", text, number(leftOut), counted(records, "record"), number(shared), counted(s.kept.Links, "link"))
	}
	// Which of the links were refused is not known.
	text, of := counted(r.Acknowledged, "event"), counted(records, "record")
	if s.kept.Links > 0 {
		text, of = text+" and links of persons", of+" and "+counted(s.kept.Links, "link")
	}
	var parts []string
	for _, part := range []struct {
		n    int64
		word string
	}{{r.Skipped, "left out"}, {r.Rejected, "rejected"}, {r.Unconfirmed, "unconfirmed"}} {
		if part.n > 0 {
			parts = append(parts, number(part.n)+" "+part.word)
		}
	}
	if len(parts) == 1 && s.kept.Links == 0 {
		n, word, _ := strings.Cut(parts[0], " ")
		return fmt.Sprintf("%s acknowledged; %s of %s %s", text, n, of, word)
	}
	return fmt.Sprintf("%s acknowledged; of %s %s", text, of, strings.Join(parts, ", "))
}

// linkSource yields the pairs of ids that --links joins first. At its end it has the number of pairs, and the
// number of pairs that join ids, which is -1 if an earlier run has read the first pairs.
type linkSource struct {
	hogapi.Source
	begun func()
	found func(formats.LinksReport)
	ended func(all, joined int64)
}

// Unwrap returns the source.
func (l *linkSource) Unwrap() hogapi.Source { return l.Source }

// Events implements hogapi.Source.
func (l *linkSource) Events(ctx context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
	return func(yield func(hogapi.Event, error) bool) {
		if l.begun != nil {
			l.begun()
		}
		all, joined := after.Offset, int64(0) // the offset of a link is its number
		for ev, err := range l.Source.Events(ctx, after) {
			if err == nil {
				all = ev.Position.Offset
			}
			if err == nil && !ev.Timestamp.IsZero() { // else it is a device with two users, which is left out
				joined++
			}
			if !yield(ev, err) || err != nil {
				return
			}
		}
		if !after.IsZero() {
			joined = -1
		}
		if l.ended != nil {
			l.ended(all, joined)
		}
	}
}

// links reports whether an import has links, how many were read, and how many were acknowledged: 0
// if that is not known.
func (s *state) links(r hogapi.Receipt) (has bool, read, acknowledged int64) {
	all := s.kept.Links
	switch {
	case !s.kept.Input.Links:
		return false, 0, 0
	case all == 0: // there are no links, or the run was killed before it saved their number
		return slices.ContainsFunc(r.Days, func(d hogapi.DayCount) bool { return d.Event == "$identify" }), 0, 0
	case !r.Finished:
		return true, 0, 0
	case r.Rejected+r.Unconfirmed > 0: // some may be links
		return true, all, 0
	}
	joined := all - r.Skips[formats.SkipSharedDevice] - r.Skips[formats.SkipUserDevice]
	return joined > 0, all, joined
}
