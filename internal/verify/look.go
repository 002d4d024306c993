package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/queries"
)

// memory is the state of the looks, which a folder keeps.
type memory struct {
	First     time.Time  `json:"first"` // look
	Looks     int        `json:"looks"`
	Cells     []standing `json:"cells"`
	Grew      []bool     `json:"grew"` // since the look before
	Proofs    []proof    `json:"proofs,omitempty"`
	Complete  bool       `json:"complete,omitempty"` // it was said
	Look      lookState  `json:"look"`               // the newest
	Comparing bool       `json:"comparing"`
	Sorted    string     `json:"sorted,omitempty"` // of which source the sorted file is
}

// lookState is a look, which may be under way.
type lookState struct {
	Began   time.Time      `json:"began"`
	Ended   bool           `json:"ended"`
	Beyond  bool           `json:"beyond,omitempty"` // the time before and after all events was counted too
	Cheap   []Window       `json:"cheap,omitempty"`  // to be read without the import's ID
	All     map[int]Counts `json:"all,omitempty"`    // by cell: what they show
	Wanted  []int          `json:"wanted"`           // cells that are read by the import's ID; nil: all
	Todo    []Window       `json:"todo"`
	Done    int64          `json:"done"` // windows
	Seen    []Counts       `json:"seen"` // by cell
	Outside []outsideCount `json:"outside"`
	Left    Counts         `json:"left"`
	Failed  map[int]string `json:"failed,omitempty"`
	Notes   []string       `json:"notes,omitempty"`
}

type outsideCount struct {
	Key
	Counts
}

// noCell is the key in failed for an import without cells.
const noCell = -1

const (
	freshLook       = time.Hour      // one that was ended before is not continued
	freshComparison = 24 * time.Hour // neither is the comparison after an older look
)

// look counts all windows once. It continues a look that was ended a short time ago.
func (v *verifier) look(ctx context.Context) error {
	look := &v.memory.Look
	switch age := v.Now().Sub(look.Began); {
	case v.memory.Comparing && age < freshComparison:
		v.restore()
		return nil
	case !look.Ended && !look.Began.IsZero() && age < freshLook:
		v.restore()
	default:
		v.table.Begin()
		v.failed, v.notes = map[int]string{}, nil
		v.memory.Comparing = false
		v.memory.Look = lookState{Began: v.Now()}
		if v.isCheap {
			look.Cheap, look.All = v.table.windowsOf(v.open()), map[int]Counts{}
		} else {
			look.Todo = v.table.Windows(v.Now())
		}
	}
	if len(look.Cheap) == 0 {
		v.showProven()
	}
	for len(look.Cheap)+len(look.Todo) > 0 {
		read := v.countNext
		if len(look.Cheap) > 0 {
			read = v.readNext
		}
		if err := read(ctx, look); err != nil {
			return err
		}
		v.progress(Progress{Step: "count", Done: look.Done, Total: look.Done + int64(len(look.Cheap)+len(look.Todo))})
		if err := v.save(); err != nil {
			return err
		}
	}
	v.endLook()
	return v.save()
}

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

// countNext counts the next window by the import's ID.
func (v *verifier) countNext(ctx context.Context, look *lookState) error {
	w := look.Todo[0]
	scope := Scope{Window: w, OfImport: true, Rows: v.rowsIn(w, look.Wanted)}
	if look.Wanted != nil {
		scope.Names = v.table.namesIn(w, look.Wanted)
	}
	rows, rest, err := v.readFirst(ctx, look.Todo, scope)
	if err != nil {
		return err
	}
	look.Todo = rest
	for _, r := range rows {
		v.table.Add(w, r.Day, r.Event, r.Counts, look.Wanted)
	}
	return nil
}

// readFirst counts the first of some windows, and returns the remaining ones, with its two halves if it was too large.
func (v *verifier) readFirst(ctx context.Context, todo []Window, scope Scope) (rows []CountRow, rest []Window, err error) {
	rows, err = v.Project.Count(ctx, scope)
	halves, kind := scope.Halves(), queries.KindOf(err)
	switch {
	case err == nil:
	case ctx.Err() != nil || kind == queries.Hopeless || kind == queries.Refused && !scope.OfImport:
		return nil, todo, err
	case kind == queries.TooMuch && halves != nil:
		return nil, append(halves, todo[1:]...), nil
	case kind == queries.Unreachable: // so are all others
		for _, w := range todo {
			v.notCounted(w, err)
		}
		return nil, nil, nil
	default:
		v.notCounted(todo[0], err)
	}
	v.memory.Look.Done++
	return rows, todo[1:], nil
}

func (v *verifier) notCounted(w Window, err error) {
	cells := slices.DeleteFunc(v.table.Within(w), v.isProven)
	if len(v.table.Cells) == 0 {
		cells = []int{noCell}
	}
	for _, i := range cells {
		v.failed[i] = "the count failed: " + mask.Clean(errtext.WithoutPrefix(err).Error())
	}
	if len(cells) == 0 {
		v.note("%v, where the import has no events, could not be counted: %v", w, errtext.WithoutPrefix(err))
	}
}

func (v *verifier) note(format string, args ...any) {
	v.notes = append(v.notes, mask.Clean(fmt.Sprintf(format, args...)))
}

// endLook compares the look with the one before.
func (v *verifier) endLook() {
	now := v.Now()
	if v.memory.Looks++; v.memory.First.IsZero() {
		v.memory.First = now
	}
	for i := range v.table.Cells {
		v.memory.Grew[i] = false
		if _, failed := v.failed[i]; !failed && !v.isProven(i) {
			v.memory.Cells[i], v.memory.Grew[i] = v.memory.Cells[i].Next(v.table.Seen[i].Seen, now)
		}
	}
	v.keepExact()
	v.memory.Look.Ended = true
}

func (v *verifier) judge() {
	for i := range v.table.Cells {
		v.state[i] = v.sight(i).state()
	}
}

func (v *verifier) sight(i int) sight { return v.sightWith(i, v.memory.Cells[i], v.memory.Grew[i]) }

func (v *verifier) sightWith(i int, standing standing, grew bool) sight {
	now, since := v.Now(), v.LastAcknowledged
	if since.IsZero() { // of an older release
		since = v.memory.First
	}
	row := v.table.Cells[i]
	_, failed := v.failed[i]
	return sight{
		Acknowledged: row.Acknowledged, Unconfirmed: row.Unconfirmed, Seen: v.table.Seen[i].Seen, Copies: v.table.Seen[i].Copies,
		Sent: row.Sum, There: v.table.Seen[i].Sum, Hidden: v.Hidden,
		Failed: failed, Uncountable: isUncountable(row.Name), Unfinished: v.IsOpen,
		Grew: grew, Looks: standing.Looks, Stood: now.Sub(standing.Since),
		Quiet: now.Sub(since), Patience: v.Patience,
	}
}
