package hogapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestIngestionWarnings(t *testing.T) {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	client, mock := newTestClient(t, WithClock(func() time.Time { return now }))
	var query url.Values
	list := func(o *IngestionWarningListOptions, body string) ([]IngestionWarning, error) {
		mock.RegisterResponder("GET", `=~ingestion_warnings_v2/`, func(r *http.Request) (*http.Response, error) {
			query = r.URL.Query()
			return httpmock.NewStringResponse(200, body), nil
		})
		return client.IngestionWarnings.List(t.Context(), o)
	}
	warnings, err := list(nil, `[{"type":"event_dropped_too_old","category":"event","severity":"info","count":7,"last_seen":"2026-05-31T00:00:00Z",
		"sparkline":[{"timestamp":"2026-05-31T00:00:00Z","count":7}],"new":1,
		"samples":[{"timestamp":"2026-05-31T00:00:00Z","source":"plugin-server","pipeline_step":"x","event_uuid":null,"distinct_id":"<b>","person_id":null,"group_key":null,"details":{"a":1}}]}]`)
	require.NoError(t, err)
	at := time.Date(2026, 5, 31, 0, 0, 0, 0, time.UTC)
	assert.Equal(t, []IngestionWarning{{
		Type: "event_dropped_too_old", Category: "event", Severity: WarningSeverityInfo, Count: 7, LastSeen: at, Sparkline: []WarningCount{{at, 7}},
		Samples: []WarningSample{{Timestamp: at, Source: new("plugin-server"), PipelineStep: new("x"), DistinctID: new("<b>"), Details: json.RawMessage(`{"a":1}`)}},
	}}, warnings)
	assert.Equal(t, url.Values{"limit": {"500"}, "since": {"2026-03-03T00:00:00Z"}}, query, "not the hidden default of 24 hours")

	warnings, err = list(&IngestionWarningListOptions{
		Type: "t", Category: "c", Severity: WarningSeverityError, Search: "s", Since: at, Until: now, Ordering: WarningsByLastSeen, Samples: 50,
	}, `[]`)
	require.NoError(t, err)
	assert.Empty(t, warnings)
	assert.Equal(t, url.Values{
		"limit": {"500"}, "type": {"t"}, "category": {"c"}, "severity": {"error"}, "q": {"s"}, "since": {"2026-05-31T00:00:00Z"}, "until": {"2026-06-01T00:00:00Z"},
		"order_by": {"last_seen"}, "samples": {"50"},
	}, query)
	_, err = list(&IngestionWarningListOptions{Until: at.AddDate(-1, 0, 0)}, `[]`)
	require.NoError(t, err)
	assert.Less(t, query.Get("since"), query.Get("until"))

	for _, body := range []string{`{}`, `null`, `[{}]`, `[null]`, `[{"type":"t","count":-1}]`, `[{"type":"t","count":1,"sparkline":[{"count":-1}]}]`} {
		_, err = list(nil, body)
		require.ErrorAs(t, err, new(*DecodeError), body)
	}
	before := mock.GetTotalCallCount()
	for field, o := range map[string]*IngestionWarningListOptions{
		"Severity": {Severity: "Error"}, "Ordering": {Ordering: "-count"}, "Until": {Since: now, Until: at}, "Samples": {Samples: 51},
	} {
		_, err = client.IngestionWarnings.List(t.Context(), o)
		requireInputError(t, err, field)
	}
	assert.Equal(t, before, mock.GetTotalCallCount())
}

// A list of the most warnings that the service gives may lack some.
func TestIngestionWarningsThatMayBeCut(t *testing.T) {
	client, mock := newTestClient(t)
	for _, n := range []int{maxWarnings - 1, maxWarnings} {
		rows := strings.TrimSuffix(strings.Repeat(`{"type":"t","category":"c","severity":"info","count":1},`, n), ",")
		mock.RegisterResponder("GET", `=~/ingestion_warnings_v2/`, httpmock.NewStringResponder(200, "["+rows+"]"))
		list, err := client.IngestionWarnings.List(t.Context(), nil)
		assert.Len(t, list, n)
		assert.Equal(t, n == maxWarnings, errors.Is(err, ErrListCut))
	}
}
