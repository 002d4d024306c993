package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/durable"
)

// send imports a source with the state of a folder, which the caller has locked. Ctrl-C finishes
// the requests under way.
func (a *app) send(ctx context.Context, client *hogapi.Client, s *state, source history.Source, o history.Options, metricsAt string) (hogapi.Receipt, error) {
	meter := a.Meter()
	defer meter.End()
	w := &watcher{state: s, meter: meter}
	if metricsAt != "" {
		server, err := serveMetrics(ctx, metricsAt, s.kept.ID)
		if err != nil {
			return hogapi.Receipt{}, err
		}
		defer server.Close()
		w.metrics = server
		meter.Say("Metrics are at " + server.Address + ".")
	}
	before, found, err := s.progress()
	was, hasRun := before, found
	if found && !s.hasSentNothing() { // this run may have no unanswered event, and still the service may have events
		w.unanswered = max(before.Unanswered, 1)
	}
	if _, missing := os.Stat(s.checkpoint()); err != nil || missing != nil {
		before, found = snapshot{}, false // it begins
	}
	if found && before.Ended == "" {
		meter.Say(term.Flow("The last run was killed: events that were under way are sent again. Each keeps its uuid, so PostHog stores it once."))
	}
	before.At, before.Ended, before.WaitingFor = time.Now().UTC(), "", ""
	if err := s.saveProgress(before); err != nil {
		return hogapi.Receipt{}, err
	}
	asked, stop := context.WithCancel(context.Background())
	defer stop()
	defer a.Signals.First(func() {
		meter.Say("Finishing what is under way. Press Ctrl-C again to stop immediately; either way you can resume.")
		stop()
	})()
	w.watch(source)
	o.Checkpoint, o.Rejects = history.CheckpointFile(s.checkpoint()), history.RejectFile(s.rejects())
	o.Total, o.OnProgress = s.kept.total(), w.update
	o.Grace = -1 // the first Ctrl-C has finished what was under way
	receipt, err := history.Import(ctx, client, stoppable{source, asked}, &o)
	if receipt.Source == "" { // it has not begun, so all is as it was
		if !hasRun {
			was.Ended = endedBy(err)
		}
		return receipt, errors.Join(err, s.saveProgress(was))
	}
	return receipt, w.end(receipt, err)
}

type watcher struct {
	state   *state
	meter   *progress.Meter
	metrics *metrics // nil: not asked for

	unanswered int64 // events of earlier runs

	mu    sync.Mutex // guards the fields below and state.kept
	saved time.Time
	last  hogapi.Stats
}

const saveInterval = 2 * time.Second

func (w *watcher) update(stats hogapi.Stats) {
	w.mu.Lock()
	defer w.mu.Unlock()
	stats.Total = w.state.kept.total() // which is better known by now than when the run began
	w.last = stats
	w.meter.Update(stats)
	if w.metrics != nil {
		w.metrics.set(stats)
	}
	now := time.Now().UTC()
	if now.Sub(w.saved) < saveInterval {
		return
	}
	w.saved = now
	p := snapshot{At: now, Read: stats.Read, Acknowledged: stats.Acknowledged, Rejected: stats.Rejected, Unconfirmed: stats.Unconfirmed, Skipped: stats.Skipped}
	if stats.LastError != nil {
		p.WaitingFor, p.Since = inFlags(stats.LastError), stats.FailingSince.UTC()
	}
	_ = w.state.saveProgress(p) // for status only: a full disk stops the import by its checkpoint
}

func (w *watcher) end(r hogapi.Receipt, err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := snapshot{At: time.Now().UTC(), Read: r.Read, Acknowledged: r.Acknowledged, Rejected: r.Rejected, Unconfirmed: r.Unconfirmed, Skipped: r.Skipped, Unanswered: w.unanswered, Ended: isComplete}
	if err != nil {
		p.Ended = endedBy(err)
	}
	if unsettled, ok := errors.AsType[*event.UnsettledError](err); ok {
		p.Unanswered = max(p.Unanswered, int64(unsettled.Count-unsettled.NeverSent))
	}
	kept := errors.Join(w.state.saveReceipt(r), w.state.saveProgress(p))
	if err == nil {
		w.whole(r)
	}
	if err == nil && kept != nil {
		return &shell.Fault{Code: shell.CodeStopped, Err: kept, Text: "everything was sent, but the result cannot be written: " + shell.Cause(kept).Error(),
			Todo: "make room in " + w.state.dir + " and run the same command again: it sends nothing twice"}
	}
	return err
}

// whole shows and saves the number of records of a complete import, in place of the estimate.
func (w *watcher) whole(r hogapi.Receipt) {
	if w.last.Total > 0 {
		w.last.Total = r.Acknowledged + r.Rejected + r.Unconfirmed + r.Skipped
		w.meter.Update(w.last)
	}
	if k := &w.state.kept; !k.IsExact && r.Read > k.Links && isStarted(w.state.dir) {
		k.Total, k.IsExact = r.Read-k.Links, true
		_ = w.state.save() // for what is shown only
	}
}

// endedBy returns the reason why an import has ended, in a word.
func endedBy(err error) string {
	if errors.Is(err, shell.ErrInterrupted) {
		return isInterrupted
	}
	if stop, ok := errors.AsType[*hogapi.StopError](err); ok {
		return string(stop.Reason)
	}
	return isStopped
}

// hasSentNothing reports whether the last run ended by itself, and the service can have no event of
// this import.
func (s *state) hasSentNothing() bool {
	p, found, err := s.progress()
	return err == nil && found && p.Ended != "" && p.Acknowledged+p.Unconfirmed+p.Unanswered == 0
}

// reset removes the position of runs that sent nothing, so that the files are read from their start. It removes
// the position first: without it, rejects are only written again. Somebody may have corrected the rejects, so
// they get another name, which reset returns. The sort folder stays if the files are read as before.
func (s *state) reset() (kept string, err error) {
	names := []string{s.checkpoint(), s.receiptFile()}
	if s.isChanged {
		names = append(names, s.file("sorted"))
	}
	for _, name := range names {
		if err := os.RemoveAll(name); err != nil {
			return "", stateFault(s.dir, err)
		}
	}
	if sizeOfFile(s.rejects()) == 0 {
		return "", nil
	}
	for number := 1; ; number++ {
		kept = s.file(fmt.Sprintf("rejects-%d.jsonl", number))
		if _, err := os.Lstat(kept); err == nil {
			continue
		}
		if err := (durable.OS{}).Rename(s.rejects(), kept); err != nil {
			return "", stateFault(s.dir, err)
		}
		return kept, nil
	}
}

// checkEmpty refuses a folder for a new import if it has files with the import's names, which belong to
// somebody else.
func (s *state) checkEmpty() error {
	for _, name := range []string{s.checkpoint(), s.rejects(), s.receiptFile(), s.file("progress.json"), s.file("verified.json"), s.file("sorted"), s.file("verify"), s.file(openSessions)} {
		if _, err := os.Lstat(name); err == nil {
			return shell.UsageError(name+" exists and was not created by a hogimport import", "give a new folder with --state DIR")
		}
	}
	return nil
}

// watch shows the sorting of events and the joining of ids, and saves the numbers of records and pairs.
func (w *watcher) watch(source history.Source) {
	switch s := source.(type) {
	case *formats.SortedSource:
		s.OnProgress = func(p formats.SortProgress) {
			text := "sorting: " + progress.Number(p.Read) + " read"
			if p.Merged > 0 {
				text = fmt.Sprintf("sorting: %s of %s merged", progress.Number(p.Merged), progress.Number(p.Read))
			}
			w.meter.Phase(text)
			if p.Merged == p.Read {
				w.keep(func(k *kept) { k.Total, k.IsExact = p.Read, true })
			}
		}
	case *linkSource:
		s.begun = func() { w.meter.Phase("finding pairs of ids") }
		s.found = func(r formats.LinksReport) { w.meter.Say(page.Persons(r)) }
		s.ended = func(all, joined int64) {
			if joined >= 0 {
				w.meter.Say(counted(joined, "pair") + " of ids joined first.")
			}
			w.keep(func(k *kept) { k.Links = all })
		}
	case *sessionSource:
		s.ended = func(c formats.SessionCounts) { w.meter.Say(term.Flow(sessionsText(c, w.state.kept.Input.Sessions))) }
		w.watch(s.sorted)
	case interface{ Unwrap() history.Source }:
		w.watch(s.Unwrap())
	case interface{ Unwrap() []history.Source }:
		for _, inner := range s.Unwrap() {
			w.watch(inner)
		}
	}
}

// keep saves the facts about the source that a run has found.
func (w *watcher) keep(change func(*kept)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.state.kept)
	_ = w.state.save() // only for display: a full disk stops the import by its checkpoint
}

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
	for _, reason := range largestFirst(r.Rejects) {
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
	if rows := s.kept.Rows; rows != nil {
		page.NotCarried(&rows.RowTest, func(line string) { fmt.Fprintln(&b, term.Flow(line)) })
	}
	if _, err := os.Stat(s.file("sorted")); err == nil {
		fmt.Fprintln(&b, term.Flow("Remove "+term.Line(s.file("sorted"))+" once it is verified: it holds the sorted events."))
	}
	fmt.Fprintf(&b, "%s\n  hogimport verify %s\n",
		term.Flow("Check that all of it is there, now, and again in a few hours if events are still arriving:"), s.named())
	if r.Skipped > 0 {
		fmt.Fprintf(&b, "Left out: %s, which --max-rejects does not count\n", progress.Number(r.Skipped))
	}
	if n := r.Rejected + r.Unconfirmed; n > 0 {
		fmt.Fprintf(&b, "The rejects, each with its reason, are in %s\nRejected: %s; to correct them: hogimport fix %s\n",
			term.Line(s.rejects()), progress.Number(n), s.named())
	}
	return b.String()
}

// account counts every record and link of a complete import, so that the numbers add up.
func (s *state) account(r hogapi.Receipt) string {
	number, shared := progress.Number, r.Skips[formats.SkipSharedDevice]+r.Skips[formats.SkipPlaceholder]
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
