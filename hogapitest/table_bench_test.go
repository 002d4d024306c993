package hogapitest_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/hogapitest"
)

// BenchmarkQueriesOfAMillion asks the three queries of a proof of arrival about an import of a million events in one year.
func BenchmarkQueriesOfAMillion(b *testing.B) {
	s := hogapitest.New(hogapitest.WithCompactLedger())
	random := rand.New(rand.NewPCG(1, 2))
	start := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	before := heap()
	for n := range 1_000_000 {
		var id uuid.UUID
		binary.BigEndian.PutUint64(id[:], random.Uint64())
		binary.BigEndian.PutUint64(id[8:], uint64(n))
		s.Project(hogapitest.DefaultProject).AddEvent(hogapitest.StoredEvent{
			UUID: id, Event: fmt.Sprint("event ", n%20), DistinctID: fmt.Sprint("user ", n%100_000),
			Time: start.Add(time.Duration(n) * 31 * time.Second), Properties: []byte(`{"$import_job_id":"job"}`),
		})
	}
	b.Logf("%d bytes for each event", (heap()-before)/1_000_000)
	const where = ` FROM events WHERE properties.$import_job_id = {job_id} AND timestamp >= toDateTime({start_at}) AND timestamp < toDateTime({end_at})`
	for name, query := range map[string]string{
		"counts": "SELECT toDate(toTimeZone(timestamp, 'UTC')) AS utc_day, event AS event_name, count() AS copies, uniqExact(uuid) AS uuids" + where +
			" GROUP BY utc_day, event_name ORDER BY utc_day, event_name LIMIT 50000",
		"uuids":  "SELECT toString(uuid) AS t" + where + " AND event = 'event 1' AND toString(uuid) > '8' GROUP BY t ORDER BY t LIMIT 10000",
		"totals": "SELECT count() AS copies, uniqExact(uuid) AS uuids, min(toTimeZone(timestamp, 'UTC')) AS a, max(toTimeZone(timestamp, 'UTC')) AS b" + where,
	} {
		for window, end := range map[string]string{"day": "2024-03-02T00:00:00Z", "month": "2024-04-01T00:00:00Z", "year": "2025-03-01T00:00:00Z"} {
			b.Run(name+" of a "+window, func(b *testing.B) {
				w := driven(b, s)
				for b.Loop() {
					status, out := w.call("POST", "/query/", hogQL(query, map[string]any{"job_id": "job", "start_at": "2024-03-01T00:00:00Z", "end_at": end}))
					if status != 200 {
						b.Fatal(out)
					}
				}
			})
		}
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
