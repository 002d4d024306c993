//go:build linux && (amd64 || arm64)

package faults

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/internal/testevents"
)

func distantWrites(t *testing.T, w wire, keepAlive bool, options ...hogapi.Option) (*writes, *hogapi.Client) {
	t.Helper()
	service := &writes{}
	server := w.server.serve(service)
	server.Start()
	transport := &http.Transport{DialContext: w.client.dial, MaxIdleConnsPerHost: 16, DisableKeepAlives: !keepAlive}
	t.Cleanup(transport.CloseIdleConnections)
	return service, callsTo(t, server.URL, append([]hogapi.Option{hogapi.WithHTTPClient(&http.Client{Transport: transport})}, options...)...)
}

func share(probability string, rule ...string) []string {
	return append(rule, "-m", "statistic", "--mode", "random", "--probability", probability)
}

func reset(rule []string) []string {
	return append(rule, "-j", "REJECT", "--reject-with", "tcp-reset")
}

func drop(rule []string) []string { return append(rule, "-j", "DROP") }

// The kernel drops and rejects packets: no write is carried out twice, each reports its result, and a request that was provably not sent
// is sent again.
func TestCallsOverBrokenNetworks(t *testing.T) {
	tcp, begin := []string{"-p", "tcp"}, []string{"-p", "tcp", "--syn"}
	for name, tt := range map[string]struct {
		server, client []string // rules for incoming packets
		keepAlive      bool     // otherwise each try has its own connection
		patience       time.Duration
		unknown        bool // some calls end so; otherwise all are carried out
	}{
		"a tenth is lost":         {drop(share("0.1", tcp...)), drop(share("0.1", tcp...)), true, time.Minute, false},
		"half is lost, one way":   {drop(share("0.5", tcp...)), nil, true, 500 * time.Millisecond, true},
		"connections are refused": {reset(share("0.1", begin...)), nil, false, time.Minute, false},
		"connections find nobody": {drop(share("0.1", begin...)), nil, false, time.Minute, false},
		"the client is reset":     {reset(share("0.05", tcp...)), nil, true, time.Minute, true},
		"the service is reset":    {nil, reset(share("0.05", tcp...)), true, time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := testevents.Sized(200, 600, 3000)
			w := newWire(t)
			service, client := distantWrites(t, w, tt.keepAlive, hogapi.WithTryTimeout(tt.patience), hogapi.WithRetryPolicy(hogapi.RetryPolicy{MaxTries: 30, MaxDelay: time.Second}))
			for host, rule := range map[*host][]string{w.server: tt.server, w.client: tt.client} {
				if rule != nil {
					host.filter(rule...)
				}
			}
			results := make([]error, n)
			inParallel(n, 16, func(i int) {
				results[i] = write(t.Context(), client, i)
			})
			v := service.requireHonest(t, results)
			t.Logf("%+v", v)
			require.Zero(t, v.failed)
			require.Equal(t, tt.unknown, v.unknown > 0)
		})
	}
}

// If nobody can reach a service any more, a call takes the time of one try, with or without a connection. Calls succeed as soon as the
// service can be reached again, also on the earlier connections.
func TestCallsIntoSilence(t *testing.T) {
	const patience = time.Second
	w := newWire(t)
	service, client := distantWrites(t, w, true, hogapi.WithTryTimeout(patience), hogapi.WithRetryPolicy(hogapi.RetryPolicy{MaxTries: 1}))
	require.NoError(t, read(t.Context(), client))
	calls := 0
	silent := func(connected bool) {
		t.Helper()
		begin := time.Now()
		err := write(t.Context(), client, calls)
		calls++
		assert.Greater(t, time.Since(begin), patience-100*time.Millisecond)
		assert.Less(t, time.Since(begin), patience+time.Second, "and some room for a busy machine")
		assert.Equal(t, connected, assert.ErrorIs(new(testing.T), err, hogapi.ErrOutcomeUnknown), err)
	}
	w.cut()
	silent(true)
	silent(false)
	silent(false)
	w.heal()
	for range 3 {
		assert.NoError(t, write(t.Context(), client, calls))
		calls++
	}
	results := make([]error, 3)
	for i := range results {
		results[i] = hogapi.ErrOutcomeUnknown
	}
	service.requireHonest(t, results)
}
