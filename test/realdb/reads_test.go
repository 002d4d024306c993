package realdb

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/uuidsum"
)

// The sum of hashes in a receipt is the one that ClickHouse computes.
func TestHashesAreThoseOfClickHouse(t *testing.T) {
	e := newEngine(t)
	var texts []string
	var want uuidsum.Sum
	for i := range 1_000 {
		id := uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, i))
		texts = append(texts, "('"+id.String()+"')")
		want.Add(uuidsum.Of(id))
	}
	rows := e.run("SELECT count(), toString(sum(cityHash64(toString(one_uuid)))) FROM (SELECT toUUID(c1) AS one_uuid FROM VALUES('c1 String', " + strings.Join(texts, ", ") + "))")
	require.Len(t, rows, 1)
	assert.Equal(t, strconv.FormatUint(want.Hash, 10), fmt.Sprint(rows[0][1]))
}

// tables are the two tables of events that PostHog has: the legacy one, and the newer one with properties as JSON.
var tables = map[string]string{
	"legacy": "(project UInt64, uuid UUID, event String, distinct_id String, properties String, timestamp DateTime64(6, 'UTC')) ENGINE = MergeTree " +
		"PARTITION BY toYYYYMM(timestamp) ORDER BY (project, toDate(timestamp), event, cityHash64(distinct_id), cityHash64(uuid))",
	"newer": "(project UInt64, uuid UUID, event String, distinct_id String, properties JSON, timestamp DateTime64(6, 'UTC')) ENGINE = MergeTree " +
		"PARTITION BY toYYYYMM(timestamp) ORDER BY (project, toDate(timestamp), event, cityHash64(distinct_id), timestamp, uuid)",
}

// The reading of uuid, time and name costs as much as the meter of the fake says, within a fifth, by both keys of the
// table. The reading by a property of the legacy table costs the texts of all properties.
func TestBytesThatAreRead(t *testing.T) {
	e := newEngine(t)
	const n, property = 200_000, 700
	for name, table := range tables {
		e.run("CREATE DATABASE IF NOT EXISTS reads")
		e.run("CREATE OR REPLACE TABLE reads." + name + table)
		e.run(fmt.Sprintf("INSERT INTO reads.%s SELECT 1, generateUUIDv4(), 'a name of 12', toString(number), "+
			"concat('{\"$import_job_id\":\"job\",\"text\":\"', repeat('x', %d), '\"}'), toDateTime64('2024-01-01', 6, 'UTC') + number FROM numbers(%d)", name, property, n))
		// selected is how many bytes queries have read so far.
		selected := func() float64 {
			rows := e.run("SELECT toString(value) FROM system.events WHERE event = 'SelectedBytes'")
			n, err := strconv.ParseFloat(fmt.Sprint(rows[0][0]), 64)
			require.NoError(t, err)
			return n
		}
		const window = " FROM reads.%s WHERE project = 1 AND timestamp >= '2024-01-01' AND timestamp < '2024-02-01'"
		from := fmt.Sprintf(window, name)
		const once = "SELECT utc_day, event_name, sum(of_one) AS copies, count() AS uuids, sum(cityHash64(toString(one_uuid))) AS hash_sum " +
			"FROM (SELECT toDate(toTimeZone(timestamp, 'UTC')) AS utc_day, event AS event_name, uuid AS one_uuid, count() AS of_one%s " +
			"GROUP BY utc_day, event_name, one_uuid) GROUP BY utc_day, event_name"
		var all float64
		before := selected()
		for _, r := range e.run(fmt.Sprintf(once, from)) {
			n, err := strconv.ParseFloat(fmt.Sprint(r[3]), 64)
			require.NoError(t, err)
			all += n
		}
		assert.EqualValues(t, n, all, name)
		cheap := selected() - before
		before = selected()
		e.run("SELECT substring(replaceAll(toString(one_uuid), '-', ''), 31, 2) AS uuid_slice, count() AS uuids, sum(cityHash64(toString(one_uuid))) AS hash_sum " +
			"FROM (SELECT uuid AS one_uuid" + from + " AND event IN ('a name of 12') GROUP BY one_uuid) GROUP BY uuid_slice")
		slices := selected() - before
		before = selected()
		condition := " AND JSONExtractString(properties, '$import_job_id') = 'job'"
		if name == "newer" {
			condition = " AND properties.`$import_job_id`::String = 'job'"
		}
		e.run(fmt.Sprintf(once, from+condition))
		byID := selected() - before
		t.Logf("%s: %.0f bytes a row, %.0f by slices, %.0f with the import's ID", name, cheap/n, slices/n, byID/n)
		const metered = 16 + 8 + 20
		assert.InEpsilon(t, metered, cheap/n, 0.2, name)
		assert.Less(t, slices, 1.2*metered*n, name)
		if name == "legacy" {
			assert.Greater(t, byID/n, float64(property), name)
		}
	}
}
