package hogapi

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/httptry"
)

// Answers that do not prove that nothing was done leave a call that must not be repeated of unknown outcome.
func TestAnswersThatRefuseNothing(t *testing.T) {
	for name, answered := range map[string]step{
		"300":                answers(300, ""),
		"301":                answers(301, "", "Location", "/elsewhere/"),
		"302":                answers(302, "", "Location", "/elsewhere/"),
		"303":                answers(303, "", "Location", "/elsewhere/"),
		"304":                answers(304, ""),
		"408":                answers(408, ""),
		"429 of a page":      answers(429, "<html>Slow down"),
		"429 of a proxy":     answers(429, `{"message":"API rate limit exceeded"}`),
		"429 of few words":   answers(429, "slow down", "Content-Type", "text/plain"),
		"429 of none":        answers(429, ""),
		"500":                answers(500, ""),
		"501":                answers(501, ""),
		"501 of its own":     answers(501, `{"type":"server_error","code":"error"}`),
		"505":                answers(505, ""),
		"answer of no words": answers(599, ""),
	} {
		for call, do := range onceCalls() {
			s := newScript(answered, answers(201, "{}"))
			err := do(t.Context(), newFakeClient(t, s))
			require.ErrorIs(t, err, ErrOutcomeUnknown, "%s, %s", call, name)
			require.EqualValues(t, 1, s.tries.Load(), "%s, %s", call, name)
			require.NotErrorIs(t, get(t.Context(), newFakeClient(t, newScript(answered), WithRetryPolicy(RetryPolicy{MaxTries: 1}))), ErrOutcomeUnknown, "a read")
		}
	}
}

// A call whose request a host has read was sent, although the next connection, after a redirect or for another try, is refused.
func TestCallThatWasReadIsSent(t *testing.T) {
	refuses := fails(&net.OpError{Op: "dial", Err: errCut})
	synctest.Test(t, func(t *testing.T) {
		s := newScript(answers(307, "", "Location", "/elsewhere/"), refuses)
		err := create(t.Context(), newFakeClient(t, s))
		require.ErrorIs(t, err, ErrOutcomeUnknown)
		require.NotContains(t, err.Error(), "nothing was sent")
		require.EqualValues(t, 2, s.tries.Load(), "the request, and that after the redirect")

		s = newScript(fails(errCut), refuses)
		err = get(t.Context(), newFakeClient(t, s))
		transport, ok := errors.AsType[*TransportError](err)
		require.True(t, ok)
		require.True(t, transport.Sent)
		require.Equal(t, 4, transport.Tries)
		require.NotContains(t, err.Error(), "nothing was sent")
	})
}

// A 303 to a call says that it was carried out, and where its result is.
func TestSeeOtherMeansDone(t *testing.T) {
	_, err := newFakeClient(t, newScript(answers(303, "", "Location", "/elsewhere/"))).BatchExports.Create(t.Context(), hostileExport())
	unknown, ok := errors.AsType[*OutcomeUnknownError](err)
	require.True(t, ok)
	require.True(t, unknown.Done)
	require.ErrorContains(t, err, "carried out")
	require.ErrorContains(t, err, "check before you try again")
}

// A success whose body is cut was carried out, and only its answer cannot be read. A page that is cut is not the service's word.
func TestSuccessThatIsCut(t *testing.T) {
	huge := answers(201, `{"id":"`+strings.Repeat("x", httptry.MaxAnswer)+`"}`)
	for name, tt := range map[string]struct {
		answered step
		done     bool
	}{
		"cut":          {cutBody(201, `{"id":"x","name":"y"}`), true},
		"cut at once":  {cutBody(201, "{"), true},
		"too large":    {huge, true},
		"a page, cut":  {cutBody(200, "<html>Welcome to our network"), false},
		"cut before":   {fails(errCut), false},
		"not readable": {answers(201, `{"id":7}`), false},
		"empty":        {answers(201, ""), false},
	} {
		_, err := newFakeClient(t, newScript(tt.answered)).BatchExports.Create(t.Context(), hostileExport())
		require.ErrorIs(t, err, ErrOutcomeUnknown, name)
		unknown, ok := errors.AsType[*OutcomeUnknownError](err)
		require.True(t, ok)
		require.Equal(t, tt.done, unknown.Done, name)
		require.Equal(t, tt.done, strings.Contains(err.Error(), "it was carried out, but its answer could not be read"), err.Error())
		require.Equal(t, !tt.done, strings.Contains(err.Error(), "outcome unknown"), err.Error())
	}
}

// An empty answer typed as HTML, as Django sends its 204, is a success, and so is JSON under that type.
func TestContentTypeCountsOnlyForAPage(t *testing.T) {
	const html = "text/html; charset=utf-8"
	for _, answered := range []step{
		answers(204, "", "Content-Type", html), answers(200, " \n", "Content-Type", html), answers(200, `{"paused":true}`, "Content-Type", html),
		answers(200, "null", "Content-Type", html), answers(200, "[]", "Content-Type", html),
	} {
		client := newFakeClient(t, newScript(answered))
		require.NoError(t, client.BatchExports.Delete(t.Context(), exportA))
		require.NoError(t, client.BatchExports.Pause(t.Context(), exportA))
		require.NoError(t, unpause(t, client))
		require.NoError(t, client.Runs.Cancel(t.Context(), exportA, runA))
		require.NoError(t, client.Backfills.Cancel(t.Context(), exportA, runA))
	}
	_, err := newFakeClient(t, newScript(answers(400, `{"type":"validation_error","code":"required","detail":"Wanted."}`, "Content-Type", html))).BatchExports.Create(t.Context(), hostileExport())
	require.ErrorContains(t, err, "required: Wanted.")
}

// A call that the retry budget has ended early says so.
func TestSpentBudgetIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, failure := range map[string]step{"answer": answers(503, ""), "no answer": fails(errCut)} {
			client := newFakeClient(t, newScript(failure))
			err := get(t.Context(), client)
			require.NotContains(t, err.Error(), "budget", name)
			for client.core.tokens.Take(1) {
			}
			err = get(t.Context(), client)
			require.ErrorContains(t, err, "retry budget is used up", name)
			require.NotContains(t, err.Error(), "tries]", "there was one")
			require.True(t, errors.As(err, new(*APIError)) || errors.As(err, new(*TransportError)))
		}
	})
}

// However many calls have succeeded, the budget holds no more than at the beginning: an outage after 10,000 successes meets as
// few retries as one at once.
func TestSuccessesDoNotSwellTheBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(answers(200, "{}"))
		client := newFakeClient(t, s)
		for range 10_000 {
			require.NoError(t, get(t.Context(), client))
		}
		s.steps = []step{answers(503, "")}
		s.tries.Store(0)
		const calls = 1000
		for range calls {
			require.ErrorIs(t, get(t.Context(), client), ErrServer)
		}
		require.LessOrEqual(t, s.tries.Load(), int64(calls+httptry.MostTokens/httptry.CostOfRetry), "tries")
	})
}

// An HTML 404 comes from a proxy, or from a wrong base path. It says nothing about the thing that was asked for.
func TestForeignNotFound(t *testing.T) {
	const html = "text/html; charset=utf-8"
	for name, tt := range map[string]struct {
		answered step
		isOwn    bool
	}{
		"the service's":       {answers(404, `{"type":"invalid_request","code":"not_found","detail":"Not found."}`), true},
		"no body":             {answers(404, ""), true},
		"a page":              {answers(404, "<!DOCTYPE html><h1>Not Found", "Content-Type", html), false},
		"a page without type": {answers(404, "<html>Not Found"), false},
		"a text of that type": {answers(404, "Not Found", "Content-Type", html), false},
		"a router's text":     {answers(404, "404 page not found\n", "Content-Type", "text/plain"), false},
	} {
		client := newFakeClient(t, newScript(tt.answered))
		for call, do := range map[string]func(context.Context) error{
			"get":  func(ctx context.Context) error { _, err := client.BatchExports.Get(ctx, exportA); return err },
			"run":  func(ctx context.Context) error { _, err := client.Runs.Get(ctx, exportA, runA); return err },
			"list": func(ctx context.Context) error { return last(client.Backfills.All(ctx, exportA, nil)) },
		} {
			err := do(t.Context())
			require.Equal(t, tt.isOwn, errors.Is(err, ErrNotFound), "%s, %s", call, name)
			require.Equal(t, !tt.isOwn, strings.Contains(err.Error(), "check the base URL"), err.Error())
			api, ok := errors.AsType[*APIError](err)
			require.True(t, ok)
			require.Equal(t, 404, api.StatusCode)
		}
	}
}

// Do without the final slash is told so, where that can be the reason.
func TestDoWithoutTheFinalSlash(t *testing.T) {
	const hint = "no final slash"
	for _, answered := range []step{answers(404, "<html>"), answers(404, `{"code":"not_found"}`), answers(301, "", "Location", "/x/")} {
		client := newFakeClient(t, newScript(answered))
		require.ErrorContains(t, client.Do(t.Context(), Request{Method: http.MethodGet, Path: "/insights"}, nil), hint)
		require.NotContains(t, client.Do(t.Context(), Request{Method: http.MethodGet, Path: "/insights/"}, nil).Error(), hint)
	}
	require.NotContains(t, newFakeClient(t, newScript(answers(400, "{}"))).Do(t.Context(), Request{Method: http.MethodGet, Path: "/insights"}, nil).Error(), hint)
}
