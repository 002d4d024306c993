package hogapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/destination"
)

const (
	testPersonalKey = "phx_CanaryPersonalKey0123456789"
	testProjectKey  = "phc_CanaryProjectKey0123456789"
	testBase        = "https://us.posthog.com/api/projects/12345"
)

// newTestClient is a client whose requests go to the returned mock.
func newTestClient(t *testing.T, options ...Option) (*Client, *httpmock.MockTransport) {
	t.Helper()
	mock := httpmock.NewMockTransport()
	client, err := NewClient(append([]Option{
		WithRegion(RegionUS), WithProject("12345"), WithPersonalAPIKey(testPersonalKey), WithProjectAPIKey(testProjectKey),
		WithHTTPClient(&http.Client{Transport: mock}),
	}, options...)...)
	require.NoError(t, err)
	return client, mock
}

func TestDoSendsWhatItIsToldTo(t *testing.T) {
	client, mock := newTestClient(t)
	mock.RegisterResponder("GET", testBase+"/insights/?limit=2", func(r *http.Request) (*http.Response, error) {
		require.Equal(t, "Bearer "+testPersonalKey, r.Header.Get("Authorization"))
		return httpmock.NewStringResponse(200, `{"count": 7}`), nil
	})
	var out struct{ Count int }
	err := client.Do(context.Background(), Request{Method: "GET", Path: "/insights/", Query: map[string][]string{"limit": {"2"}}}, &out)
	require.NoError(t, err)
	require.Equal(t, 7, out.Count)
}

// What Do could not decode into, and a replay class that is none, are refused before anything is sent.
func TestDoRefusesWhatItCannotCarryOut(t *testing.T) {
	client, mock := newTestClient(t)
	var none *struct{ ID int }
	for _, out := range []any{none, struct{ ID int }{}, map[string]any{}, 7} {
		requireInputError(t, client.Do(t.Context(), Request{Method: "POST", Path: "/insights/"}, out), "out")
	}
	requireInputError(t, client.Do(t.Context(), Request{Method: "POST", Path: "/insights/", Replay: ReplayNever + 1}, nil), "Replay")
	require.Zero(t, mock.GetTotalCallCount())
}

// JSON has no way to send what is no UTF-8; a password would be stored as another one.
func TestBodyThatIsNoUTF8(t *testing.T) {
	client, mock := newTestClient(t)
	for name, config := range map[string]destination.Config{
		"secret": destination.Postgres{Password: Set(NewSecret("p\xe4ss"))},
		"text":   destination.Postgres{Host: Set("h\xff")},
		"escape": destination.Postgres{Host: Set(`\\` + "\xff")},
		"extra":  destination.Postgres{Extra: destination.Extra{"a\xff": json.RawMessage("1")}},
	} {
		_, err := client.BatchExports.Create(t.Context(), BatchExportRequest{
			Name: "x", Model: ModelEvents, Interval: IntervalHour, Destination: Destination{Type: destination.TypePostgres, Config: config},
		})
		require.ErrorAs(t, err, new(*InputError), name)
		require.NotContains(t, err.Error(), "ss", name)
	}
	_, err := client.BatchExports.Update(t.Context(), testExportID, BatchExportUpdateRequest{Name: Set("\xff")})
	requireInputError(t, err, "body")
	require.Zero(t, mock.GetTotalCallCount())

	mock.RegisterResponder("POST", testBase+"/insights/", httpmock.NewStringResponder(200, "{}"))
	for _, text := range []string{"\uFFFD", `\ufffd`} {
		require.NoError(t, client.Do(t.Context(), Request{Method: "POST", Path: "/insights/", Body: map[string]string{"a": text}}, nil))
	}
}

// Bytes would become a text in base64, and a reader an empty object.
func TestBodyThatIsNoValue(t *testing.T) {
	client, mock := newTestClient(t)
	for _, body := range []any{[]byte(`{"a":1}`), strings.NewReader(`{"a":1}`)} {
		requireInputError(t, client.Do(t.Context(), Request{Method: "POST", Path: "/insights/", Body: body}, nil), "body")
		requireInputError(t, client.BatchExports.Pause(t.Context(), testExportID, WithBody(body)), "body")
	}
	require.Zero(t, mock.GetTotalCallCount())
}

func TestNilOptions(t *testing.T) {
	_, err := NewClient(WithRegion(RegionUS), WithProject("1"), WithPersonalAPIKey(testPersonalKey), nil)
	requireInputError(t, err, "option")
	client, mock := newTestClient(t)
	requireInputError(t, get(t.Context(), client, nil), "option")
	_, err = client.BatchExports.Unpause(t.Context(), testExportID, nil, nil)
	requireInputError(t, err, "option")
	for _, err := range client.BatchExports.All(t.Context(), nil, nil) {
		requireInputError(t, err, "option")
	}
	require.Zero(t, mock.GetTotalCallCount())
}
