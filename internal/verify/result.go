package verify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Result is the outcome of verifying an import.
type Result struct {
	State        State // the worst of all cells
	Looks        int
	Seen, Copies int64
	Missing      int64
	Moved        int64
	Foreign      int64
	Cells        []Cell // of the receipt
	Outside      []Cell // further ones
	MissingIDs   []uuid.UUID
	MovedIDs     []uuid.UUID
	ForeignIDs   []uuid.UUID
	Uncountable  []string // names of events that counting can miss
	Notes        []string

	BytesRead  int64  // in this run
	BudgetLeft *int64 // of the project; nil: not known
}

// Cell is the outcome for the events of one name in one period.
type Cell struct {
	Row
	Counts

	Missing, Moved, Foreign, Doubled int64

	State  State
	Reason string
}

func (v *verifier) result() *Result {
	r := &Result{Looks: v.memory.Looks, MissingIDs: v.finds.missing, Notes: v.notes}
	r.BytesRead, r.BudgetLeft = v.read()
	names := map[string]bool{}
	for i := range v.table.Cells {
		cell := v.cell(i)
		r.add(&r.Cells, cell)
		r.Seen, r.Copies = r.Seen+cell.Seen, r.Copies+cell.Copies
		if isUncountable(cell.Name) {
			names[cell.Name] = true
		}
	}
	for _, key := range v.table.SortedOutside() {
		r.add(&r.Outside, v.outsideCell(key))
	}
	if v.IsOpen {
		r.State = max(r.State, Unfinished)
	}
	if why := v.failed[noCell]; why != "" {
		r.State = max(r.State, Unknown)
		r.Notes = append(r.Notes, why)
	}
	if v.table.Left.Seen > 0 {
		r.State = max(r.State, Moved)
		v.finds.unnamed += v.table.Left.Seen
		r.Notes = append(r.Notes, fmt.Sprintf("%d events are of further days and names that the receipt does not have", v.table.Left.Seen))
	}
	v.noteEarlier(r)
	r.Uncountable = slices.Sorted(maps.Keys(names))
	r.MovedIDs, r.ForeignIDs = v.strangeIDs()
	r.Moved = v.finds.unnamed + int64(len(v.finds.ours)+len(v.finds.moved))
	slices.SortFunc(r.MissingIDs, compareIDs)
	if r.Missing > 0 && v.Source == nil {
		r.Notes = append(r.Notes, "without VerifyOptions.Source the missing events cannot be named; events with equal uuids, which count once, may be among them")
	}
	return r
}

func (r *Result) add(to *[]Cell, cell Cell) {
	*to = append(*to, cell)
	r.State = max(r.State, cell.State)
	r.Missing += cell.Missing
	r.Foreign += cell.Foreign
}

func (v *verifier) cell(i int) Cell {
	row, seen, state := v.table.Cells[i], v.table.Seen[i], v.state[i]
	c := Cell{Row: row, Counts: seen}
	f, compared := v.found[i]
	switch {
	case compared:
		state = v.comparedCell(i, f, &c)
	case v.finds.cells[i].isShort, state == Complete && v.finds.cells[i].why != "": // its uuids were to be compared too
		state, c.Reason = Unknown, v.finds.cells[i].why
	case state == Missing:
		c.Missing = row.Acknowledged - seen.Seen
		c.Reason = v.finds.cells[i].why
		if v.Source == nil {
			c.Reason = "events of the source with equal uuids count once, and may be among them: a Source settles it"
		}
	case state == TooMany:
		c.Foreign = seen.Seen - row.Acknowledged - row.Unconfirmed
		c.Reason = cmp.Or(v.finds.cells[i].why, tooMany)
	default:
		c.Reason = v.reason(i)
	}
	c.State = state
	return c
}

// comparedCell fills in the outcome for a cell with compared uuids, and returns its state.
func (v *verifier) comparedCell(i int, f Found, c *Cell) State {
	finds := v.finds.cells[i]
	c.Seen = f.Listed + finds.arrived
	c.Copies = max(c.Copies, c.Seen)
	c.Missing, c.Moved, c.Foreign, c.Doubled = finds.missing, finds.moved, finds.foreign, f.Doubled
	switch {
	case c.Missing > 0:
		return Missing
	case c.Foreign > 0 && v.IsOpen:
		c.Foreign, c.Reason = 0, unfinished
		return Unknown
	case c.Foreign > 0:
		c.Reason = "events with the import's ID that the source does not have"
		if finds.arriving > 0 {
			c.Reason += fmt.Sprintf("; and %d of the source are not there yet", finds.arriving)
		}
		return TooMany
	case c.Moved > 0:
		c.Reason = "events of the source are under another day or name"
		return Moved
	case f.Hidden > 0:
		c.Reason = hiddenReason(f.Hidden)
		return Unknown
	case finds.arriving > 0:
		c.Reason = v.arriving(i)
		return StillArriving
	case finds.unconfirmed > 0:
		c.Reason = fmt.Sprintf("%d events are not there, and ", finds.unconfirmed)
		switch {
		case v.sight(i).canArrive():
			c.Reason += "the unconfirmed ones among them may still arrive: " + v.arriving(i)
		case len(v.Rejects) == 0:
			c.Reason += "without Rejects it is not known whether they are the unconfirmed ones"
		default:
			c.Reason += "they are unconfirmed ones: " + notKept
		}
		return CompleteUnconfirmed
	case finds.again > 0:
		c.Reason = fmt.Sprintf("%d rejected events are there too: they were imported again", finds.again)
	case f.Doubled > 0:
		c.Reason = fmt.Sprintf("%d events of the source share the uuid of another one, and are stored once", f.Doubled)
	}
	return Complete
}

const (
	others  = "as many events are there as were sent, but not the same ones: the ID was used for other data too, or events have moved. A Source shows the missing events"
	tooMany = "more than were sent: the ID was used for other data too, rejects were imported again, or the receipt is of an older checkpoint"
	notKept = "the service drops, changes or keeps elsewhere events of this name"
	shared  = "as many copies are there as were acknowledged, of fewer uuids: events of the source with equal uuids count once. A Source settles it"
)

// Texts about an import that has not come to its end.
const (
	unfinished = "the import is not finished: " + FinishIt
	FinishIt   = "import the rest, and verify its last receipt"
)

func hiddenReason(n int64) string {
	return fmt.Sprintf("%d events of the import have an $import_job_id of their own, by which they are not found", n)
}

// reason returns the reason for a cell's state, or "" if the state needs no words.
func (v *verifier) reason(i int) string {
	switch state := v.state[i]; {
	case v.failed[i] != "":
		return v.failed[i]
	case state == Unknown && v.IsOpen && !v.sight(i).mayShareUUIDs():
		return unfinished
	case state == Unknown && isUncountable(v.table.Cells[i].Name):
		return notKept
	case state == Unknown && v.sight(i).areOthers():
		return cmp.Or(v.finds.cells[i].why, others)
	case state == Unknown && v.Hidden > 0:
		return hiddenReason(v.Hidden)
	case state == Unknown:
		return cmp.Or(v.finds.cells[i].why, shared)
	case state == ByCounts && v.sight(i).There.N == v.table.Seen[i].Seen:
		return "the receipt is of an older release, which did not sum up uuids: " + cmp.Or(v.finds.cells[i].why, "a Source settles it")
	case state == ByCounts:
		return "the service does not sum up uuids: " + cmp.Or(v.finds.cells[i].why, "a Source settles it")
	case state == CompleteUnconfirmed:
		return cmp.Or(v.finds.cells[i].why, "which of the unconfirmed events are there is not known: give Source and Rejects")
	case state == StillArriving:
		return v.arriving(i)
	}
	return ""
}

// arriving returns the reason why a cell is not called missing yet.
func (v *verifier) arriving(i int) string {
	s := v.sight(i)
	switch {
	case s.Grew:
		return "more have arrived since the last look"
	case s.Quiet < s.Patience:
		return fmt.Sprintf("the last acknowledgement came %v ago, and events may take %v", rounded(s.Quiet), s.Patience)
	}
	return fmt.Sprintf("%d looks in %v have seen so many: it takes %d looks over %v, with Wait or the same Dir", s.Looks, rounded(s.Stood), enoughLooks, enoughTime)
}

// rounded rounds a duration to the second, or a long one to the minute.
func rounded(d time.Duration) time.Duration {
	const long = 10 * time.Minute
	if d < long {
		return d.Round(time.Second)
	}
	return d.Round(time.Minute)
}

// outsideCell returns the outcome for a cell that the receipt does not have.
func (v *verifier) outsideCell(key Key) Cell {
	n := v.table.Outside[key]
	c := Cell{Row: Row{Key: key}, Counts: n}
	find, compared := v.finds.outside[key]
	state := Moved
	switch {
	case v.IsOpen:
		state, c.Reason = Unknown, unfinished
	case compared && find.why == "":
		c.Moved, c.Foreign = find.moved, find.foreign
		c.Reason = "events of the source that have another day or name there"
		switch {
		case c.Foreign > 0:
			state, c.Reason = TooMany, "events with the import's ID that the source does not have"
		case c.Moved == 0:
			state, c.Reason = Complete, "rejected events that were imported again"
		}
	case len(v.table.Cells) == 0:
		state, c.Foreign, c.Reason = TooMany, n.Seen, cmp.Or(find.why, tooMany)
	default:
		c.Moved = n.Seen
		v.finds.unnamed += n.Seen
		c.Reason = cmp.Or(find.why, "the receipt has no events of this day and name")
	}
	c.State = state
	return c
}

// strangeIDs returns the uuids of events that have moved, and of events that the source does not have.
func (v *verifier) strangeIDs() (moved, foreign []uuid.UUID) {
	moved = v.finds.moved
	for id := range v.finds.strange {
		if v.finds.ours[id] {
			moved = append(moved, id)
		} else {
			foreign = append(foreign, id)
		}
	}
	slices.SortFunc(moved, compareIDs)
	slices.SortFunc(foreign, compareIDs)
	return moved[:min(len(moved), maxOtherIDs)], foreign[:min(len(foreign), maxOtherIDs)]
}
