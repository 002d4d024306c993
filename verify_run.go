package hogapi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/hogapi/hogapi/internal/arrival"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/watch"
)

// verifier is one Verify.
type verifier struct {
	job

	options  VerifyOptions
	receipt  Receipt
	table    *arrival.Table
	files    verifyFiles
	memory   verifyMemory
	failed   map[int]string // why the newest look did not count a cell
	state    []arrival.State
	found    map[int]arrival.Found // by cell, where uuids were compared
	finds    findings
	rejected rejectedIDs
	every    bool // some events are foreign or have moved, so counts can be right by chance
	notes    []string
}

// verifyMemory is what a folder remembers of the looks.
type verifyMemory struct {
	First     time.Time          `json:"first"` // look
	Looks     int                `json:"looks"`
	Cells     []arrival.Standing `json:"cells"`
	Grew      []bool             `json:"grew"` // since the look before
	Look      verifyLook         `json:"look"` // the newest
	Comparing bool               `json:"comparing"`
	Sorted    string             `json:"sorted,omitempty"` // of which source the sorted file is
}

// verifyLook is a look, which may be under way.
type verifyLook struct {
	Began   time.Time        `json:"began"`
	Ended   bool             `json:"ended"`
	Beyond  bool             `json:"beyond,omitempty"` // the time before and after all events was counted too
	Todo    []arrival.Window `json:"todo"`
	Done    int64            `json:"done"` // windows
	Seen    []arrival.Counts `json:"seen"` // by cell
	Outside []outsideCount   `json:"outside"`
	Left    arrival.Counts   `json:"left"`
	Failed  map[int]string   `json:"failed,omitempty"`
	Notes   []string         `json:"notes,omitempty"`
}

type outsideCount struct {
	arrival.Key
	arrival.Counts
}

const (
	firstLookPause   = time.Minute
	longestLookPause = 30 * time.Minute
	mostFailedLooks  = 10             // in a row
	freshLook        = time.Hour      // one that was ended before is not continued
	freshComparison  = 24 * time.Hour // neither is the comparison after an older look
)

func newVerifier(c *Client, r Receipt, o VerifyOptions) (*verifier, error) {
	rows := make([]arrival.Row, len(r.Days))
	for i, d := range r.Days {
		rows[i] = arrival.Row{Key: arrival.Key{Period: d.Day, Name: d.Event}, Acknowledged: d.Acknowledged, Unsure: d.Unsure}
	}
	v := &verifier{
		job: job{client: c, id: r.ID}, options: o, receipt: r, table: arrival.NewTable(rows, r.Oldest, r.Newest),
		found: map[int]arrival.Found{}, failed: map[int]string{},
	}
	v.state = make([]arrival.State, len(v.table.Cells))
	var err error
	if v.files, err = openVerifyFiles(o.Dir, r); err != nil {
		return nil, err
	}
	if err := v.files.load(&v.memory); err != nil {
		return nil, errors.Join(err, v.close())
	}
	if n := len(v.table.Cells); len(v.memory.Cells) != n || len(v.memory.Grew) != n || len(v.memory.Look.Seen) != n {
		v.memory = verifyMemory{Cells: make([]arrival.Standing, n), Grew: make([]bool, n)}
	}
	return v, nil
}

func (v *verifier) close() error { return v.files.close() }

func (v *verifier) now() time.Time { return v.client.core.now() }

func (v *verifier) progress(ctx context.Context, p VerifyProgress) {
	v.client.core.hook(ctx, v.options.OnProgress != nil, func() {
		p.Look, p.Acked = v.memory.Looks, v.receipt.Acknowledged
		if !v.memory.Look.Ended {
			p.Look++
		}
		p.Seen = v.seen()
		v.options.OnProgress(p)
	})
}

// seen is how many events the newest look has seen so far.
func (v *verifier) seen() (n int64) {
	for _, c := range v.table.Seen {
		n += c.Seen
	}
	return n
}

// run looks until there is a result. With an error, it is what the counts show, once there are counts.
func (v *verifier) run(ctx context.Context) (*Verification, error) {
	pause, failures, compared := firstLookPause, 0, int64(-1)
	for {
		if err := v.look(ctx); err != nil {
			return nil, v.ended(ctx, err)
		}
		v.judge()
		if failures++; len(v.failed) == 0 {
			failures = 0
		}
		isLast := !v.options.Wait || failures == mostFailedLooks
		if seen := v.seen(); isLast || v.isSettled() && (seen != compared || !v.canArrive()) {
			err := v.explain(ctx)
			switch {
			case err != nil && ctx.Err() != nil:
				return nil, v.ended(ctx, err)
			case err != nil:
				v.forgetFinds(err)
				return v.result(ctx), err
			case isLast || !v.mayArrive():
				return v.result(ctx), nil
			}
			compared = seen // with the same count, comparing again shows nothing else
		}
		v.progress(ctx, VerifyProgress{Step: "wait", NextLook: v.now().Add(pause)})
		if !watch.Sleep(ctx, pause) {
			return nil, v.ended(ctx, context.Cause(ctx))
		}
		pause = min(2*pause, longestLookPause)
	}
}

// forgetFinds leaves what the counts show, after comparing uuids has failed.
func (v *verifier) forgetFinds(err error) {
	why := "its uuids were not compared: " + mask.Clean(bare(err).Error())
	v.found, v.finds = map[int]arrival.Found{}, findings{cells: make([]cellFinds, len(v.table.Cells))}
	for i := range v.finds.cells {
		if v.isSuspect(i) {
			v.finds.cells[i].why = why
		}
	}
}

// ended is the error of a Verify without a result.
func (v *verifier) ended(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	text := "hogapi: verify: stopped: %w"
	if v.options.Dir != "" {
		text = "hogapi: verify: stopped, and continues with the same Dir: %w"
	}
	if cause := context.Cause(ctx); !errors.Is(err, cause) {
		err = cause
	}
	return fmt.Errorf(text, err)
}

// look counts all windows once. One that was ended a short time ago is continued.
func (v *verifier) look(ctx context.Context) error {
	look := &v.memory.Look
	switch age := v.now().Sub(look.Began); {
	case v.memory.Comparing && age < freshComparison:
		v.restore()
		return nil
	case !look.Ended && !look.Began.IsZero() && age < freshLook:
		v.restore()
	default:
		v.table.Begin()
		v.failed, v.notes = map[int]string{}, nil
		v.memory.Comparing = false
		v.memory.Look = verifyLook{Began: v.now(), Todo: v.table.Windows()}
	}
	for len(look.Todo) > 0 {
		if err := v.countNext(ctx, look); err != nil {
			return err
		}
		v.progress(ctx, VerifyProgress{Step: "count", Done: look.Done, Total: look.Done + int64(len(look.Todo))})
		if err := v.save(); err != nil {
			return err
		}
	}
	v.endLook()
	return v.save()
}

// restore takes up the look that is remembered.
func (v *verifier) restore() {
	look := &v.memory.Look
	v.table.Begin()
	copy(v.table.Seen, look.Seen)
	for _, o := range look.Outside {
		v.table.Outside[o.Key] = o.Counts
	}
	v.table.Left, v.notes, v.failed = look.Left, look.Notes, map[int]string{}
	maps.Copy(v.failed, look.Failed)
}

func (v *verifier) save() error {
	look := &v.memory.Look
	look.Seen, look.Left, look.Failed, look.Notes, look.Outside = v.table.Seen, v.table.Left, v.failed, v.notes, nil
	for _, k := range v.table.SortedOutside() {
		look.Outside = append(look.Outside, outsideCount{k, v.table.Outside[k]})
	}
	return v.files.save(&v.memory)
}

// countNext counts the next window, or puts its halves in its place.
func (v *verifier) countNext(ctx context.Context, look *verifyLook) error {
	w := look.Todo[0]
	rows, err := v.count(ctx, w)
	halves := w.Halves()
	switch {
	case err == nil:
		for _, r := range rows {
			v.table.Add(w, r.day, r.event, r.Counts)
		}
	case ctx.Err() != nil || isHopeless(err):
		return err
	case isTooMuch(err) && halves != nil:
		look.Todo = append(halves, look.Todo[1:]...)
		return nil
	case isUnreachable(err): // so are all others
		for _, w := range look.Todo {
			v.notCounted(w, err)
		}
		look.Todo = nil
		return nil
	default:
		v.notCounted(w, err)
	}
	look.Todo = look.Todo[1:]
	look.Done++
	return nil
}

// isUnreachable reports whether the service was not reached at all.
func isUnreachable(err error) bool {
	transport, ok := errors.AsType[*TransportError](err)
	return ok && !transport.Sent
}

// notCounted notes that the count of a window has failed.
func (v *verifier) notCounted(w arrival.Window, err error) {
	cells := v.table.Within(w)
	for _, i := range cells {
		v.failed[i] = "the count failed: " + mask.Clean(bare(err).Error())
	}
	if len(cells) == 0 {
		v.note("%v, where the import has no events, could not be counted: %v", w, bare(err))
	}
}

func (v *verifier) note(format string, args ...any) {
	v.notes = append(v.notes, mask.Clean(fmt.Sprintf(format, args...)))
}

// endLook compares the look with the one before.
func (v *verifier) endLook() {
	now := v.now()
	if v.memory.Looks++; v.memory.First.IsZero() {
		v.memory.First = now
	}
	for i := range v.table.Cells {
		v.memory.Grew[i] = false
		if _, failed := v.failed[i]; !failed {
			v.memory.Cells[i], v.memory.Grew[i] = v.memory.Cells[i].Next(v.table.Seen[i].Seen, now)
		}
	}
	v.memory.Look.Ended = true
}

// judge says what the counts of each cell mean.
func (v *verifier) judge() {
	for i := range v.table.Cells {
		v.state[i] = arrival.Judge(v.sight(i))
	}
}

// sight is what is known of a cell.
func (v *verifier) sight(i int) arrival.Sight {
	now, since := v.now(), v.receipt.LastAcknowledged
	if since.IsZero() { // of an older release
		since = v.memory.First
	}
	row, standing := v.table.Cells[i], v.memory.Cells[i]
	_, failed := v.failed[i]
	return arrival.Sight{
		Acknowledged: row.Acknowledged, Unsure: row.Unsure, Seen: v.table.Seen[i].Seen, Copies: v.table.Seen[i].Copies, Hidden: v.hidden(),
		Failed: failed, Uncountable: arrival.IsUncountable(row.Name), Unfinished: v.receipt.Pending > 0,
		Grew: v.memory.Grew[i], Looks: standing.Looks, Stood: now.Sub(standing.Since),
		Quiet: now.Sub(since), Patience: v.options.Patience,
	}
}

// hidden is how many events of the import counting cannot find.
func (v *verifier) hidden() int64 { return v.receipt.Warnings[WarnOwnJobID] }

// isSettled reports whether a further look would show nothing else.
func (v *verifier) isSettled() bool {
	for i, state := range v.state {
		_, failed := v.failed[i]
		isUnsure := state == arrival.CompleteUnsure && v.sight(i).CanArrive()
		if failed || state == arrival.Arriving || isUnsure {
			return false
		}
	}
	return true
}

// canArrive reports whether what is absent from some cell may still come.
func (v *verifier) canArrive() bool {
	for i := range v.table.Cells {
		if v.sight(i).CanArrive() {
			return true
		}
	}
	return false
}

// mayArrive reports whether comparing uuids has shown events as absent that may still come.
func (v *verifier) mayArrive() bool {
	for i, f := range v.finds.cells {
		if f.arriving > 0 || f.unsure > 0 && v.sight(i).CanArrive() {
			return true
		}
	}
	return false
}
