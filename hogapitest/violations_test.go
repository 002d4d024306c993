package hogapitest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// clock is one that a test sets.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// try are the headers of a try.
func try(attempt int, id string, at time.Time) []string {
	return []string{"PostHog-Attempt", fmt.Sprint(attempt), "PostHog-Request-Id", id, "PostHog-Request-Timestamp", at.Format(time.RFC3339Nano)}
}

func broken(w *wire) (list []hogapitest.Rule) {
	for _, b := range w.Violations() {
		list = append(list, b.Rule)
	}
	return list
}

func TestDutiesOfARetry(t *testing.T) {
	other := strings.Replace(requestID, "00a", "00b", 1)
	events := []string{v1Event(1), v1Event(2)}
	later := now.Add(time.Second)
	changed := []byte(strings.Replace(string(v1Batch(events...)), "11:59:59", "11:59:58", 1))
	for name, test := range map[string]struct {
		first hogapitest.Fault
		body  []byte
		try   []string
		want  []hogapitest.Rule
	}{
		"a good retry":                   {hogapitest.Status(503), v1Batch(events...), try(2, requestID, later), nil},
		"of a part":                      {scripted(hogapitest.Result{}, hogapitest.Result{Result: "retry"}), v1Batch(events[1]), try(2, requestID, later), nil},
		"after a gap":                    {hogapitest.Status(503), v1Batch(events...), try(5, requestID, later), nil},
		"attempt not raised":             {hogapitest.Status(503), v1Batch(events...), try(1, requestID, later), []hogapitest.Rule{hogapitest.RuleAttempt}},
		"the same time":                  {hogapitest.Status(503), v1Batch(events...), try(2, requestID, now), []hogapitest.Rule{hogapitest.RuleTimestamp}},
		"created_at changed":             {hogapitest.Status(503), changed, try(2, requestID, later), []hogapitest.Rule{hogapitest.RuleCreatedAt}},
		"another event":                  {hogapitest.Status(503), v1Batch(v1Event(3)), try(2, requestID, later), []hogapitest.Rule{hogapitest.RuleBatch}},
		"another request id":             {hogapitest.CutAfter(), v1Batch(events[0]), try(1, other, later), []hogapitest.Rule{hogapitest.RuleRequestID}},
		"retry under another request id": {scripted(hogapitest.Result{Result: "retry"}, hogapitest.Result{}), v1Batch(events[0]), try(1, other, later), []hogapitest.Rule{hogapitest.RuleRequestID}},
		"halved":                         {hogapitest.Status(413), v1Batch(events[0]), try(1, other, later), nil},
		"after 402":                      {hogapitest.Status(402), v1Batch(events...), try(1, other, later), nil},
		"answered ok":                    {scripted(hogapitest.Result{}, hogapitest.Result{Result: "retry"}), v1Batch(events[0]), try(2, requestID, later), []hogapitest.Rule{hogapitest.RuleFinal}},
		"dropped":                        {scripted(hogapitest.Result{Result: "drop"}, hogapitest.Result{}), v1Batch(events[0]), try(1, other, later), []hogapitest.Rule{hogapitest.RuleFinal}},
		"an unknown word":                {scripted(hogapitest.Result{Result: "limited"}, hogapitest.Result{}), v1Batch(events[0]), try(1, other, later), []hogapitest.Rule{hogapitest.RuleFinal}},
		"a missing result":               {scripted(hogapitest.Result{Absent: true}, hogapitest.Result{}), v1Batch(events[0]), try(2, requestID, later), nil},
		"an answer that is none":         {hogapitest.Acted(hogapitest.HTML(200)), v1Batch(events...), try(2, requestID, later), nil},
	} {
		c := &clock{now}
		w := inProcess(t, hogapitest.WithClock(c.now))
		w.Script(ops.Capture, test.first)
		w.post(v1Batch(events...))
		c.at = later
		require.NotNil(t, w.post(test.body, test.try...).Response, name)
		assert.Equal(t, test.want, broken(w), name)
		for _, b := range w.Violations() {
			assert.Equal(t, b.Rule == hogapitest.RuleFinal || b.Rule == hogapitest.RuleRequestID, b.AfterRestart, name)
			assert.Contains(t, b.String(), string(b.Rule)+": ")
		}
	}
}

// A result that is missing may be asked for once more, not twice.
func TestDutyOfAMissingResult(t *testing.T) {
	c := &clock{now}
	w := inProcess(t, hogapitest.WithClock(c.now))
	w.Script(ops.Capture, hogapitest.Always(scripted(hogapitest.Result{Absent: true})))
	for n, want := range []int{0, 0, 1} {
		c.at = now.Add(time.Duration(n) * time.Second)
		w.post(v1Batch(v1Event(1)), try(n+1, requestID, c.at)...)
		assert.Len(t, w.Violations(), want, n)
	}
	assert.Equal(t, hogapitest.RuleFinal, w.Violations()[0].Rule)
}

// While the clock stands, a retry's time cannot be new. And an answer that nobody can read says nothing of an event.
func TestNoDuty(t *testing.T) {
	w := inProcess(t)
	w.Script(ops.Capture, hogapitest.Repeat(3, hogapitest.Acted(hogapitest.HTML(200))))
	for n := range 4 {
		w.post(v1Batch(v1Event(1)), try(n+1, requestID, now)...)
	}
	assert.Empty(t, w.Violations())
}

func TestDutiesOfABatch(t *testing.T) {
	w := inProcess(t)
	w.post([]byte(`{"created_at":"2026-03-04T11:59:59Z","batch":[` + v1Event(1) + `]}`))
	assert.Equal(t, []hogapitest.Rule{hogapitest.RuleHistorical}, broken(w))

	w = inProcess(t)
	w.post(v1Batch(v1Event(1, "options", ""), v1Event(2, "properties", `{"distinct_id":"a","$session_id":"s","$window_id":7,"$ignore_sent_at":true}`)))
	assert.Equal(t, []hogapitest.Rule{hogapitest.RuleSkew, hogapitest.RuleRoot, hogapitest.RuleRoot, hogapitest.RuleRoot}, broken(w))

	// A probe is no batch, nor is a request that the service refuses.
	w = inProcess(t)
	w.post([]byte(`{"created_at":"2026-03-04T11:59:59Z","batch":[]}`))
	w.post([]byte(`{"created_at":"2026-03-04T11:59:59Z","batch":[{}]}`))
	assert.Empty(t, w.Violations())
}

// One import comes on one protocol.
func TestDutyOfTheProtocol(t *testing.T) {
	for _, options := range [][]hogapitest.Option{nil, {hogapitest.WithCompactLedger()}} {
		w := inProcess(t, options...)
		job := func(e, id string) string { return strings.Replace(e, `{"n":`, `{"$import_job_id":"`+id+`","n":`, 1) }
		require.Equal(t, 200, w.batch(historical(job(event(1), "a"))).StatusCode)
		require.Equal(t, 200, w.post(v1Batch(job(v1Event(2), "b"))).StatusCode)
		require.Empty(t, w.Violations())
		require.Equal(t, 200, w.post(v1Batch(job(v1Event(3), "a")), try(1, strings.Replace(requestID, "00a", "00b", 1), now)...).StatusCode)
		assert.Equal(t, []hogapitest.Rule{hogapitest.RuleProtocol}, broken(w))
	}
}

func TestVerifyNamesBreaches(t *testing.T) {
	w := inProcess(t)
	w.post([]byte(`{"created_at":"2026-03-04T11:59:59Z","batch":[` + v1Event(1) + `]}`))     // no import
	w.post(v1Batch(v1Event(1)), try(1, strings.Replace(requestID, "00a", "00b", 1), now)...) // may be a new run
	f := &told{}
	w.Verify(f)
	require.Len(t, f.errors, 1)
	assert.Contains(t, f.errors[0], "historical_migration")
}
