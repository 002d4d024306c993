//go:build linux

package cli_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/cmd/internal/peak"
	"github.com/hogapi/hogapi/internal/testevents"
)

// The memory of a check does not grow with its files: 1 GiB at night, with more ids than are remembered.
func TestCheckMemory(t *testing.T) {
	p := clitest.New(t, nil)
	most := testevents.Sized[int64](24<<20, 256<<20, 1<<30)
	f, err := os.Create(filepath.Join(p.Dir, "big.jsonl"))
	require.NoError(t, err)
	w, written := bufio.NewWriter(f), int64(0)
	for i := 0; written < most; i++ {
		person := "distinct_id"
		if i%5 == 0 {
			person = "nobody"
		}
		n, err := fmt.Fprintf(w, `{"event":"event %d","properties":{"time":%d,"%s":"user-%d","$insert_id":"%016x","$browser":"Chrome",`+
			`"$current_url":"https://shop.example/products/%d?utm_source=newsletter&utm_medium=email","mp_processing_time_ms":%d,`+
			`"plan":"professional","cart value":%d.5,"items":%d,"experiment variant":"B, with the new checkout"}}`+"\n",
			i%23, 1672531200+i*20, person, i%100_003, i, i%977, (1672531200+int64(i)*20)*1000, i%90, i%7)
		require.NoError(t, err)
		written += int64(n)
	}
	require.NoError(t, w.Flush())
	require.NoError(t, f.Close())
	cmd := p.Command(t.Context(), t, "check", "big.jsonl", "--format", "mixpanel", "--report", "report.html", "--left-out", "left-out.txt")
	finish := clitest.Start(t, cmd)
	end := peak.Watch(cmd.Process.Pid)
	r := finish()
	resident := end()
	require.Equal(t, 0, r.Code, r.Stderr)
	require.NotZero(t, resident)
	t.Logf("%d MiB of files: %d KiB resident", written>>20, resident>>10)
	assert.Less(t, resident, int64(256<<20), "bytes")
	assert.FileExists(t, filepath.Join(p.Dir, "left-out.txt"))
}
