package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/hogapitest"
)

// The webhook gets one message for each change, repeated until it is accepted, but not after a restart.
func TestWebhook(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 0, 20, 0, 0, time.UTC)
	w := newWatching(t, start)
	status, got := http.StatusOK, []message{}
	service := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m message
		assert.NoError(t, json.Unmarshal(body, &m), "%s", body)
		assert.NotContains(t, string(body), hogapitest.DefaultPersonalKey)
		out.WriteHeader(status)
		if status == http.StatusOK {
			got = append(got, m)
		}
	}))
	t.Cleanup(service.Close)
	hook, err := newWebhook(service.URL + "/s3cret")
	require.NoError(t, err)
	outage := [2]time.Time{start.Add(2 * time.Hour), start.Add(5 * time.Hour)}
	w.export("lake <!channel>", "hour", "UTC", func(_, end time.Time) (hogapitest.Outcome, bool) {
		return hogapitest.Outcome{}, end.Before(outage[0]) || end.After(outage[1])
	})
	m := w.monitor
	m.hook = hook
	events := func(hours int) (all []string) {
		w.clock.add(time.Duration(hours) * time.Hour)
		require.NoError(t, m.look(t.Context()))
		got = []message{}
		if err := m.tell(t.Context()); err != nil {
			assert.NotContains(t, err.Error(), "s3cret")
			assert.NotContains(t, err.Error(), "http")
		}
		for _, x := range got {
			all = append(all, x.Event)
		}
		return all
	}
	assert.Empty(t, events(0))
	assert.Empty(t, events(1))
	status = http.StatusServiceUnavailable
	assert.Empty(t, events(3), "it is not taken")
	status = http.StatusOK
	first := events(0)
	assert.Contains(t, first, "behind")
	require.NotEmpty(t, got)
	assert.Contains(t, got[0].Text, "lake &lt;!channel&gt; (hour to BigQuery, ")
	assert.Empty(t, events(0), "once")
	m.save()
	m = w.another(t, m.store)
	m.hook = hook
	assert.Empty(t, events(0), "after a restart")
	all := append(events(4), events(1)...)
	assert.Contains(t, all, "behind_ended")
	assert.Contains(t, append(first, all...), "gap_began")
	_, err = newWebhook("hooks.example/x")
	assert.ErrorContains(t, err, "is not a URL")
}
