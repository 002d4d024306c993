package cli_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/hogapitest"
)

// A process that is killed twenty times, at its start, among its events and anywhere, loses nothing.
func TestKilledTwentyTimes(t *testing.T) {
	t.Parallel()
	const kills = 20
	events := 30_000
	switch os.Getenv("HOGAPI_TEST") {
	case "nightly":
		events = 100_000
	case "deep":
		events = 400_000
	}
	isBad := func(i int) bool { return i%211 == 5 }
	for name, flags := range map[string][]string{"files": nil, "sorted": {"--sort"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := hogapitest.New(hogapitest.WithCompactLedger())
			p := clitest.New(t, server)
			ids := p.Events(t, "events.jsonl", events, isBad)
			args := append([]string{"run", "events.jsonl", "--yes", "--rate", "4000"}, flags...)
			underWay := 0
			for kill := range kills {
				before, began, anyTime := server.Ledger().Len(), time.Now(), rand.N(80*time.Millisecond)
				isThere := func() bool { return server.Ledger().Len() > before+2000 } // among its events
				if kill%2 == 1 {
					isThere = func() bool { return time.Since(began) > anyTime }
				}
				if r := p.Until(t, isThere, os.Kill, args...); r.Code != 0 && server.Ledger().Unique() < len(ids) {
					underWay++
				}
			}
			require.Greater(t, underWay, kills/2, "most kills met a run that was not at its end")
			require.Greater(t, server.Ledger().Unique(), 8_000, "each run continues where the one before was")
			isUnderWay := server.Ledger().Unique() < len(ids)
			r := p.Ends(t, 0, append(args, "--rate", "none")...)
			if isUnderWay {
				before, after, isSaid := strings.Cut(clitest.Words(r.Stderr), "The last run was killed: ")
				assert.True(t, isSaid)
				assert.Contains(t, after, "sent again. Each keeps its uuid, so PostHog stores it once.")
				assert.NotContains(t, before, "acknowledged", "it comes before the first line of progress")
			}
			clitest.RequireWhole(t, server, ids)
			assert.Contains(t, r.Stdout, "Rejected: "+progress.Number(int64(events-len(ids)))+";", "each reject is counted once")
		})
	}
}

func TestInterruptedItFinishesWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	ids := p.Events(t, "events.jsonl", 8000, nil)
	r := p.Until(t, func() bool { return server.Ledger().Len() > 1000 }, os.Interrupt, "run", "events.jsonl", "--yes", "--rate", "2000")
	require.Equal(t, 4, r.Code, r.Stderr)
	said := clitest.Words(r.Stderr)
	assert.Contains(t, said, "Finishing what is under way. Press Ctrl-C again to stop immediately; either way you can resume.")
	assert.Regexp(t, `of about 8,\d+ records are processed; the position is in hogimport-state/events`, said)
	assert.Contains(t, said, "run the same command again: it continues where it stopped")
	assert.Less(t, server.Ledger().Unique(), 8000)
	p.Ends(t, 0, "run", "events.jsonl", "--rate", "none")
	clitest.RequireWhole(t, server, ids)
	assert.LessOrEqual(t, server.Ledger().Duplicates(), 1, "what was under way was finished: only its last record comes again")
}

func TestInterruptedWhileItSortsItContinuesToSort(t *testing.T) {
	t.Parallel()
	server := hogapitest.New(hogapitest.WithCompactLedger())
	p := clitest.New(t, server)
	ids := p.Events(t, "events.jsonl", 60_000, nil)
	args := []string{"run", "events.jsonl", "--yes", "--rate", "none", "--sort"}
	sorted := filepath.Join(p.Dir, "hogimport-state/events/sorted")
	r := p.Until(t, func() bool { files, _ := os.ReadDir(sorted); return len(files) > 3 }, os.Interrupt, args...)
	require.Equal(t, 4, r.Code, r.Stderr)
	require.Zero(t, server.Ledger().Len(), "it was interrupted before the first event")
	assert.DirExists(t, sorted)
	p.Ends(t, 0, append(args, "--yes=false")...).Err(t, "Continuing the import") // what is sorted is kept, and nothing is asked twice
	clitest.RequireWhole(t, server, ids)
}

func TestInterruptedTwiceItEndsAtOnce(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	ids := p.Events(t, "events.jsonl", 8000, nil)
	cmd := p.Command(t.Context(), t, "run", "events.jsonl", "--yes", "--rate", "100")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { return server.Ledger().Len() > 0 }, time.Minute, time.Millisecond)
	server.SetDown(true)
	require.NoError(t, clitest.Signal(cmd, os.Interrupt))
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
		require.Fail(t, "it does not wait for what is under way", "%s", &out)
	case <-time.After(1500 * time.Millisecond):
	}
	require.NoError(t, clitest.Signal(cmd, os.Interrupt))
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		require.Fail(t, "the second Ctrl-C does not end it")
	}
	require.Equal(t, 4, cmd.ProcessState.ExitCode(), out.String())
	assert.Contains(t, clitest.Words(out.String()), "will be sent again")
	server.SetDown(false)
	p.Ends(t, 0, "run", "events.jsonl", "--rate", "none")
	clitest.RequireWhole(t, server, ids)
}
