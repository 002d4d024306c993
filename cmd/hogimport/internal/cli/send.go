package cli

import (
	"cmp"
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
	"github.com/hogapi/hogapi/cmd/hogimport/internal/progress"
	"github.com/hogapi/hogapi/formats"
)

// send imports a source with the state in a folder, which the caller has locked. Ctrl-C finishes what is under way.
func (a *app) send(ctx context.Context, client *hogapi.Client, s *state, source hogapi.Source, o hogapi.ImportOptions, metricsAt string) (hogapi.Receipt, error) {
	meter := a.meter()
	defer meter.End()
	w := &watcher{state: s, meter: meter}
	if metricsAt != "" {
		server, err := serveMetrics(ctx, metricsAt, s.kept.ID)
		if err != nil {
			return hogapi.Receipt{}, err
		}
		defer server.close()
		w.metrics = server
		meter.Say("Metrics are at " + server.address + ".")
	}
	if before, found, err := s.progress(); err == nil && found && before.Ended == "" {
		w.killed = &before
	}
	if err := s.saveProgress(snapshot{At: time.Now().UTC()}); err != nil {
		return hogapi.Receipt{}, err
	}
	asked, stop := context.WithCancel(context.Background())
	defer stop()
	defer a.stop.first(func() {
		meter.Say("Finishing what is under way. Press Ctrl-C again to stop immediately; either way you can resume.")
		stop()
	})()
	watchSorting(source, meter)
	watchLinks(source, meter, s)
	o.Checkpoint, o.Rejects = hogapi.FileCheckpoint(s.checkpoint()), hogapi.RejectFile(s.rejects())
	o.Total, o.OnProgress = s.kept.Total, w.update
	receipt, err := client.Import(ctx, stoppable{source, asked}, &o)
	return receipt, w.end(receipt, err)
}

// watcher passes on what an import says of itself.
type watcher struct {
	state   *state
	meter   *progress.Meter
	metrics *metrics // nil: not asked for

	mu     sync.Mutex
	saved  time.Time
	killed *snapshot // how far the last run was, if it was killed, until that is said
}

const saveInterval = 2 * time.Second

func (w *watcher) update(stats hogapi.Stats) {
	w.meter.Update(stats)
	if w.metrics != nil {
		w.metrics.set(stats)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.killed != nil && (stats.Read > 0 || stats.Acknowledged > 0) {
		w.meter.Say(wrapped(afterKill(w.killed.Acknowledged - stats.Acknowledged)))
		w.killed = nil
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

// afterKill says what a killed run means for events whose answers it had, as far as is known, but not yet noted.
func afterKill(n int64) string {
	const once = "Each keeps its uuid, so PostHog stores it once."
	if n > 0 {
		return fmt.Sprintf("The last run was killed: at least %s that had arrived are sent again. %s", counted(n, "event"), once)
	}
	return "The last run was killed: events that were under way are sent again. " + once
}

// end keeps the result, and returns the error of the import. One that has not begun leaves an earlier result as it is.
func (w *watcher) end(r hogapi.Receipt, err error) error {
	if r.Source == "" {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	p := snapshot{At: time.Now().UTC(), Read: r.Read, Acknowledged: r.Acknowledged, Rejected: r.Rejected, Unconfirmed: r.Unconfirmed, Skipped: r.Skipped, Ended: isComplete}
	if err != nil {
		p.Ended = endedBy(err)
	}
	if unsettled, ok := errors.AsType[*hogapi.UnsettledError](err); ok {
		p.Doubtful = int64(unsettled.Count - unsettled.NeverSent)
	}
	kept := errors.Join(w.state.saveReceipt(r), w.state.saveProgress(p))
	if err == nil && kept != nil {
		return &fault{code: codeStopped, err: kept, text: "all was sent, but the result cannot be written: " + cause(kept).Error(),
			todo: "make room in " + w.state.dir + " and run the same command again: it sends nothing twice"}
	}
	return err
}

// endedBy is why an import has ended, in a word.
func endedBy(err error) string {
	if errors.Is(err, errInterrupted) {
		return isInterrupted
	}
	if stop, ok := errors.AsType[*hogapi.StopError](err); ok {
		return string(stop.Reason)
	}
	return "stopped"
}

// hasSentNothing reports whether the last run ended by itself and the service can have none of the import's events.
func (s *state) hasSentNothing() bool {
	p, found, err := s.progress()
	return err == nil && found && p.Ended != "" && p.Acknowledged+p.Unconfirmed+p.Doubtful == 0
}

// wasInterrupted reports whether the last run was ended by Ctrl-C.
func (s *state) wasInterrupted() bool {
	p, found, err := s.progress()
	return err == nil && found && p.Ended == isInterrupted
}

// reset forgets the place and the rejects of runs that sent nothing, so that the files are read from their start. The
// place goes first: rejects without it are only written again. What was sorted stays if the files are read as before.
func (s *state) reset() error {
	names := []string{s.checkpoint(), s.rejects(), s.receiptFile()}
	if s.isChanged {
		names = append(names, s.file("sorted"))
	}
	for _, name := range names {
		if err := os.RemoveAll(name); err != nil {
			return stateFault(s.dir, err)
		}
	}
	return nil
}

// checkEmpty refuses a folder for a new import that has files of its names: they are of somebody else.
func (s *state) checkEmpty() error {
	for _, name := range []string{s.checkpoint(), s.rejects(), s.receiptFile(), s.file("sorted")} {
		if _, err := os.Lstat(name); err == nil {
			return usageError(name+" is there already, and no import of hogimport has made it", "give a new folder with --state DIR")
		}
	}
	return nil
}

// watchSorting shows how far a sorting is.
func watchSorting(source hogapi.Source, meter *progress.Meter) {
	switch s := source.(type) {
	case *formats.SortedSource:
		s.OnProgress = func(p formats.SortProgress) {
			text := "sorting: " + progress.Number(p.Read) + " read"
			if p.Merged > 0 {
				text = fmt.Sprintf("sorting: %s of %s merged", progress.Number(p.Merged), progress.Number(p.Read))
			}
			meter.Phase(text)
		}
	case interface{ Unwrap() []hogapi.Source }:
		for _, inner := range s.Unwrap() {
			watchSorting(inner, meter)
		}
	}
}

// resultText is the result of an import that is complete. What was rejected is on the last line.
func resultText(s *state, r hogapi.Receipt) string {
	var b strings.Builder
	fmt.Fprintln(&b, wrapped(fmt.Sprintf("Complete: %s of %s records acknowledged, as the import %s.", progress.Number(r.Acknowledged), progress.Number(r.Read), s.kept.ID)))
	if !r.Oldest.IsZero() {
		fmt.Fprintf(&b, "  events from %s to %s (UTC)\n", r.Oldest.UTC().Format(time.DateTime), r.Newest.UTC().Format(time.DateTime))
	}
	if n := s.kept.Links; n > 0 {
		fmt.Fprintf(&b, "  with the events that have joined %s\n", counted(n, "pair")+" of ids")
	}
	for _, reason := range slices.Sorted(maps.Keys(r.Skips)) {
		fmt.Fprintln(&b, wrapped("  "+skipText(s.kept.Input.Format, reason, r.Skips[reason], s.kept.Skipped[reason])))
	}
	for _, reason := range slices.SortedFunc(maps.Keys(r.Rejects), func(x, y hogapi.Reason) int { return cmp.Compare(r.Rejects[y], r.Rejects[x]) }) {
		fmt.Fprintf(&b, "  rejected, %s: %s\n", reason, progress.Number(r.Rejects[reason]))
	}
	for _, warning := range slices.Sorted(maps.Keys(r.Warnings)) {
		if !s.kept.Input.Sort || !isOfOrder(warning) {
			fmt.Fprintln(&b, wrapped("  "+warningText(warning, r.Warnings[warning])))
		}
	}
	if _, err := os.Stat(s.file("sorted")); err == nil {
		fmt.Fprintln(&b, wrapped("Remove "+s.file("sorted")+" once it is verified: it holds the sorted events."))
	}
	fmt.Fprintf(&b, "In a few hours, check that all of it is there:\n  hogimport verify --state %s\n", s.dir)
	if n := r.Rejected + r.Unconfirmed; n > 0 {
		b.WriteString(s.fixText(n))
	}
	return b.String()
}
