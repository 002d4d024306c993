package history

import (
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
)

const (
	testPersonalKey = "phx_CanaryPersonalKey0123456789"
	testProjectKey  = "phc_CanaryProjectKey0123456789"
	queryTry        = time.Minute // the least time limit of a try of a query
)

func newFakeClient(t *testing.T, transport http.RoundTripper, options ...hogapi.Option) *hogapi.Client {
	t.Helper()
	client, err := hogapi.NewClient(append([]hogapi.Option{
		hogapi.WithRegion(hogapi.RegionUS), hogapi.WithProject("12345"), hogapi.WithPersonalAPIKey(testPersonalKey),
		hogapi.WithProjectAPIKey(testProjectKey), hogapi.WithHTTPClient(&http.Client{Transport: transport}),
	}, options...)...)
	require.NoError(t, err)
	return client
}

// roundTrip is a transport that is a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(r *http.Request, status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {"application/json"}},
		ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}
}

func walked[T any](t *testing.T, seq iter.Seq2[T, error]) (all []T) {
	t.Helper()
	for item, err := range seq {
		require.NoError(t, err)
		all = append(all, item)
	}
	return all
}

func as[T error](t *testing.T, err error) (found T) {
	t.Helper()
	require.ErrorAs(t, err, &found)
	return found
}

var errCut = errors.New("the connection was cut")

func bubble(test func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}

// Each error names the given input and the required one.
func TestInputsAreNamed(t *testing.T) {
	client, ctx := newFakeClient(t, roundTrip(func(*http.Request) (*http.Response, error) { return nil, errCut })), t.Context()
	_, imported := Import(ctx, client, JSONLines(t.TempDir()+"/*.jsonl"), &Options{ID: "i"})
	_, unit := Verify(ctx, client, event.Receipt{ID: "x"}, &VerifyOptions{Patience: 24})
	_, noClient := Import(ctx, nil, JSONLines("e.jsonl"), &Options{ID: "i"})
	_, zeroClient := Verify(ctx, new(hogapi.Client), event.Receipt{ID: "x"}, nil)
	for says, err := range map[string]error{
		"no such file or directory: a pattern is not the name of a file": imported,
		"VerifyOptions.Patience": unit,
		"hogapi: import: client": noClient,
		"hogapi: verify: client": zeroClient,
	} {
		require.ErrorContains(t, err, says)
	}
	assert.ErrorAs(t, noClient, new(*hogapi.InputError))
	assert.ErrorAs(t, zeroClient, new(*hogapi.InputError))
}
