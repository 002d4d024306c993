package main

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/hogapitest"
)

// A test can control a fake in another process like one in its own.
func TestControl(t *testing.T) {
	url, end := start(t, "-compact")
	defer end()
	count := func() string {
		_, text, _ := call(t, "POST", url+"/api/projects/"+hogapitest.DefaultProject+"/query/", hogapitest.DefaultPersonalKey,
			`{"query":{"kind":"HogQLQuery","query":"SELECT count() AS n, uniqExact(uuid) AS u FROM events WHERE properties.$import_job_id = 'job' AND timestamp < toDateTime('2025-06-01T00:00:00Z')"},"refresh":"force_blocking"}`)
		var out struct{ Results [][]int }
		if json.Unmarshal([]byte(text), &out) != nil || out.Results == nil {
			return text
		}
		return fmt.Sprint(out.Results[0])
	}
	send := func(n string) {
		status, text, _ := call(t, "POST", url+"/batch/", "", `{"api_key":"`+hogapitest.DefaultProjectKey+`","batch":[{"event":"e","distinct_id":"d","timestamp":"2025-01-02","uuid":"00000000-0000-4000-8000-00000000000`+n+`","properties":{"$import_job_id":"job"}}]}`)
		require.Equal(t, 200, status, text)
	}
	act := func(action string) map[string]any {
		status, text, _ := call(t, "POST", url+"/hogfake/"+action, "", "")
		require.Equal(t, 200, status, text)
		var out map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &out))
		return out
	}
	send("1")
	act("hold")
	send("2")
	send("3")
	send("1")
	assert.Equal(t, "[1 1]", count())
	act("release?n=1")
	assert.Equal(t, "[2 2]", count())
	act("release")
	assert.Equal(t, "[4 3]", count())
	act("merge")
	assert.Equal(t, "[3 3]", count())
	assert.Len(t, act("lose?import=job&n=1")["uuids"], 1)
	assert.Len(t, act("move?import=job&n=1&by=8760h")["uuids"], 1)
	assert.Equal(t, "[1 1]", count())
	assert.Len(t, act("add?import=job&n=2&event=e&at=2025-01-02T00:00:00Z")["uuids"], 2)
	assert.Equal(t, "[3 3]", count())
	act("fail?op=query.run&status=504&n=2")
	for range 2 {
		assert.Contains(t, count(), "server_error")
	}
	assert.Equal(t, "[3 3]", count())
	state := act("state")
	assert.Equal(t, []any{4.0, 3.0, 1.0, 0.0, []any{}}, []any{state["commits"], state["unique"], state["duplicates"], state["dropped"], state["breaches"]})
	for _, action := range []string{"nothing", "move?n=1&by=x", "release?n=x", "add?at=x", "fail?status=1"} {
		status, _, _ := call(t, "POST", url+"/hogfake/"+action, "", "")
		assert.Equal(t, 400, status, action)
	}
}
