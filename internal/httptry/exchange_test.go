package httptry

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/mask"
)

// exchanged sends a call and answers its tries by the script. The last answer of the script repeats.
func exchanged(ctx context.Context, t *testing.T, change func(*Exchange), script ...roundTrip) *Result {
	t.Helper()
	target, err := url.Parse(home)
	require.NoError(t, err)
	n := 0
	base := roundTrip(func(r *http.Request) (*http.Response, error) {
		n++
		return script[min(n, len(script))-1](r)
	})
	x := &Exchange{
		Plan: Plan{Origin: OriginOf(target), Timeout: time.Second, MostBytes: 100}, Client: NewClients(&http.Client{Transport: base}, nil, nil).API(),
		Policy:  Policy{MaxTries: 3, BaseDelay: time.Second, MaxDelay: time.Minute, MaxRetryAfter: time.Minute},
		Account: Account{Tokens: NewTokens()}, Keys: []string{testKey}, Now: time.Now, Tried: func(context.Context, *Result) {},
	}
	if change != nil {
		change(x)
	}
	_, err = x.Prepare(ctx, http.MethodGet, home, nil)
	require.NoError(t, err)
	r := x.Send(ctx)
	assert.LessOrEqual(t, r.Tries, n)
	return r
}

func TestExchange(t *testing.T) {
	t.Parallel()
	busy, own := answers(503, "busy"), answers(404, `{"type":"invalid_request","code":"not_found","detail":"Not found. `+testKey+`"}`, "Content-Type", "application/json")
	for name, tt := range map[string]struct {
		change func(*Exchange)
		script []roundTrip
		tries  int
		ok     bool
		gone   bool
	}{
		"at once":                  {nil, []roundTrip{answers(200, "{}")}, 1, true, false},
		"after a failure":          {nil, []roundTrip{busy, answers(200, "{}")}, 2, true, false},
		"never":                    {nil, []roundTrip{busy}, 3, false, false},
		"not found":                {nil, []roundTrip{own}, 1, false, true},
		"a proxy's not found":      {nil, []roundTrip{answers(404, "<html>")}, 1, false, false},
		"acts again each time":     {func(x *Exchange) { x.Once = true }, []roundTrip{busy}, 1, false, false},
		"a gateway's timeout":      {nil, []roundTrip{answers(504, "slow")}, 3, false, false},
		"one that is not repeated": {func(x *Exchange) { x.TooMuchIsFinal = true }, []roundTrip{answers(504, "slow")}, 1, false, false},
		"a redirect":               {nil, []roundTrip{answers(302, "", "Location", "https://elsewhere.test/?sig=1")}, 1, false, false},
		"a redirect that is wanted": {func(x *Exchange) { x.Location = new(string) },
			[]roundTrip{answers(302, "", "Location", "https://elsewhere.test/?sig=1")}, 1, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := exchanged(t.Context(), t, tt.change, tt.script...)
				assert.Equal(t, tt.tries, r.Tries)
				assert.Equal(t, tt.ok, r.HasSucceeded())
				assert.Equal(t, tt.gone, r.SaysGone())
				require.NotNil(t, r.Answer)
				assert.NotContains(t, string(r.Answer.Body), testKey)
				if location := r.call.Location; location != nil {
					assert.Equal(t, "https://elsewhere.test/?sig=1", *location)
					assert.Equal(t, mask.Redacted, r.Answer.Header.Get("Location"), "a signed URL is a secret")
				}
			})
		})
	}
}

// A total outage does not multiply the load: it uses up the tokens. A retry that never began is free.
func TestExchangePays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tokens := NewTokens()
		with := func(x *Exchange) { x.Account.Tokens = tokens }
		busy := answers(503, "busy")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel) // while it waits for the second try
		r := exchanged(ctx, t, with, busy)
		assert.Equal(t, 1, r.Tries)
		assert.True(t, r.Last.Canceled)
		for range MostTokens / CostOfRetry / 2 {
			r := exchanged(t.Context(), t, with, busy)
			assert.Equal(t, 3, r.Tries)
			assert.False(t, r.Starved)
		}
		saysRetry := false
		r = exchanged(t.Context(), t, func(x *Exchange) {
			with(x)
			x.Tried = func(_ context.Context, r *Result) { saysRetry = r.Verdict.Retry }
		}, busy)
		assert.Equal(t, 1, r.Tries)
		assert.True(t, r.Starved)
		assert.False(t, saysRetry, "no retry is reported that does not follow")
	})
}

// A retry that was ended while it was under way costs as much as any other.
func TestARetryThatIsEndedIsPaid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tokens := NewTokens()
		ctx, cancel := context.WithCancel(t.Context())
		ends := func(r *http.Request) (*http.Response, error) { cancel(); return nil, r.Context().Err() }
		r := exchanged(ctx, t, func(x *Exchange) { x.Account.Tokens = tokens }, answers(503, "busy"), ends)
		assert.Equal(t, 2, r.Tries)
		assert.True(t, r.Last.Canceled)
		assert.Equal(t, MostTokens-CostOfRetry, tokens.tokens)
	})
}

// A body that is not a byte slice is read whole into memory first, and may not rewind.
func TestTrapT12BodyIsBytes(t *testing.T) {
	t.Parallel()
	require.IsType(t, []byte{}, rewindable([]byte("{}")), "what go-retryablehttp rewinds without a copy")
	require.Nil(t, rewindable(nil))
}

// The error of a call has both the last answer and the reason why there was no further try.
func TestExplain(t *testing.T) {
	t.Parallel()
	last := errors.New("status 503")
	ended, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	for name, tt := range map[string]struct {
		Result
		ctx  context.Context
		says string
		is   error
	}{
		"nothing":  {Result{}, t.Context(), "status 503", last},
		"canceled": {Result{Last: Outcome{Canceled: true}}, ended, "status 503 (the call was ended: context canceled: enough)", cause},
		"starved":  {Result{Starved: true}, t.Context(), "status 503 (not tried again: this client's retry budget is used up", errStarved},
		"too long": {Result{Verdict: Verdict{TooLong: true, Wait: 2 * time.Second}}, t.Context(), "status 503 (the next try would start in 2s", context.DeadlineExceeded},
	} {
		err := tt.Explain(tt.ctx, last)
		require.ErrorContains(t, err, tt.says, name)
		require.ErrorIs(t, err, tt.is, name)
		require.ErrorIs(t, err, last, name)
	}
	canceled := Result{Last: Outcome{Canceled: true}}
	known := errors.Join(context.Canceled, cause)
	require.Equal(t, known, canceled.Explain(ended, known), "it says so already")
}
