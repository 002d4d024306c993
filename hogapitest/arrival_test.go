package hogapitest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/hogapitest"
)

// imported is a server with some events of one import, over several days and two names.
func imported(t *testing.T, numbers ...int) *wire {
	w := inProcess(t)
	w.importAll(numbers...)
	return w
}

func (w *wire) importAll(numbers ...int) {
	w.t.Helper()
	var list []string
	for _, n := range numbers {
		e := v1Event(n, "properties", `{"$import_job_id":"job"}`, "timestamp", fmt.Sprintf(`"2025-01-%02dT10:00:00Z"`, n%3+1), "event", fmt.Sprintf(`"e%d"`, n%2))
		list = append(list, e)
	}
	require.Equal(w.t, 200, w.post(v1Batch(list...), try(1, uuid.NewString(), now)...).StatusCode)
}

func (w *wire) count(of string) string {
	w.t.Helper()
	return w.rows("SELECT "+of+" FROM events WHERE properties.$import_job_id = 'job'", nil)
}

func upTo(n int) (list []int) {
	for i := range n {
		list = append(list, i+1)
	}
	return list
}

func TestEventsArriveLate(t *testing.T) {
	w := imported(t, 1, 2)
	w.HoldEvents()
	w.importAll(3, 4, 5)
	assert.Equal(t, 5, w.Ledger().Len())
	assert.JSONEq(t, `[[2]]`, w.count("count()"))
	w.ReleaseEvents(2)
	assert.JSONEq(t, `[[4]]`, w.count("count()"))
	assert.JSONEq(t, `[["`+uuids(4)[0].String()+`"]]`, w.rows("SELECT max(toString(uuid)) FROM events", nil))
	w.ReleaseEvents(-1)
	w.importAll(6)
	assert.JSONEq(t, `[[6]]`, w.count("count()"))
}

func TestCopiesMergeLate(t *testing.T) {
	w := imported(t, upTo(6)...)
	w.importAll(upTo(4)...)
	assert.JSONEq(t, `[[10,6]]`, w.count("count(), uniqExact(uuid)"))
	w.MergeEvents()
	assert.JSONEq(t, `[[6,6]]`, w.count("count(), uniqExact(uuid)"))
	assert.Equal(t, 10, w.Ledger().Len())
	w.importAll(1)
	assert.JSONEq(t, `[[7,6]]`, w.count("count(), uniqExact(uuid)"))
	w.MergeEvents()

	// The last copy stays.
	w.post(v1Batch(v1Event(1, "properties", `{"$import_job_id":"job"}`, "timestamp", `"2025-01-02T09:00:00Z"`, "event", `"e1"`)), try(1, uuid.NewString(), now)...)
	w.MergeEvents()
	assert.JSONEq(t, `[["2025-01-02T09:00:00Z"]]`, w.rows("SELECT timestamp FROM events WHERE toString(uuid) = {id}", map[string]any{"id": uuids(1)[0].String()}))

	// Another name, day or distinct id is another event, for good.
	for _, other := range [][]string{{"event", `"other"`}, {"timestamp", `"2025-02-01T00:00:00Z"`}, {"distinct_id", `"other"`}} {
		base := []string{"properties", `{"$import_job_id":"job"}`, "timestamp", `"2025-01-02T10:00:00Z"`, "event", `"e1"`}
		w.post(v1Batch(v1Event(1, append(base, other...)...)), try(1, uuid.NewString(), now)...)
	}
	w.MergeEvents()
	assert.JSONEq(t, `[[9,6]]`, w.count("count(), uniqExact(uuid)"))
}

func TestEventsAreLostMovedAndForeign(t *testing.T) {
	w := imported(t, upTo(90)...)
	w.importAll(upTo(90)...) // two copies of each
	lost := w.project().LoseEvents("job", 17)
	assert.Len(t, lost, 17)
	assert.JSONEq(t, `[[146,73]]`, w.count("count(), uniqExact(uuid)"))
	for _, id := range lost {
		assert.JSONEq(t, `[[0]]`, w.rows("SELECT count() FROM events WHERE toString(uuid) = {id}", map[string]any{"id": id.String()}))
	}
	moved := w.project().MoveEvents("job", 5, -24*time.Hour*365)
	assert.Len(t, moved, 5)
	assert.JSONEq(t, `[[146,73]]`, w.count("count(), uniqExact(uuid)"))
	assert.JSONEq(t, `[[5]]`, w.rows("SELECT uniqExact(uuid) FROM events WHERE timestamp < toDateTime('2024-06-01T00:00:00Z')", nil))
	for n := range 3 {
		w.project().AddEvent(hogapitest.StoredEvent{Event: "e1", DistinctID: "x", Time: now.AddDate(-1, 0, n), Properties: []byte(`{"$import_job_id":"job"}`)})
	}
	assert.JSONEq(t, `[[76]]`, w.count("uniqExact(uuid)"))
	assert.Equal(t, 180, w.Ledger().Len())
	assert.Empty(t, w.project().LoseEvents("nothing", 3))
	assert.Len(t, w.project().LoseEvents("job", 1000), 76)
	assert.JSONEq(t, `[[0]]`, w.count("count()"))
}
