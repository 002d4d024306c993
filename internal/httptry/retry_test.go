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

// sent sends a call and answers its tries by the script. The last answer of the script repeats.
func sent(ctx context.Context, t *testing.T, change func(*Call), script ...roundTrip) *Try {
	t.Helper()
	target, err := url.Parse(home)
	require.NoError(t, err)
	n := 0
	base := roundTrip(func(r *http.Request) (*http.Response, error) {
		n++
		return script[min(n, len(script))-1](r)
	})
	x := &Call{
		Method: http.MethodGet, URL: home, Header: http.Header{}, Mark: func(ctx context.Context, _ int) context.Context { return ctx },
		Plan: Plan{Origin: OriginOf(target), Timeout: time.Second, MaxBytes: 100}, Client: NewClients(&http.Client{Transport: base}, 0, nil, nil).API(),
		Policy: Policy{MaxTries: 3, BaseDelay: time.Second, MaxDelay: time.Minute, MaxRetryAfter: time.Minute},
		Tokens: new(Tokens), Keys: []string{testKey}, Now: time.Now, Tried: func(context.Context, *Try) {},
	}
	if change != nil {
		change(x)
	}
	r := x.Send(ctx)
	assert.LessOrEqual(t, r.Number, n)
	return r
}

func TestSend(t *testing.T) {
	t.Parallel()
	busy, own := answers(503, "busy"), answers(404, `{"type":"invalid_request","code":"not_found","detail":"Not found. `+testKey+`"}`, "Content-Type", "application/json")
	for name, tt := range map[string]struct {
		change func(*Call)
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
		"acts again each time":     {func(x *Call) { x.ActsEachTime = true }, []roundTrip{busy}, 1, false, false},
		"a gateway's timeout":      {nil, []roundTrip{answers(504, "slow")}, 3, false, false},
		"one that is not repeated": {func(x *Call) { x.NoRetryIfSlow = true }, []roundTrip{answers(504, "slow")}, 1, false, false},
		"a redirect":               {nil, []roundTrip{answers(302, "", "Location", "https://elsewhere.test/?sig=1")}, 1, false, false},
		"a redirect that is wanted": {func(x *Call) { x.TakesLocation = true },
			[]roundTrip{answers(302, "", "Location", "https://elsewhere.test/?sig=1")}, 1, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := sent(t.Context(), t, tt.change, tt.script...)
				assert.Equal(t, tt.tries, r.Number)
				assert.Equal(t, tt.ok, r.OK)
				assert.Equal(t, tt.gone, r.SaysGone())
				assert.NotContains(t, string(r.Body), testKey)
				if r.Location != "" {
					assert.Equal(t, "https://elsewhere.test/?sig=1", r.Location)
					assert.Equal(t, mask.Redacted, r.Header.Get("Location"), "a signed URL is a secret")
				}
			})
		})
	}
}

// A total outage does not multiply the load: it uses up the tokens. A retry that never began is free.
func TestSendPays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tokens := new(Tokens)
		with := func(x *Call) { x.Tokens = tokens }
		busy := answers(503, "busy")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel) // while it waits for the second try
		r := sent(ctx, t, with, busy)
		assert.Equal(t, 1, r.Number)
		assert.True(t, r.Canceled)
		for range MaxTokens / CostOfRetry / 2 {
			r := sent(t.Context(), t, with, busy)
			assert.Equal(t, 3, r.Number)
			assert.False(t, r.Starved)
		}
		saysRetry := false
		r = sent(t.Context(), t, func(x *Call) {
			with(x)
			x.Tried = func(_ context.Context, r *Try) { saysRetry = r.Retry }
		}, busy)
		assert.Equal(t, 1, r.Number)
		assert.True(t, r.Starved)
		assert.False(t, saysRetry, "no retry is reported that does not follow")
	})
}

// A call pays for each retry, and more after a silence. Success returns the cost of the last retry, or one token if it came
// at the first try, and never more than was spent.
func TestCostOfRetries(t *testing.T) {
	t.Parallel()
	busy, ok := answers(503, "busy"), answers(200, "{}")
	for name, tt := range map[string]struct {
		before, after int // tokens that are spent
		script        []roundTrip
	}{
		"never":               {0, 2 * CostOfRetry, []roundTrip{busy}},
		"silent, then busy":   {0, costTimedOut + CostOfRetry, []roundTrip{hangs, busy}},
		"busy, then well":     {7, 7, []roundTrip{busy, ok}},
		"busy twice":          {7, 7 + CostOfRetry, []roundTrip{busy, busy, ok}},
		"well at once":        {7, 6, []roundTrip{ok}},
		"well, nothing spent": {0, 0, []roundTrip{ok}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tokens := &Tokens{spent: tt.before}
				sent(t.Context(), t, func(c *Call) { c.Tokens = tokens }, tt.script...)
				assert.Equal(t, tt.after, tokens.spent)
			})
		})
	}
}

// A retry that was ended while it was under way costs as much as any other.
func TestARetryThatIsEndedIsPaid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tokens := new(Tokens)
		ctx, cancel := context.WithCancel(t.Context())
		ends := func(r *http.Request) (*http.Response, error) { cancel(); return nil, r.Context().Err() }
		r := sent(ctx, t, func(x *Call) { x.Tokens = tokens }, answers(503, "busy"), ends)
		assert.Equal(t, 2, r.Number)
		assert.True(t, r.Canceled)
		assert.Equal(t, CostOfRetry, tokens.spent)
	})
}

// The error of a call has both the last answer and the reason why there was no further try.
func TestExplain(t *testing.T) {
	t.Parallel()
	last := errors.New("status 503")
	ended, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	for name, tt := range map[string]struct {
		Try
		ctx  context.Context
		says string
		is   error
	}{
		"nothing":  {Try{}, t.Context(), "status 503", last},
		"canceled": {Try{Canceled: true}, ended, "status 503 (the call was ended: context canceled: enough)", cause},
		"starved":  {Try{Decision: Decision{Starved: true}}, t.Context(), "status 503 (not tried again: this client's retry budget is used up", errStarved},
		"too long": {Try{Decision: Decision{TooLong: true, Wait: 2 * time.Second}}, t.Context(), "status 503 (the next try would start in 2s", context.DeadlineExceeded},
	} {
		err := tt.Explain(tt.ctx, last)
		require.ErrorContains(t, err, tt.says, name)
		require.ErrorIs(t, err, tt.is, name)
		require.ErrorIs(t, err, last, name)
	}
	canceled := Try{Canceled: true}
	known := errors.Join(context.Canceled, cause)
	require.Equal(t, known, canceled.Explain(ended, known), "it says so already")
}
