// Package verify finds out whether the events of an import are in the project: it counts them by day and name, again
// and again where they may still arrive, compares their uuids with the uuids of the source where the counts differ, and
// remembers its findings in a folder. It has the texts of the queries and the checks of their answers. It makes no
// calls itself.
package verify

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/queries"
	"github.com/hogapi/hogapi/internal/watch"
)

// Import is the part of a receipt that Verify uses.
type Import struct {
	ID, Digest       string
	Rows             []Row
	Oldest, Newest   time.Time // of the acknowledged events
	LastAcknowledged time.Time // zero where it is not known
	Read             int64
	Acknowledged     int64
	Unconfirmed      int64
	IsOpen           bool  // some events were not settled
	Hidden           int64 // events that counting cannot find
}

// Event is an event of the source as the import has sent it.
type Event struct {
	ID       uuid.UUID // nil: it was not sent
	Name     string
	Time     time.Time
	IsHidden bool // counting cannot find it
}

// Project shows events. *[Queries] is one.
type Project interface {
	Count(ctx context.Context, s Scope) ([]CountRow, error)
	Find(ctx context.Context, ids []uuid.UUID, s Scope) ([]FoundRow, error)
	Sums(ctx context.Context, s Scope, digits int) ([]SliceRow, error)
	List(ctx context.Context, s Scope) ([]uuid.UUID, error)
	Read() (bytes int64, newest queries.Cost)
	PerRow(ofImport bool) int64
}

// Config configures Verify.
type Config struct {
	Import

	Project   Project
	Source    func(context.Context) iter.Seq2[Event, error] // nil: not known
	SourceID  string                                        // says which source it is
	Files     []string                                      // paths that the source reads
	Rejects   []string                                      // paths of reject files
	Dir       string                                        // empty: nothing is remembered
	EveryUUID bool
	Wait      bool
	Patience  time.Duration // 0: the default
	Now       func() time.Time
	Progress  func(Progress)
	OnWait    func(func(until time.Time)) // gets what to call while queries wait for the budget; may be nil
}

// Progress describes how far a Verify is.
type Progress struct {
	Look     int
	Step     string
	Done     int64
	Total    int64
	Acked    int64
	Seen     int64
	Proven   int
	Cells    int
	NextLook time.Time

	BytesRead  int64
	BytesToDo  int64
	BudgetLeft *int64
}

// String is the progress in a few words.
func (p Progress) String() string {
	text := fmt.Sprintf("look %d: %s", p.Look, p.Step)
	if p.Total > 0 || p.Done > 0 {
		text += " " + strconv.FormatInt(p.Done, 10)
	}
	if p.Total > 0 {
		text += fmt.Sprintf(" of %d", p.Total)
	}
	text += fmt.Sprintf(", seen %d of %d", p.Seen, p.Acked)
	if p.Proven > 0 && p.Proven < p.Cells {
		text += fmt.Sprintf(", %d of %d days and names proven, %d open", p.Proven, p.Cells, p.Cells-p.Proven)
	}
	if !p.NextLook.IsZero() {
		text += ", again at " + p.NextLook.UTC().Format(time.TimeOnly+" UTC")
	}
	return text
}

const defaultPatience = 24 * time.Hour

// Verify looks until there is a result. If comparing uuids fails, except by the end of ctx, it returns the
// result of the counts with the error. An *[ops.InputError] says why a Config cannot be compared.
func Verify(ctx context.Context, c Config) (*Result, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.Patience == 0 {
		c.Patience = defaultPatience
	}
	v, err := newVerifier(c)
	if err != nil {
		return nil, err
	}
	if c.OnWait != nil {
		c.OnWait(v.waits)
	}
	result, err := v.run(ctx)
	if closeErr := v.files.close(); err == nil {
		err = closeErr
	}
	return result, err
}

type verifier struct {
	Config

	table    *table
	files    folder
	memory   memory
	failed   map[int]string // why the newest look did not count a cell
	state    []State
	found    map[int]Found // by cell, where uuids were compared
	finds    findings
	rejected rejectedIDs
	began    time.Time
	isCheap  bool // cells are first compared with all events of their days and names
	every    bool // some events are foreign or have moved, so they can be in cells that are still short too
	notes    []string
}

const (
	firstLookPause   = time.Minute
	longestLookPause = 30 * time.Minute
	maxFailedLooks   = 10 // in a row
)

func newVerifier(c Config) (*verifier, error) {
	v := &verifier{
		Config: c, table: newTable(c.Rows, c.Oldest, c.Newest),
		found: map[int]Found{}, failed: map[int]string{},
	}
	v.state, v.began = make([]State, len(v.table.Cells)), c.Now()
	var err error
	if v.files, err = openFolder(c.Dir, c.Import); err != nil {
		return nil, err
	}
	if err := v.files.load(&v.memory); err != nil {
		return nil, errors.Join(err, v.files.close())
	}
	n := len(v.table.Cells)
	if len(v.memory.Cells) != n || len(v.memory.Grew) != n || len(v.memory.Look.Seen) != n {
		v.memory = memory{Cells: make([]standing, n), Grew: make([]bool, n)}
	}
	if len(v.memory.Proofs) != n || v.memory.Complete { // of an older release; or that question was answered, and this is another
		v.memory.Proofs, v.memory.Complete = make([]proof, n), false
	}
	v.isCheap = n > 0 && !v.EveryUUID && !slices.ContainsFunc(v.table.Cells, func(r Row) bool {
		return r.Sum.N != r.Acknowledged+r.Unconfirmed || !r.Sum.HasHash()
	})
	return v, nil
}

func (v *verifier) progress(p Progress) {
	p.Look = v.memory.Looks
	if !v.memory.Look.Ended {
		p.Look++
	}
	p.Acked, p.Seen, p.Cells = v.Acknowledged, v.seen(), len(v.table.Cells)
	open := v.open()
	p.Proven = p.Cells - len(open)
	p.BytesRead, p.BudgetLeft = v.read()
	for _, w := range v.memory.Look.Cheap {
		p.BytesToDo += v.rowsIn(w, open) * v.Project.PerRow(false)
	}
	for _, w := range v.memory.Look.Todo {
		p.BytesToDo += v.rowsIn(w, v.memory.Look.Wanted) * v.Project.PerRow(true)
	}
	v.Progress(p)
}

// read returns how many bytes this run has read, and how many are left of the budget, if that is known.
func (v *verifier) read() (bytes int64, left *int64) {
	bytes, newest := v.Project.Read()
	if newest.IsKnown {
		left = &newest.BudgetLeft
	}
	return bytes, left
}

// waits says that the verification waits until the project's budget of bytes has room.
func (v *verifier) waits(until time.Time) {
	v.progress(Progress{Step: "wait for the read budget", NextLook: until})
}

func (v *verifier) seen() (n int64) {
	for _, c := range v.table.Seen {
		n += c.Seen
	}
	return n
}

func (v *verifier) run(ctx context.Context) (*Result, error) {
	pause, failures, compared := firstLookPause, 0, int64(-1)
	for {
		if err := v.look(ctx); err != nil {
			return nil, v.ended(ctx, err)
		}
		v.judge()
		if failures++; len(v.failed) == 0 {
			failures = 0
		}
		isLast := !v.Wait || failures == maxFailedLooks
		if seen := v.seen(); isLast || v.isSettled() && (seen != compared || !v.canArrive()) {
			err := v.explain(ctx)
			switch {
			case err != nil && ctx.Err() != nil:
				return nil, v.ended(ctx, err)
			case err != nil:
				v.forgetFinds(err)
				return v.result(), err
			case isLast || !v.mayArrive():
				result := v.result()
				v.memory.Complete = result.State == Complete
				return result, v.save()
			}
			compared = seen // with the same count, comparing again shows nothing else
		}
		v.progress(Progress{Step: "wait", NextLook: v.Now().Add(pause)})
		if !watch.Sleep(ctx, pause) {
			return nil, v.ended(ctx, context.Cause(ctx))
		}
		pause = min(2*pause, longestLookPause)
	}
}

// forgetFinds drops the findings after comparing uuids has failed, and keeps the counts.
func (v *verifier) forgetFinds(err error) {
	why := "the uuids were not compared: " + mask.Clean(errtext.WithoutPrefix(err).Error())
	v.found, v.finds = map[int]Found{}, findings{cells: make([]cellFinds, len(v.table.Cells))}
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
	if v.Dir != "" {
		text = "hogapi: verify: stopped, and continues with the same Dir: %w"
	}
	if cause := context.Cause(ctx); !errors.Is(err, cause) {
		err = cause
	}
	return fmt.Errorf(text, err)
}

// isSettled reports whether no further look is needed: it would show nothing else, or comparing uuids can
// settle the cells.
func (v *verifier) isSettled() bool {
	if v.failed[noCell] != "" {
		return false
	}
	for i, state := range v.state {
		_, failed := v.failed[i]
		isUnconfirmed := state == CompleteUnconfirmed && v.sight(i).canArrive()
		if failed || state == StillArriving && !v.mayBeShared(i) || isUnconfirmed {
			return false
		}
	}
	return true
}

// mayBeShared reports whether all events of a cell may have arrived, some with an equal uuid. Only the
// source can tell.
func (v *verifier) mayBeShared(i int) bool { return v.Source != nil && v.sight(i).mayShareUUIDs() }

// canArrive reports whether absent events of some cell may still arrive.
func (v *verifier) canArrive() bool {
	for i := range v.table.Cells {
		if v.sight(i).canArrive() {
			return true
		}
	}
	return false
}

// mayArrive reports whether comparing uuids has found absent events that may still arrive.
func (v *verifier) mayArrive() bool {
	for i, f := range v.finds.cells {
		if f.arriving > 0 || f.unconfirmed > 0 && v.sight(i).canArrive() {
			return true
		}
	}
	return false
}
