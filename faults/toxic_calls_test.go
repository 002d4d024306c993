package faults

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
)

// Calls over toxic lines: no write is carried out twice, and each reports its result.
func TestCallsOverToxicLines(t *testing.T) {
	type attributes = map[string]int
	n := sized(150, 450, 1500)
	for name, tt := range map[string]struct {
		toxics   []toxic
		patience time.Duration
		unknown  bool // some calls end so
	}{
		"latency":              {[]toxic{{"latency", upstream, 1, attributes{"latency": 20, "jitter": 15}}, {"latency", downstream, 1, attributes{"latency": 20, "jitter": 15}}}, time.Minute, false},
		"bandwidth":            {[]toxic{{"bandwidth", upstream, 1, attributes{"rate": 20}}, {"bandwidth", downstream, 1, attributes{"rate": 10}}}, time.Minute, false},
		"a byte at a time":     {[]toxic{{"slicer", upstream, 1, attributes{"average_size": 1, "delay": 10}}}, time.Minute, false},
		"slow close":           {[]toxic{{"slow_close", upstream, 1, attributes{"delay": 100}}, {"limit_data", downstream, 1, attributes{"bytes": 1000}}}, time.Minute, true},
		"requests are cut":     {[]toxic{{"limit_data", upstream, 1, attributes{"bytes": 1500}}}, time.Minute, true},
		"answers are cut":      {[]toxic{{"limit_data", downstream, 1, attributes{"bytes": 700}}}, time.Minute, true},
		"reset":                {[]toxic{{"reset_peer", downstream, 0.3, attributes{"timeout": 2}}, {"limit_data", upstream, 1, attributes{"bytes": 3000}}}, time.Minute, true},
		"silence, then an end": {[]toxic{{"timeout", downstream, 0.3, attributes{"timeout": 100}}, {"limit_data", upstream, 1, attributes{"bytes": 3000}}}, time.Minute, true},
		"silence":              {[]toxic{{"timeout", upstream, 0.3, attributes{"timeout": 0}}, {"limit_data", upstream, 1, attributes{"bytes": 3000}}}, time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := &writes{}
			line := newLine(t, newServer(t, service))
			for _, x := range tt.toxics {
				line.add(x)
			}
			client := callsTo(t, line.url(), hogapi.WithTryTimeout(tt.patience), hogapi.WithRetryPolicy(hogapi.RetryPolicy{MaxTries: 30, MaxDelay: time.Second}))
			results := make([]error, n)
			inParallel(n, 8, func(i int) {
				assert.NoError(t, read(t.Context(), client), "a call that may be repeated survives all this") // and leaves a connection to use again
				results[i] = write(t.Context(), client, i)
			})
			v := service.requireHonest(t, results)
			require.Zero(t, v.failed, "a connection can always be had, so nothing is provably unsent for long")
			require.Equal(t, tt.unknown, v.unknown > 0, v)
			t.Logf("%+v", v)
		})
	}
}
