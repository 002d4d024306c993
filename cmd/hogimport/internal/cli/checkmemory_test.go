//go:build linux

package cli_test

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/cmd/internal/peak"
	"github.com/hogapi/hogapi/internal/testevents"
)

// The memory of a check does not grow with its files: 1 GiB at night, with more ids than are remembered, and 5,000,000 persons. Ctrl-C
// ends it within a second.
func TestCheckMemory(t *testing.T) {
	const everybody = math.MaxInt
	for name, tt := range map[string]struct{ lines, persons int }{
		"some persons":  {testevents.Sized(55_000, 600_000, 2_400_000), 100_003},
		"all different": {testevents.Sized(300_000, 1_000_000, 5_000_000), everybody},
	} {
		t.Run(name, func(t *testing.T) {
			p := clitest.New(t, nil)
			f, err := os.Create(filepath.Join(p.Dir, "big.jsonl"))
			require.NoError(t, err)
			w := bufio.NewWriter(f)
			for i := range tt.lines {
				person := "distinct_id"
				if i%5 == 0 && tt.persons < everybody {
					person = "nobody"
				}
				fmt.Fprintf(w, `{"event":"event %d","properties":{"time":%d,"%s":"user-%d","$insert_id":"%016x","$browser":"Chrome",`+
					`"$current_url":"https://shop.example/products/%d?utm_source=newsletter&utm_medium=email","mp_processing_time_ms":%d,`+
					`"plan":"professional","cart value":%d.5,"items":%d,"experiment variant":"B, with the new checkout"}}`+"\n",
					i%23, 1672531200+i*20, person, i%tt.persons, i, i%977, (1672531200+int64(i)*20)*1000, i%90, i%7)
			}
			require.NoError(t, errors.Join(w.Flush(), f.Close()))
			args := []string{"check", "big.jsonl", "--format", "mixpanel", "--report", "report.html", "--left-out", "left-out.txt"}
			cmd := p.Command(t.Context(), t, args...)
			finish := clitest.Start(t, cmd)
			end := peak.Watch(cmd.Process.Pid)
			r := finish()
			resident := end()
			require.Equal(t, 0, r.Code, r.Stderr)
			require.NotZero(t, resident)
			t.Logf("%d lines: %d KiB resident", tt.lines, resident>>10)
			assert.Less(t, resident, int64(256<<20), "bytes")
			assert.FileExists(t, filepath.Join(p.Dir, "left-out.txt"))

			begun, wait := time.Now(), cmd.ProcessState.UserTime()/4
			r = p.Until(t, func() bool { return time.Since(begun) > wait }, os.Interrupt, args...)
			r.Err(t, "interrupted")
			assert.Equal(t, 4, r.Code)
			assert.Less(t, r.Ending, time.Second)
		})
	}
}
