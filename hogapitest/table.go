package hogapitest

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// eventTable holds the events as queries see them: as capture stored them, or as a test changed them. An event is in it once for each
// commit until the copies are merged.
type eventTable struct {
	interned // names, distinct ids and import ids

	isNewer bool // the table whose sorting key has the time

	rows  []tableRow
	cells map[cellKey][]int32 // in the order of arrival
	hold  bool
	held  []int32 // stored, and not yet to be seen
}

// tableRow is one copy of an event.
type tableRow struct {
	id         uuid.UUID
	at         time.Time // UTC, whole microseconds
	created    time.Time // when it arrived
	key        cellKey
	name, who  int32
	job        int32
	properties json.RawMessage // nil in a compact ledger
}

// eventKey is the same for copies of an event: of one day, and in the newer table of one time.
type eventKey struct {
	id        uuid.UUID
	name, who int32
	at        time.Time
}

func (r *tableRow) eventKey() eventKey { return eventKey{id: r.id, name: r.name, who: r.who} }

// cellKey is where a row is found: no query looks into cells that it cannot want.
type cellKey struct{ project, day int32 }

func (t *eventTable) add(project string, e *event, created time.Time, compact bool) {
	r := tableRow{id: e.uuid, created: created.UTC(), key: cellKey{project: t.text(project)}, name: t.text(e.name), who: t.text(e.distinctID), job: t.text(e.job)}
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
	if t.cells == nil {
		t.cells = map[cellKey][]int32{}
	}
	key := t.rows[i].key
	t.cells[key] = append(t.cells[key], i)
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

// merge leaves the last copy of each event: same uuid, distinct id, name and UTC day, or time in the newer table.
func (t *eventTable) merge() {
	for key, rows := range t.cells {
		last := map[eventKey]int32{}
		of := func(i int32) eventKey {
			key := t.rows[i].eventKey()
			if t.isNewer {
				key.at = t.rows[i].at
			}
			return key
		}
		for _, i := range rows {
			last[of(i)] = i
		}
		t.cells[key] = slices.DeleteFunc(rows, func(i int32) bool { return last[of(i)] != i })
	}
}

// pick takes the rows of some events out of their cells: of every n-th uuid of an import that can be seen, spread over all of them.
func (t *eventTable) pick(project, job string, n int) []int32 {
	p, j := t.text(project), t.text(job)
	var rows []int32
	for _, k := range t.keys() {
		if k.project == p {
			rows = append(rows, t.cells[k]...)
		}
	}
	rows = slices.DeleteFunc(rows, func(i int32) bool { return t.rows[i].job != j })
	all := t.ids(rows)
	n = min(n, len(all))
	ids := map[uuid.UUID]bool{}
	for i := range n {
		ids[all[i*len(all)/n]] = true
	}
	rows = slices.DeleteFunc(rows, func(i int32) bool { return !ids[t.rows[i].id] })
	t.remove(rows)
	return rows
}

func (t *eventTable) remove(rows []int32) {
	gone, touched := map[int32]bool{}, map[cellKey]bool{}
	for _, i := range rows {
		gone[i], touched[t.rows[i].key] = true, true
	}
	for key := range touched {
		t.cells[key] = slices.DeleteFunc(t.cells[key], func(i int32) bool { return gone[i] })
	}
}

// ids are the uuids of some rows, each once.
func (t *eventTable) ids(rows []int32) (list []uuid.UUID) {
	seen := map[uuid.UUID]bool{}
	for _, i := range rows {
		if id := t.rows[i].id; !seen[id] {
			seen[id] = true
			list = append(list, id)
		}
	}
	return list
}

// keys are the cells by day.
func (t *eventTable) keys() []cellKey {
	return slices.SortedFunc(maps.Keys(t.cells), func(a, b cellKey) int { return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.project, b.project)) })
}

// column reads the columns of rows. Times are in the project's zone.
func (t *eventTable) column(zone *time.Location) func(name string, row int32) any {
	return func(name string, row int32) any {
		r := &t.rows[row]
		switch name {
		case "event":
			return t.texts[r.name]
		case "uuid":
			return r.id
		case "distinct_id":
			return t.texts[r.who]
		case "timestamp":
			return r.at.In(zone)
		case "created_at":
			return r.created.In(zone)
		case "properties": // JSON as text
			return cmp.Or(string(r.properties), "{}")
		case "properties." + importID:
			return orNull(t.texts[r.job])
		}
		if r.properties == nil {
			return nil
		}
		key := strings.TrimPrefix(name, "properties.")
		for _, m := range slices.Backward(members(r.properties)) {
			if m.key == key && !isNull(m.value) {
				return asText(m.value)
			}
		}
		return nil
	}
}
