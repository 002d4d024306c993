package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

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

// The Capture that meets a slow and a fast sink loses nothing, and each stage is shown.
func TestAdapt(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(&out, []string{"-adapt", "-stage", "80ms"}), out.String())
	require.Equal(t, 2+4*len(latencies), strings.Count(out.String(), "\n"), out.String())
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
	require.True(t, mean >= 448 && mean <= 457, "mean of %d bytes", mean)
}
