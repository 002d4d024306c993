package fetch

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// For each status that stays: the kind of the problem, the text, and how long it was tried.
func TestStatuses(t *testing.T) {
	for _, c := range []struct {
		status      int
		kind        Kind
		text        string
		least, most time.Duration
	}{
		{http.StatusUnauthorized, KindKey, "Mixpanel refused the key (401 Unauthorized): check the service account", 0, 0},
		{http.StatusForbidden, KindKey, "refused the key (403 Forbidden)", 0, 0},
		{http.StatusPaymentRequired, KindKey, "check that the project's plan has the export", 0, 0},
		{http.StatusBadRequest, KindOther, "refused the request for 1999-12-01 (400 Bad Request)", 0, 0},
		{http.StatusNotFound, KindOther, "(404 Not Found)", 0, 0},
		{http.StatusNoContent, KindOther, "(204 No Content)", 0, 0},
		{http.StatusFound, KindOptions, "a redirect (302 Found), which is not followed", 0, 0},
		{http.StatusInternalServerError, KindOther, "Mixpanel answered 500 Internal Server Error", 50 * time.Minute, time.Hour},
		{http.StatusGatewayTimeout, KindOther, "Mixpanel answered 504 Gateway Timeout", 50 * time.Minute, time.Hour},
		{http.StatusRequestTimeout, KindOther, "Mixpanel answered 408 Request Timeout", 50 * time.Minute, time.Hour},
		{http.StatusTooManyRequests, KindStopped, "Mixpanel has had too many requests (429), and still refuses more", 150 * time.Minute, 3 * time.Hour},
	} {
		t.Run(fmt.Sprint(c.status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &service{handler: func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Location", "https://elsewhere.example/?key="+testSecret)
					w.WriteHeader(c.status)
				}}
				shown := &watcher{}
				j := mixpanelJob(t.TempDir(), "1999-12-01", "1999-12-01")
				j.transport, j.Progress = s.serve(t), shown
				begin := time.Now()
				_, err := j.Run(t.Context())
				requireProblem(t, c.kind, err, c.text)
				require.NotContains(t, err.Error(), "--region", "the host was given")
				assert.GreaterOrEqual(t, time.Since(begin), c.least)
				assert.LessOrEqual(t, time.Since(begin), c.most)
				assert.Equal(t, time.Since(begin), shown.lasting, "every wait is shown")
				assert.Empty(t, files(t, j.Folder))
			})
		})
	}
}

// The advice names the flag of the service's address: the one that was given, or else --region.
func TestWhatToDoNamesTheFlagThatWasGiven(t *testing.T) {
	for flag, vendors := range map[string][]Vendor{
		"--region":      {Mixpanel{Secret: testSecret}, Amplitude{APIKey: testKey, SecretKey: testSecret}},
		"--export-host": {Mixpanel{Host: testHost, Secret: testSecret}, Amplitude{Host: testHost, APIKey: testKey, SecretKey: testSecret}},
	} {
		for _, v := range vendors {
			e, err := v.plan()
			require.NoError(t, err)
			r := &run{export: &e, reached: true}
			for _, status := range []int{http.StatusUnauthorized, http.StatusFound, http.StatusTeapot} {
				_, _, err := r.judgeStatus(&refusal{status: status}, span{}, false, &patience{})
				require.ErrorContains(t, err, flag, status)
			}
			_, _, err = r.judgeOutage("down", 2*outage, &patience{})
			require.ErrorContains(t, err, "check the network and "+flag)
		}
	}
}

// A service that can be used again after some time is, and the wait that it asks for is kept.
func TestWaits(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		after  string
		times  int
		want   time.Duration
		reason string
	}{
		"too many":                  {429, "", 3, (1 + 2 + 4) * time.Minute, "too many requests (429)"},
		"too many, for seconds":     {429, "1234", 2, 2 * 1234 * time.Second, "too many requests (429)"},
		"too many, until a date":    {429, "Sat, 01 Jan 2000 00:45:00 GMT", 1, 45 * time.Minute, "too many requests (429)"},
		"too many, for no time":     {429, "0", 1, time.Minute, "too many requests (429)"},
		"too many, for a moment":    {429, "0.2", 2, 2 * time.Second, "too many requests (429)"},
		"out of order":              {503, "", 4, (1 + 2 + 4 + 8) * time.Second, "answered 503 Service Unavailable"},
		"out of order, for a while": {503, "600", 2, 2 * 600 * time.Second, "answered 503 Service Unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				s := &service{handler: func(w http.ResponseWriter, r *http.Request) {
					if n++; n <= c.times {
						if c.after != "" {
							w.Header().Set("Retry-After", c.after)
						}
						w.WriteHeader(c.status)
						return
					}
					lines(w, r)
				}}
				shown := &watcher{}
				j := mixpanelJob(t.TempDir(), "1999-12-01", "1999-12-01")
				j.transport, j.Progress = s.serve(t), shown
				begin := time.Now()
				_, err := j.Run(t.Context())
				require.NoError(t, err)
				require.Equal(t, c.want, time.Since(begin))
				require.Len(t, shown.waits, c.times)
				require.Contains(t, shown.waits[0], c.reason)
			})
		})
	}
}

// Who is asked to come back tomorrow is not kept waiting.
func TestLongWaits(t *testing.T) {
	for _, after := range []string{"86400", "99999999999999999999"} {
		synctest.Test(t, func(t *testing.T) {
			s := &service{handler: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", after)
				w.WriteHeader(429)
			}}
			j := mixpanelJob(t.TempDir(), "1999-12-01", "1999-12-01")
			j.transport = s.serve(t)
			begin := time.Now()
			_, err := j.Run(t.Context())
			requireProblem(t, KindStopped, err, "asks to wait until 200", "UTC: run the same command again then")
			require.Zero(t, time.Since(begin))
		})
	}
}

// 60 requests an hour and 3 a second are not exceeded: not within a run, nor by runs that follow each other.
func TestMixpanelsLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{handler: lines}
		folder, transport := t.TempDir(), s.serve(t)
		var waits []string
		for _, to := range []string{"1999-08-10", "1999-08-30", "1999-12-01"} {
			shown := &watcher{}
			j := mixpanelJob(folder, "1999-08-01", to)
			j.transport, j.Progress = transport, shown
			_, err := j.Run(t.Context())
			require.NoError(t, err)
			waits = append(waits, shown.waits...)
		}
		require.Len(t, s.times, 123)
		for i := range s.times {
			if i >= 3 {
				require.GreaterOrEqual(t, s.times[i].Sub(s.times[i-3]), time.Second)
			}
			if i >= 60 {
				// The times of earlier runs are kept to the second.
				require.GreaterOrEqual(t, s.times[i].Sub(s.times[i-60]), time.Hour-time.Second)
			}
		}
		require.Less(t, s.times[59].Sub(s.times[0]), time.Minute)
		require.NotEmpty(t, waits)
		require.Equal(t, "Mixpanel takes 60 requests an hour", waits[0])
	})
}

// A range that takes too long before there is an answer is cut, too.
func TestNoAnswerInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{}
		s.handler = func(w http.ResponseWriter, r *http.Request) {
			if len(s.requests()) == 1 {
				<-r.Context().Done()
				return
			}
			rows(w, r)
		}
		j := amplitudeJob(t.TempDir(), "1999-12-01", "1999-12-01")
		j.transport = s.serve(t)
		_, err := j.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"19991201T00 to 19991201T23", "19991201T00 to 19991201T11", "19991201T12 to 19991201T23"}, s.requests())
	})
}
