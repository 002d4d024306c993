package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/coverage"
	intervals "github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/durable"
)

type watch struct {
	*app

	metrics string
	every   time.Duration
	cache   string
	accept  string
	webhook string
	once    bool
}

func newWatchCommand(a *app) *cobra.Command {
	w := &watch{app: a}
	cmd := &cobra.Command{
		Use: "watch", Short: "Serve metrics of all exports for Prometheus", Args: cobra.NoArgs,
		Long: `watch polls all exports once a minute and serves metrics for Prometheus: how far
each export is behind, intervals that are not exported, stuck runs, failures, the
number of failures left until the service pauses the export, and more. A scrape
is answered from memory.

A poll makes one call for 100 exports. watch reads the runs of an export only
after a failure, a hole, or a change of its settings, and at the start the runs
of the last 30 days. It keeps its state in the cache, so a restart reads only new
runs.

--webhook posts one message for each change: a gap began, grew, shrank or
closed; an export was paused by the service, is stuck or behind, or recovered.
The body is JSON: text, which Slack and Mattermost show, and event, export_id,
export, intervals and at. A failed message is sent again after the next poll; a
restart does not repeat messages. Rules for alerts and a dashboard for Grafana:
https://github.com/hogapi/hogapi/tree/main/cmd/hogexport`,
		Example: "  hogexport watch --metrics :9464",
		RunE:    func(cmd *cobra.Command, _ []string) error { return w.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&w.metrics, "metrics", ":9464", "serve metrics at this `ADDRESS`; only this machine can reach it unless it names a host")
	f.DurationVar(&w.every, "every", time.Minute, "the `TIME` between two polls, such as 1m")
	f.StringVar(&w.accept, "accept", "", "a `FILE` of known gaps, which do not count: see hogexport gaps --help")
	f.BoolVar(&w.once, "once", false, "poll once, print the metrics, and exit")
	f.StringVar(&w.webhook, "webhook", "", "post a message for each change to this `URL`, such as a Slack or Mattermost webhook; it is a secret, so better set the variable")
	w.bindCache(cmd, &w.cache)
	return cmd
}

func (w *watch) run(ctx context.Context) error {
	const shortest = 10 * time.Second
	if w.every < shortest {
		return shell.UsageError(fmt.Sprintf("--every %v is too short", w.every), "give 10s or more: all programs of a team share the service's limits")
	}
	known, err := readAccepted(w.accept)
	if err != nil {
		return err
	}
	m := &monitor{watched: map[uuid.UUID]*watched{}, known: known, now: time.Now}
	client, err := w.client(hogapi.WithHooks(hogapi.Hooks{OnCall: func(_ context.Context, r hogapi.CallRecord) {
		if !r.Ended {
			m.calls.Add(1)
		}
	}}), hogapi.WithLogger(w.Logger()))
	if err != nil {
		return err
	}
	m.client, m.store = client, w.cacheOf(w.cache)
	if w.webhook != "" {
		if m.hook, err = newWebhook(w.webhook); err != nil {
			return err
		}
	}
	m.load()
	if w.once {
		if err := m.look(ctx); err != nil {
			return err
		}
		if err := m.tell(ctx); err != nil {
			return &shell.Fault{Code: shell.CodeOther, Text: err.Error(), Todo: "check HOGEXPORT_WEBHOOK; unsent messages follow after the next poll", Err: err}
		}
		m.write(w.Out)
		return nil
	}
	server, err := shell.ServeMetrics(ctx, w.metrics, m.write)
	if err != nil {
		return err
	}
	defer server.Close()
	w.Note("metrics are at " + server.Address)
	for {
		if err := m.look(ctx); err != nil && ctx.Err() == nil {
			f := w.explain(err)
			w.Warn(f.Text)
			if f.Code == shell.CodeProject && m.looked.IsZero() {
				return err // it never worked: a wrong key or project needs a person
			}
		} else if err := m.tell(ctx); err != nil && ctx.Err() == nil {
			w.Warn(err.Error() + "; unsent messages follow after the next poll")
		}
		select {
		case <-ctx.Done():
			return nil // an ordinary end
		case <-time.After(w.every):
		}
	}
}

// monitor has the state of all exports, for scrapes.
type monitor struct {
	client *hogapi.Client
	store  cache
	known  []acceptance // gaps that do not count
	now    func() time.Time
	calls  atomic.Int64
	hook   *webhook // nil: nobody is notified

	mu      sync.Mutex
	watched map[uuid.UUID]*watched
	looked  time.Time        // the last good look
	errors  map[string]int64 // by kind
}

// watched is an export, and everything that is known about its past.
type watched struct {
	Status   status      `json:"status"`
	Settings string      `json:"settings"`
	Covered  time.Time   `json:"looked_to"` // up to where each interval was looked at, or its run is under way
	UnderWay time.Time   `json:"under_way"` // since when the oldest run has been under way
	Exported time.Time   `json:"exported"`  // the end of the newest interval that is exported
	Open     []interval  `json:"open"`      // intervals before Covered that are not exported
	Failed   time.Time   `json:"failed"`    // the newest change of a failed run that was counted
	ReadAt   time.Time   `json:"read_at"`   // when the runs were read
	Failures []time.Time `json:"failures"`  // of the runs that count towards a pause, when they were read
	Told     notified    `json:"told"`
}

// interval is an interval with its state.
type interval struct {
	Start time.Time      `json:"start"`
	End   time.Time      `json:"end"`
	State coverage.State `json:"state"`
}

// look reads the list of exports, and the runs of exports of which the list does not tell enough.
func (m *monitor) look(ctx context.Context) error {
	seen := map[uuid.UUID]bool{}
	for e, err := range m.client.BatchExports.All(ctx, &hogapi.ListOptions{Limit: 100}) {
		if err == nil {
			err = m.see(ctx, &e)
		}
		if err != nil {
			m.failed(err)
			return err
		}
		seen[e.ID] = true
	}
	m.mu.Lock()
	for id := range m.watched {
		if !seen[id] {
			delete(m.watched, id) // it was deleted
		}
	}
	m.looked = m.now()
	m.mu.Unlock()
	m.save()
	return nil
}

func (m *monitor) failed(err error) {
	kind := "other"
	if answer, ok := errors.AsType[*hogapi.APIError](err); ok {
		kind = strconv.Itoa(answer.StatusCode)
	} else if _, ok := errors.AsType[*hogapi.TransportError](err); ok {
		kind = "network"
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.errors == nil {
		m.errors = map[string]int64{}
	}
	m.errors[kind]++
}

// see looks at an export in the list.
func (m *monitor) see(ctx context.Context, e *hogapi.BatchExport) error {
	now := m.now().UTC()
	m.mu.Lock()
	x := m.watched[e.ID]
	m.mu.Unlock()
	next := &watched{Settings: settingsOf(e)}
	if x != nil && x.Settings == next.Settings {
		*next = *x
	}
	if x != nil {
		next.Told = x.Told
	}
	next.Status = statusOf(e, e.LatestRuns, now)
	if !next.extend(e, now) {
		if err := m.read(ctx, e, next); err != nil {
			return err
		}
	}
	if to := next.Status.ExportedTo; to != nil && to.After(next.Exported) {
		next.Exported = *to
	}
	next.Status.Failures = max(next.Status.Failures, next.recentFailures(e, now))
	next.Status.FailuresLeft = max(0, intervals.PauseAfter-next.Status.Failures)
	m.mu.Lock()
	m.watched[e.ID] = next
	m.mu.Unlock()
	return nil
}

// extend takes the newest runs into account, and reports whether nothing else has to be read.
func (x *watched) extend(e *hogapi.BatchExport, now time.Time) bool {
	if x.Covered.IsZero() {
		return false
	}
	runs := slices.Clone(e.LatestRuns)
	slices.SortFunc(runs, func(a, b hogapi.Run) int { return a.DataIntervalEnd.Compare(b.DataIntervalEnd) })
	isTold := true
	for i := range runs {
		run := &runs[i]
		switch {
		case isBad(run) && run.LastUpdatedAt.After(x.Failed), run.Backfill != nil && run.Status.IsTerminal() && run.LastUpdatedAt.After(x.ReadAt):
			isTold = false
		case isBad(run) || run.Status != hogapi.RunStatusCompleted || !run.DataIntervalEnd.After(x.Covered) || run.DataIntervalStart == nil:
		case !run.DataIntervalStart.After(x.Covered):
			x.Covered = run.DataIntervalEnd.UTC()
		case run.LastUpdatedAt.After(x.ReadAt): // there is a hole before it
			isTold = false
		}
	}
	const dueEvery, openEvery = 15 * time.Minute, 6 * time.Hour // a repair shows among the newest runs
	isDue := !e.Paused && now.After(x.Covered.Add(patience(string(e.Interval))))
	hasOpen := len(x.Open) > 0 || e.Paused
	isOlder := !x.followList(e.LatestRuns)
	stuckAt := x.UnderWay.Add(stuckAfter(string(e.Interval)))
	if isOlder && now.After(stuckAt) && !x.ReadAt.After(stuckAt) {
		return false // it may have ended since
	}
	if (isDue || isOlder) && now.Sub(x.ReadAt) > dueEvery || hasOpen && now.Sub(x.ReadAt) > openEvery {
		return false
	}
	return isTold
}

// followList finds the oldest run under way among the newest runs. It reports false if newer runs have pushed the
// oldest one out of the list, so that its state is unknown.
func (x *watched) followList(newest []hogapi.Run) bool {
	if len(newest) == 0 {
		return x.UnderWay.IsZero()
	}
	first := slices.MinFunc(newest, func(a, b hogapi.Run) int { return a.CreatedAt.Compare(b.CreatedAt) }).CreatedAt
	if !x.UnderWay.IsZero() && x.UnderWay.Before(first) {
		return false
	}
	x.UnderWay = time.Time{}
	for i := range newest {
		if run := &newest[i]; !run.Status.IsTerminal() && (x.UnderWay.IsZero() || run.CreatedAt.Before(x.UnderWay)) {
			x.UnderWay = run.CreatedAt.UTC()
		}
	}
	return true
}

// stuckSince returns since when the oldest run has been under way, if it should be over.
func (x *watched) stuckSince(now time.Time) (since time.Time, isStuck bool) {
	return x.UnderWay, !x.UnderWay.IsZero() && now.Sub(x.UnderWay) > stuckAfter(x.Status.Interval)
}

// isBad reports whether a run is over and has not exported its interval.
func isBad(run *hogapi.Run) bool {
	if run.RecordsFailed != nil && *run.RecordsFailed > 0 {
		return run.Status.IsTerminal()
	}
	return run.Status.IsTerminal() && run.Status != hogapi.RunStatusCompleted
}

// patience is how long after the last covered interval the next one is due to be exported.
func patience(interval string) time.Duration {
	const grace = time.Hour
	step, _ := intervals.Step(interval)
	return step + intervals.LongestDelay(interval) + grace
}

const watchedDays = 30

// read reads the coverage of an export.
func (m *monitor) read(ctx context.Context, e *hogapi.BatchExport, x *watched) error {
	now := m.now().UTC()
	c, err := m.store.coverage(ctx, m.client, e, now.AddDate(0, 0, -watchedDays))
	if err != nil {
		return err
	}
	x.ReadAt, x.Open, x.Covered, x.Failures = now, nil, c.From, nil
	x.UnderWay = underWaySince(c, func(s coverage.State) bool { return s == coverage.StateRunning || s.IsGap() })
	for _, i := range c.Intervals {
		switch {
		case i.State.IsGap() && acceptedBy(m.known, c, coverage.Gap{Start: i.Start, End: i.End}) == nil:
			x.Open = append(x.Open, interval{i.Start, i.End, i.State})
		case i.State == coverage.StateRunning || i.State == coverage.StateNotDue:
			continue
		}
		if i.End.After(x.Covered) {
			x.Covered = i.End
		}
	}
	if to, _ := newestExported(c); to.After(x.Exported) {
		x.Exported = to
	}
	for i := range e.LatestRuns {
		if run := &e.LatestRuns[i]; isBad(run) && run.LastUpdatedAt.After(x.Failed) {
			x.Failed = run.LastUpdatedAt.UTC()
		}
	}
	if x.Status.IsAtLeast {
		return m.countFailures(ctx, e, x)
	}
	return nil
}

// countFailures reads the runs that count towards a pause, where the list of exports does not have all of them.
func (m *monitor) countFailures(ctx context.Context, e *hogapi.BatchExport, x *watched) error {
	page, err := m.client.Runs.List(ctx, e.ID, &hogapi.RunListOptions{Ordering: hogapi.RunsNewestFirst})
	if err != nil {
		return err
	}
	for _, run := range newestUpdates(page.Results, string(e.Interval)) {
		if run.Status == hogapi.RunStatusFailed {
			x.Failures = append(x.Failures, run.LastUpdatedAt.UTC())
		}
	}
	return nil
}

// recentFailures counts the failures that may still count towards a pause: the service looks at a number of newest
// runs, which take about as many intervals.
func (x *watched) recentFailures(e *hogapi.BatchExport, now time.Time) (n int) {
	step, _ := intervals.Step(string(e.Interval))
	for _, at := range x.Failures {
		if now.Sub(at) < time.Duration(intervals.PauseWindow(string(e.Interval)))*step {
			n++
		}
	}
	return n
}

func (m *monitor) path() string { return filepath.Join(m.store.folder, "watch.json") }

// save keeps the state. A state that cannot be kept costs calls after a restart, and nothing else.
func (m *monitor) save() {
	m.mu.Lock()
	text, err := json.Marshal(m.watched)
	m.mu.Unlock()
	if err == nil && m.store.folder != "" && makeFolder(m.store.folder) == nil {
		_ = durable.Replace(durable.OS{}, m.path(), text)
	}
}

func (m *monitor) load() {
	text, err := durable.Read(durable.OS{}, m.path())
	if err != nil {
		return
	}
	kept := map[uuid.UUID]*watched{}
	if json.Unmarshal(text, &kept) == nil {
		m.watched = kept
	}
}
