package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMain lets the test binary play the sink and the clients.
func TestMain(m *testing.M) {
	if os.Getenv(role) != "" {
		main()
		return
	}
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0") // many short processes
	os.Exit(m.Run())
}

// Every client delivers all its events, and the table has a row for each.
func TestComparison(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(&out, []string{"-n", "2000", "-rounds", "1"}), out.String())
	for _, c := range clients {
		require.Contains(t, out.String(), "| "+c.name+" | ")
	}
	t.Log(out.String())
}

// A missed target fails the command, unless the runs were short. A sink that waits has targets of its own.
func TestTargets(t *testing.T) {
	for _, goal := range targets {
		for _, name := range []string{goal.client, goal.peer} {
			_, err := findClient(name)
			require.NoError(t, err)
		}
	}
	ran := func(wall, cpu time.Duration, allocs uint64) []result {
		one := result{measurement: measurement{Wall: wall, CPU: cpu, Allocs: allocs}}
		return []result{one, one, one}
	}
	for _, row := range []struct {
		name    string
		latency time.Duration
		events  int
		own     []result
		says    string
		fails   bool
	}{
		{name: "reached", events: enough, own: ran(2*time.Second, time.Second, 2), says: "reached: capture: "},
		{name: "slow", events: enough, own: ran(3*time.Second, time.Second, 2), says: "MISSED: capture: ", fails: true},
		{name: "dear", events: enough, own: ran(2*time.Second, 2*time.Second, 2), says: "MISSED: capture: ", fails: true},
		{name: "many allocations", events: enough, own: ran(2*time.Second, time.Second, 2*enough), says: "MISSED: capture: ", fails: true},
		{name: "short runs", events: enough - 1, own: ran(3*time.Second, time.Second, 2), says: "MISSED: capture: "},
		{name: "slow sink", latency: slowSink, events: enough, own: ran(8*time.Second, time.Minute, 2*enough), says: "reached: capture: "},
		{name: "slower than it", latency: slowSink, events: enough, own: ran(9*time.Second, time.Second, 2), says: "MISSED: capture: ", fails: true},
		{name: "a sink without targets", latency: time.Second, events: enough, own: ran(time.Hour, time.Hour, 2)},
	} {
		t.Run(row.name, func(t *testing.T) {
			var out strings.Builder
			p := plan{events: row.events, latency: row.latency}
			err := p.judge(&out, map[string][]result{
				"capture": row.own, "posthog": ran(12*time.Second, time.Second, 2), "posthog-tuned": ran(11*time.Second, time.Second, 2), "limit": ran(time.Second, time.Second, 2),
			})
			require.True(t, strings.HasPrefix(out.String(), row.says), out.String())
			require.Equal(t, row.says == "", out.String() == "")
			require.Equal(t, row.fails, err != nil, "%v", err)
		})
	}
}

func TestEventSize(t *testing.T) {
	ring := newRing(ringSize)
	total := 0
	for i := range ring {
		text := appendEvent(nil, &ring[i], eventID(i))
		require.True(t, json.Valid(text))
		require.Len(t, ring[i].properties, 11)
		total += len(text)
	}
	mean := total / len(ring)
	require.True(t, mean >= 460 && mean <= 500, "mean of %d bytes", mean)
}
