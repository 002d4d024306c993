package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/examples/internal/demotest"
	"github.com/hogapi/hogapi/hogapitest"
)

// A process that was killed, or interrupted, continues where it was: no event is lost or changed.
func TestAProcessThatEndedContinues(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "import")
	built, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", built)
	for name, signal := range map[string]os.Signal{"killed": os.Kill, "interrupted": os.Interrupt} {
		t.Run(name, func(t *testing.T) {
			const events = 12_000 // more than an interrupted run still sends within its grace of 5 s
			folder := t.TempDir()
			write(t, filepath.Join(folder, "events.jsonl"), events)
			server := hogapitest.New()
			environment := os.Environ()
			for name, value := range demotest.Service(t, server) {
				environment = append(environment, name+"="+value)
			}
			start := func(args ...string) (*exec.Cmd, *strings.Builder) {
				var out strings.Builder
				cmd := exec.CommandContext(t.Context(), binary, append(args, "-id", "shop", "events.jsonl")...)
				cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = folder, environment, &out, &out
				require.NoError(t, cmd.Start())
				return cmd, &out
			}

			first, out := start("-rate", "1000")
			require.Eventually(t, func() bool { return server.Ledger().Len() >= 2500 }, time.Minute, 5*time.Millisecond)
			require.NoError(t, first.Process.Signal(signal))
			require.Error(t, first.Wait())
			held := server.Ledger().Unique()
			require.Less(t, held, events, "it was ended on the way")
			if signal == os.Interrupt {
				assert.Contains(t, out.String(), "the same command with -resume continues at the place in shop.checkpoint")
			}

			second, out := start("-rate", "-1", "-resume")
			require.NoError(t, second.Wait(), "%s", out)
			assert.Contains(t, out.String(), "read 12000 = acknowledged 12000 + rejected 0 + pending 0")
			ledger := server.Ledger()
			assert.Equal(t, events, ledger.Unique())
			assert.Empty(t, ledger.Changed())
			assert.LessOrEqual(t, ledger.Duplicates(), 2000, "no more than was in flight is sent again")
		})
	}
}
