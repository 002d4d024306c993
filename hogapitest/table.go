package hogapitest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"sort"
	"time"

	"github.com/google/uuid"
)

// eventTable holds the events as queries see them: as capture stored them, or as a test changed them. An event is in it once for each
// commit until the copies are merged.
type eventTable struct {
	interned // names, distinct ids and import ids

	rows  []tableRow
	cells map[cellKey]*cell
	hold  bool
	held  []int32 // stored, and not yet to be seen
}

// tableRow is one copy of an event.
type tableRow struct {
	id         uuid.UUID
	at         time.Time // UTC, whole microseconds
	key        cellKey
	who        int32
	properties json.RawMessage // nil in a compact ledger
}

// cellKey is where a row is found: no query looks into cells that it cannot want.
type cellKey struct{ project, job, name, day int32 }

type cell struct {
	rows   []int32
	sorted bool // by uuid, then in the order of arrival
}

func (t *eventTable) add(project string, e *event, compact bool) {
	r := tableRow{id: e.uuid, who: t.text(e.distinctID), key: cellKey{project: t.text(project), job: t.text(e.job), name: t.text(e.name)}}
	if !compact {
		r.properties = e.properties
	}
	r.setTime(e.at)
	t.rows = append(t.rows, r)
	i := int32(len(t.rows) - 1)
	if t.hold {
		t.held = append(t.held, i)
		return
	}
	t.show(i)
}

func (r *tableRow) setTime(at time.Time) {
	r.at = at.UTC().Truncate(time.Microsecond)
	r.key.day = int32(floorDay(r.at))
}

func (t *eventTable) show(i int32) {
	key := t.rows[i].key
	c := t.cells[key]
	if c == nil {
		if t.cells == nil {
			t.cells = map[cellKey]*cell{}
		}
		c = &cell{}
		t.cells[key] = c
	}
	c.rows, c.sorted = append(c.rows, i), false
}

// release shows the oldest of the held rows; a negative n is all.
func (t *eventTable) release(n int) {
	if n < 0 || n > len(t.held) {
		n = len(t.held)
	}
	for _, i := range t.held[:n] {
		t.show(i)
	}
	t.held = t.held[n:]
}

// inOrder returns a cell's rows by uuid, in the order of its lower-case text.
func (t *eventTable) inOrder(c *cell) []int32 {
	if !c.sorted {
		slices.SortFunc(c.rows, func(a, b int32) int {
			return cmp.Or(bytes.Compare(t.rows[a].id[:], t.rows[b].id[:]), cmp.Compare(a, b))
		})
		c.sorted = true
	}
	return c.rows
}

// after is the index of the first row with a uuid of at least the text, or above it.
func (t *eventTable) after(rows []int32, text string, above bool) int {
	return sort.Search(len(rows), func(i int) bool {
		id := t.rows[rows[i]].id.String()
		return id > text || !above && id == text
	})
}

// merge leaves the last copy of each event: same uuid, distinct id, name and UTC day.
func (t *eventTable) merge() {
	type identity struct {
		id  uuid.UUID
		who int32
	}
	for _, c := range t.cells {
		seen := make(map[identity]bool, len(c.rows))
		rows := t.inOrder(c)
		kept := rows[:0:0]
		for _, i := range slices.Backward(rows) {
			if id := (identity{t.rows[i].id, t.rows[i].who}); !seen[id] {
				seen[id] = true
				kept = append(kept, i)
			}
		}
		slices.Reverse(kept)
		c.rows = kept
	}
}

// pick takes the rows of some events out of their cells: of every n-th uuid of an import that can be seen, spread over all of them.
func (t *eventTable) pick(project, job string, n int) []int32 {
	ids := map[uuid.UUID]bool{}
	p, j := t.text(project), t.text(job)
	keys := t.keys(func(k cellKey) bool { return k.project == p && k.job == j })
	var all []uuid.UUID
	for _, k := range keys {
		for _, i := range t.inOrder(t.cells[k]) {
			if id := t.rows[i].id; len(all) == 0 || all[len(all)-1] != id {
				all = append(all, id)
			}
		}
	}
	n = min(n, len(all))
	for i := range n {
		ids[all[i*len(all)/n]] = true
	}
	var taken []int32
	for _, k := range keys {
		for _, i := range t.cells[k].rows {
			if ids[t.rows[i].id] {
				taken = append(taken, i)
			}
		}
	}
	t.remove(taken)
	return taken
}

func (t *eventTable) remove(rows []int32) {
	gone := map[int32]bool{}
	touched := map[cellKey]bool{}
	for _, i := range rows {
		gone[i], touched[t.rows[i].key] = true, true
	}
	for key := range touched {
		c := t.cells[key]
		c.rows = slices.DeleteFunc(c.rows, func(i int32) bool { return gone[i] })
	}
}

// keys are the cells that a query may want, in one order.
func (t *eventTable) keys(wanted func(cellKey) bool) (list []cellKey) {
	for k, c := range t.cells {
		if len(c.rows) > 0 && wanted(k) {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b cellKey) int {
		return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(t.texts[a.name], t.texts[b.name]), cmp.Compare(a.job, b.job), cmp.Compare(a.project, b.project))
	})
	return list
}
