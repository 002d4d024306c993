package history

import (
	"encoding/json"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/ledger"
	"github.com/hogapi/hogapi/internal/queries"
	"github.com/hogapi/hogapi/internal/verify"
)

// Query is a HogQL query with the values of its placeholders, such as {job_id}. Its JSON is the value of
// "query" in the body of POST /api/projects/{id}/query/, which needs a key with the scope query:read.
type Query struct {
	HogQL  string
	Values map[string]any // by the names of the placeholders
}

// MarshalJSON returns the query as the service takes it.
func (q Query) MarshalJSON() ([]byte, error) { return json.Marshal(queries.Query(q)) }

// String returns the query with the values in place of the placeholders, for the project's SQL editor. Programs
// send the query as JSON.
func (q Query) String() string { return queries.Query(q).String() }

// TotalQuery returns the query that counts the events of this import in the project. Its one row has copies,
// uuids, first_time and last_time; uuids should equal Acknowledged. There are more copies than uuids until the
// service has merged events that were sent twice. The query covers the time of the events and one more day on
// each side.
//
// The service shows historical events some minutes to some hours after it has taken them. The query finds them
// by their property $import_job_id. It does not find an event that has an $import_job_id of its own
// ([event.WarningOwnJobID]), nor events from which the service removes properties, such as $feature_flag_called. If
// no event was acknowledged, the query is the zero Query.
func TotalQuery(r event.Receipt) Query {
	if r.Acknowledged == 0 {
		return Query{}
	}
	return Query(verify.CountTotal(r.ID, verify.Days(r.Oldest, r.Newest).Wider(1)))
}

// CountQueries returns the queries that count the events of this import by day and name: one query for each
// month in UTC that has events, oldest first. A row has utc_day, event_name, copies and uuids; uuids should
// equal Acknowledged of the row in Days or, if Days was rolled up, add up to it. Equal counts do not prove that
// the events are the same; [Verify] compares digests too. The service's days begin in 1970. An answer
// with 50,000 rows may be incomplete. [TotalQuery] describes the events that a query does not find.
func CountQueries(r event.Receipt) []Query {
	if r.Acknowledged == 0 {
		return nil
	}
	var list []Query
	var periods []string
	for _, row := range r.Days {
		if row.Acknowledged > 0 {
			periods = append(periods, row.Day)
		}
	}
	for _, month := range verify.Days(r.Oldest, r.Newest).MonthsOf(periods) {
		list = append(list, Query(verify.CountDays(r.ID, month)))
	}
	return list
}

// UUIDQuery returns the query that lists the uuids of a row of Days in the project, in the order of their
// texts. It begins after the uuid with the text after. Begin with "", and continue after the last uuid of an
// answer while answers have 10,000 rows. For the row "other", which counts the events of several names, the
// query is the zero Query.
func UUIDQuery(r event.Receipt, row event.DayCount, after string) Query {
	if row.Day == ledger.Other {
		return Query{}
	}
	return Query(verify.ListUUIDs(r.ID, row.Event, after, verify.Days(r.Oldest, r.Newest).Period(row.Day)))
}
