package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// export writes a Mixpanel export of n events, 7 hours apart, in the time of a zone as if it were
// UTC. Every bad-th record has no time; 0: every record has one.
func export(t *testing.T, dir, name string, n, bad int, zone *time.Location) {
	t.Helper()
	var b bytes.Buffer
	at := time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		arrived := at.Add(time.Duration(i) * 7 * time.Hour)
		_, ahead := arrived.In(zone).Zone()
		stamp := fmt.Sprintf(`"time":%d,`, arrived.Unix()+int64(ahead))
		if bad > 0 && i%bad == 0 {
			stamp = ""
		}
		fmt.Fprintf(&b, `{"event":"%s","properties":{%s"distinct_id":"user-%d","$insert_id":"id%06d","plan":"pro <b>","mp_processing_time_ms":%d}}`+"\n",
			[]string{"Sign up", "Search", "<script>alert(1)</script>"}[i%3], stamp, i%19, i, arrived.UnixMilli()+700)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600))
}

func pacific(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("America/Los_Angeles")
	require.NoError(t, err)
	return zone
}
