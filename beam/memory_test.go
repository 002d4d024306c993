//go:build linux

package hogbeam_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/beam"
)

// laneOfChild is the variable that makes this program send one lane, and holds what it needs for it.
const laneOfChild = "HOGBEAM_TEST_LANE"

type laneOrder struct {
	Options hogbeam.Options
	Events  int
}

// A lane needs memory for what it sorts at a time, whatever it holds: 256 MiB with the defaults, of which this program without a lane is a part.
func TestALaneStaysWithinItsMemory(t *testing.T) {
	const most = raceFactor * 256 << 10 // KiB
	events := long(250_000, 5_000_000)
	sink := newSink(t)
	t.Setenv(key, "phc_sink")
	order, err := json.Marshal(laneOrder{Events: events, Options: sink.options(t)})
	require.NoError(t, err)
	program, err := os.Executable()
	require.NoError(t, err)
	child := exec.CommandContext(t.Context(), program)
	child.Env = append(os.Environ(), laneOfChild+"="+string(order))
	child.Stderr = t.Output()
	out, err := child.Output()
	require.NoError(t, err)
	acknowledged, peak, ok := strings.Cut(strings.TrimSpace(string(out)), " ")
	require.True(t, ok)
	assert.Equal(t, strconv.Itoa(events), acknowledged)
	kib, err := strconv.Atoi(peak)
	require.NoError(t, err)
	t.Logf("%d events: %d MiB at the most", events, kib>>10)
	assert.Less(t, kib, most)
}

func init() {
	order := os.Getenv(laneOfChild)
	if order == "" {
		return
	}
	var o laneOrder
	err := json.Unmarshal([]byte(order), &o)
	n := 0
	if err == nil {
		n, err = hogbeam.SendLane(context.Background(), o.Options, o.Events)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status, _ := os.ReadFile("/proc/self/status")
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	fmt.Println(n, strings.Fields(peak)[0])
	os.Exit(0)
}
