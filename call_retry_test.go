package hogapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/ops"
)

// Go-retryablehttp repeats every method: one create became five.
func TestTrapT01CreateIsSentOnce(t *testing.T) {
	failures := map[string]step{"cut": fails(errCut), "silence": hangs}
	for _, status := range []int{408, 500, 502, 503, 504} {
		failures[http.StatusText(status)] = answers(status, "")
	}
	for name, call := range onceCalls() {
		for kind, failure := range failures {
			t.Run(name+"/"+kind, bubble(func(t *testing.T) {
				s := newScript(failure)
				err := call(t.Context(), newFakeClient(t, s))
				require.ErrorIs(t, err, ErrOutcomeUnknown)
				require.EqualValues(t, 1, s.tries.Load())
			}))
		}
	}
}

// A Retry-After of an hour was slept through although the longest wait was set to 30 s.
func TestTrapT02RetryAfterOverTheCapIsAnErrorAtOnce(t *testing.T) {
	for _, value := range []string{"61", "3600", "Fri, 01 Jan 2100 00:00:00 GMT"} {
		t.Run(value, bubble(func(t *testing.T) {
			s, start := newScript(answers(429, "", "Retry-After", value)), time.Now()
			err := get(t.Context(), newFakeClient(t, s))
			api := as[*APIError](t, err)
			require.Greater(t, api.RetryAfter, time.Minute)
			require.EqualValues(t, 1, s.tries.Load())
			require.Zero(t, time.Since(start))
		}))
	}
}

// Fractions, blanks and two of the three HTTP dates were ignored.
func TestTrapT04EveryFormOfRetryAfterIsObeyed(t *testing.T) {
	const date = "Sat, 01 Jan 2000 00:00:00 GMT" // when virtual time begins
	for value, want := range map[string]time.Duration{
		"7":                                7 * time.Second,
		" 7 ":                              7 * time.Second,
		"007":                              7 * time.Second,
		"1.5":                              1500 * time.Millisecond,
		"0.25":                             250 * time.Millisecond,
		".5":                               500 * time.Millisecond,
		"60":                               time.Minute,
		"Sat, 01 Jan 2000 00:00:09 GMT":    9 * time.Second, // RFC 1123
		"Saturday, 01-Jan-00 00:00:09 GMT": 9 * time.Second, // RFC 850
		"Sat Jan  1 00:00:09 2000":         9 * time.Second, // asctime
		" Sat, 01 Jan 2000 00:00:09 GMT":   9 * time.Second,
	} {
		for _, skew := range []time.Duration{0, 24 * time.Hour, -24 * time.Hour} {
			for _, status := range []int{408, 429, 500, 502, 503, 504} {
				t.Run(fmt.Sprintf("%q, clock off by %v, %d", value, skew, status), bubble(func(t *testing.T) {
					s := newScript(answers(status, "", "Retry-After", value, "Date", date), answers(200, `{}`))
					clock := func() time.Time { return time.Now().Add(skew) }
					require.NoError(t, get(t.Context(), newFakeClient(t, s, WithClock(clock))))
					require.Len(t, s.waits(), 1)
					require.InDelta(t, want, s.waits()[0], float64(time.Millisecond))
				}))
			}
		}
	}
}

// A wait that could not end before the deadline was slept through, and the error said only "deadline exceeded".
func TestTrapT06HopelessWaitIsNotStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
		defer cancel()
		s, start := newScript(answers(429, `{"code":"throttled"}`, "Retry-After", "30")), time.Now()
		err := get(ctx, newFakeClient(t, s))
		require.Less(t, time.Since(start), 10*time.Millisecond)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, ErrRateLimited)
		api := as[*APIError](t, err)
		require.Equal(t, 30*time.Second, api.RetryAfter)
		require.NoError(t, ctx.Err(), "the deadline is still to come")
	})
}

// A total outage multiplied the load by the number of tries.
func TestTrapT14OutageDoesNotMultiplyTheLoad(t *testing.T) {
	t.Parallel()
	for kind, failure := range map[string]step{"503": answers(503, ""), "cut": fails(errCut)} {
		t.Run(kind, bubble(func(t *testing.T) {
			calls := longer(2500, 10_000, 10_000)
			s := newScript(failure)
			client := newFakeClient(t, s)
			for range calls {
				require.Error(t, get(t.Context(), client))
			}
			requests := float64(s.tries.Load()) / float64(calls)
			t.Logf("%.4f requests a call", requests)
			require.LessOrEqual(t, requests, 1.05)

			s.steps = []step{answers(200, `{}`)}
			for range 500 {
				require.NoError(t, get(t.Context(), client))
			}
			require.Equal(t, httptry.MaxTokens, tokens(client), "full capacity is back")
		}))
	}
}

// tokens takes all that the retry budget of a client holds.
func tokens(client *Client) (n int) {
	for client.core.tokens.Take(1) {
		n++
	}
	return n
}

func TestRetryPolicyOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(answers(503, ""))
		require.Error(t, get(t.Context(), newFakeClient(t, s, WithRetryPolicy(RetryPolicy{MaxTries: 1}))))
		require.EqualValues(t, 1, s.tries.Load())

		s = newScript(answers(503, "", "Retry-After", "300"), answers(200, `{}`))
		require.NoError(t, get(t.Context(), newFakeClient(t, s, WithRetryPolicy(RetryPolicy{MaxRetryAfter: time.Hour}))))
		require.Equal(t, []time.Duration{5 * time.Minute}, s.waits())
	})
	_, err := NewClient(WithRegion(RegionUS), WithoutProject(), WithPersonalAPIKey(testPersonalKey),
		WithRetryPolicy(RetryPolicy{MaxTries: 101, BaseDelay: -1, MaxDelay: -1, MaxRetryAfter: -1}))
	for _, field := range []string{"MaxTries", "BaseDelay", "MaxDelay", "MaxRetryAfter"} {
		assert.ErrorContains(t, err, "RetryPolicy."+field)
	}
}

// recorder is a server that keeps everything that reaches it, as text.
type recorder struct {
	*httptest.Server

	mu  sync.Mutex
	got []string
}

func newRecorder(t *testing.T, handler http.HandlerFunc) *recorder {
	rec := &recorder{}
	rec.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		rec.mu.Lock()
		rec.got = append(rec.got, fmt.Sprint(r.Method, " ", r.Host, r.URL, r.Header, string(body)))
		rec.mu.Unlock()
		handler(w, r)
	}))
	t.Cleanup(rec.Close)
	return rec
}

// take returns the requests since the last call.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.got
	r.got = nil
	return got
}

// namedHosts makes every host name lead to one of two servers: home.test to the first, all others to the second.
func namedHosts(t *testing.T, home, other *recorder) *http.Transport {
	transport := httptry.DefaultTransport()
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == "home.test:80" {
			return dial(ctx, network, home.Listener.Addr().String())
		}
		other.mu.Lock()
		other.got = append(other.got, "a connection to "+address)
		other.mu.Unlock()
		return dial(ctx, network, other.Listener.Addr().String())
	}
	transport.DialTLSContext = transport.DialContext // https is only a name here
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// redirectTargets are places of every kind, and whether they are at http://home.test.
var redirectTargets = map[string]bool{
	"/new/place/":                    true,
	"place/":                         true,
	"//home.test/new/place/":         true,
	"http://home.test/new/place/":    true,
	"http://home.test:80/new/place/": true,
	"HTTP://HOME.TEST/new/place/":    true,
	"http://other.test/":             false,
	"//other.test/":                  false,
	"http://sub.home.test/":          false,
	"http://home.test.other.test/":   false,
	"http://test/":                   false,
	"http://home.test:8080/":         false,
	"https://home.test/":             false,
	"https://home.test:80/":          false,
	"http://user:word@home.test/":    false,
	"http://home.test@other.test/":   false,
	"http://home.test%2eother/":      false,
	"http://home.test\\@other.test/": false,
	"ftp://home.test/":               false,
	"javascript:alert(1)":            false,
	"http://[::1":                    false,
	"":                               false,
}

// Redirects lead to no other origin, and only a 307 or 308 is followed within its own. The keys stay where they belong.
func TestRedirects(t *testing.T) {
	const home = "http://home.test"
	var status int
	var location string
	atHome := newRecorder(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/place/") {
			w.WriteHeader(http.StatusCreated)
			return
		}
		w.Header()["Location"] = []string{location}
		w.WriteHeader(status)
	})
	elsewhere := newRecorder(t, func(http.ResponseWriter, *http.Request) {})
	client := newFakeClient(t, namedHosts(t, atHome, elsewhere), WithRegion(""), WithBaseURL(home), WithInsecureHTTP())

	for _, status = range []int{300, 301, 302, 303, 304, 305, 307, 308} {
		for to, same := range redirectTargets {
			location = to
			t.Run(fmt.Sprintf("%d to %q", status, location), func(t *testing.T) {
				err := create(t.Context(), client)
				require.Empty(t, elsewhere.take(), "neither a key nor anything else")
				got := atHome.take()
				if same && (status == 307 || status == 308) {
					require.NoError(t, err)
					require.Len(t, got, 2)
					require.Contains(t, got[1], "POST ")
					require.Contains(t, got[1], "Bearer "+testPersonalKey)
					require.Contains(t, got[1], `{"name":"x"}`)
					return
				}
				require.Len(t, got, 1)
				api := as[*APIError](t, err)
				require.Equal(t, status, api.StatusCode)
				require.Contains(t, err.Error(), "not followed")
				require.Equal(t, status != 307 && status != 308, errors.Is(err, ErrOutcomeUnknown), "only these two say that nothing was done")
			})
		}
	}
}

// A million ids (in the long form) stay in their segment of the path, or are refused.
func TestFuzzedIDsStayInTheirSegment(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	alphabet := []rune("abcXYZ019_-@./\\%2eF?#;:&= \t\n\x00\x7f\u00e9\u2024\u2215\uff0f\ufffd\U0001f994")
	client, accepted := newFakeClient(t, newScript()), 0
	for range longer(20_000, 200_000, 1_000_000) {
		id := make([]rune, random.IntN(6))
		for i := range id {
			id[i] = alphabet[random.IntN(len(alphabet))]
		}
		for want, r := range map[string]request{
			"batch_exports/" + string(id) + "/runs/run/logs":                 endpoint(ops.RunsLogs, string(id), "run"),
			"app_metrics/7/historical_exports/" + url.PathEscape(string(id)): endpoint(ops.AppMetricsHistoricalExport, "7", string(id)),
		} {
			if r.refusal != nil {
				require.ErrorIs(t, refused(ops.Do, r.refusal), ErrInvalid)
				continue
			}
			accepted++
			x, err := client.prepare(t.Context(), r, callConfig{}, DefaultAPIPath)
			require.NoError(t, err)
			parsed, err := url.Parse(x.URL) // as a server reads it
			require.NoError(t, err)
			require.Equal(t, "/api/projects/12345/"+want+"/", parsed.EscapedPath())
			require.Equal(t, "us.posthog.com", parsed.Host)
			require.Empty(t, parsed.RawQuery+parsed.Fragment)
		}
	}
	require.Positive(t, accepted)
}

// FuzzLocation: for any redirect, nothing leaves the origin, and the call ends.
func FuzzLocation(f *testing.F) {
	for _, to := range []string{
		"", "/x", "//evil/", "https://us.posthog.com/x", "https://us.posthog.com:443/x", "https://us.posthog.com@evil/", "https://us.posthog.com:8443/", "http://us.posthog.com/",
		"https://US.posthog.com/x", "https://us.posthog.com./", "https:us.posthog.com", "https:///evil", "\\\\evil", "/\\evil", "http://[::1", "%zz", "\x00", "javascript:x", "?x", "#x", "..", "/../..//evil",
	} {
		f.Add(to, uint8(7))
		f.Add(to, uint8(2))
	}
	f.Fuzz(func(t *testing.T, to string, code uint8) {
		status, tries := 300+int(code%100), 0
		client := newFakeClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			tries++
			require.Equal(t, "https://us.posthog.com:443", httptry.OriginOf(r.URL))
			require.Equal(t, "us.posthog.com", r.URL.Host)
			require.Equal(t, "Bearer "+testPersonalKey, r.Header.Get("Authorization"))
			return answer(r, status, "", "Location", to), nil
		}))
		err := create(t.Context(), client)
		api := as[*APIError](t, err)
		require.Equal(t, status, api.StatusCode)
		require.LessOrEqual(t, tries, 1+httptry.MaxRedirects)
		require.NotContains(t, err.Error(), "evil")
	})
}
