package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// control lets a test in another process use the fake like the package. The paths below /hogfake/ take POST, with
// their parameters in the query, and answer JSON:
//
//	hold                          events that are stored from now on stay out of queries
//	release?n=100                 the oldest 100 of them are seen; without n all, and no more are held
//	merge                         the copies of each event become one
//	lose?import=id&n=17           17 events of an import are gone: {"uuids":[…]}
//	move?import=id&n=5&by=24h     5 events of an import have another time: {"uuids":[…]}
//	add?import=id&n=3&event=e&at=2025-01-02T00:00:00Z   3 events that nobody sent: {"uuids":[…]}
//	fail?op=query.run&status=429&n=2&retry_after=1      the next 2 requests of an operation are answered so
//	state                         {"commits":…,"unique":…,"duplicates":…,"dropped":…,"breaches":[…]}
type control struct{ fake *hogapitest.Server }

func (c control) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := c.do(r.PathValue("action"), r.URL.Query())
	var text []byte
	if err == nil {
		text, err = json.Marshal(answer)
	}
	if err != nil {
		http.Error(w, "hogfake: "+err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(text, '\n'))
}

// do is one action. Its parameters are wrong where the error says so.
func (c control) do(action string, q url.Values) (any, error) {
	n, err := strconv.Atoi(q.Get("n"))
	if err != nil && q.Has("n") || n < 0 {
		return nil, fmt.Errorf("n must be a number, not %q", q.Get("n"))
	}
	project := c.fake.Project(hogapitest.DefaultProject)
	found := func(ids []uuid.UUID) (any, error) { return map[string]any{"uuids": ids}, nil }
	switch action {
	case "hold":
		c.fake.HoldEvents()
	case "release":
		if !q.Has("n") {
			n = -1
		}
		c.fake.ReleaseEvents(n)
	case "merge":
		c.fake.MergeEvents()
	case "lose":
		return found(project.LoseEvents(q.Get("import"), n))
	case "move":
		by, err := time.ParseDuration(q.Get("by"))
		if err != nil {
			return nil, fmt.Errorf("by must be a duration such as 24h, not %q", q.Get("by"))
		}
		return found(project.MoveEvents(q.Get("import"), n, by))
	case "add":
		return c.add(project, q, n)
	case "fail":
		return c.fail(q, n)
	case "state":
		return c.state(), nil
	default:
		return nil, fmt.Errorf("unknown action %q: use hold, release, merge, lose, move, add, fail or state", action)
	}
	return map[string]any{}, nil
}

func (c control) add(project *hogapitest.Project, q url.Values, n int) (any, error) {
	at, err := time.Parse(time.RFC3339, q.Get("at"))
	if err != nil {
		return nil, fmt.Errorf("at must be a time such as 2025-01-02T00:00:00Z, not %q", q.Get("at"))
	}
	properties, err := json.Marshal(map[string]string{"$import_job_id": q.Get("import")})
	if err != nil {
		return nil, err
	}
	var ids []uuid.UUID
	for range n {
		e := hogapitest.StoredEvent{UUID: uuid.New(), Event: q.Get("event"), DistinctID: "hogfake", Time: at, Properties: properties}
		project.AddEvent(e)
		ids = append(ids, e.UUID)
	}
	return map[string]any{"uuids": ids}, nil
}

func (c control) fail(q url.Values, n int) (any, error) {
	status, err := strconv.Atoi(q.Get("status"))
	if err != nil || status < 200 || status > 599 {
		return nil, fmt.Errorf("status must be from 200 to 599, not %q", q.Get("status"))
	}
	fault := hogapitest.Status(status)
	if after := q.Get("retry_after"); after != "" {
		fault = fault.WithHeader("Retry-After", after)
	}
	c.fake.Script(ops.Op(q.Get("op")), hogapitest.Repeat(max(n, 1), fault))
	return map[string]any{}, nil
}

func (c control) state() any {
	ledger := c.fake.Ledger()
	breaches := []string{}
	for _, b := range c.fake.Breaches() {
		breaches = append(breaches, b.String())
	}
	return map[string]any{
		"commits": ledger.Len(), "unique": ledger.Unique(), "duplicates": ledger.Duplicates(), "dropped": len(ledger.Dropped()),
		"breaches": breaches,
	}
}
