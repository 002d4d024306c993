package hogapi

import (
	"context"
	"net/http"
	"testing"

	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/require"
)

const (
	testPersonalKey = "phx_CanaryPersonalKey0123456789"
	testProjectKey  = "phc_CanaryProjectKey0123456789"
	testBase        = "https://us.posthog.com/api/environments/12345"
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
