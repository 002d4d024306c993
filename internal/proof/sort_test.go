//go:build linux

package proof_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/internal/testevents"
)

var _ = addTask("sort", sortFile)

// sortFile reads a sorted file, and reports the time and the memory that this took.
func sortFile(w task) (report childReport) {
	start, n, last := time.Now(), 0, time.Time{}
	source := formats.Sorted(hogapi.FileSource(columnFormat, w.File), w.State)
	for ev, err := range source.Events(context.Background(), hogapi.Position{}) {
		switch {
		case err != nil:
			report.Error = err.Error()
		case ev.Timestamp.Before(last):
			report.Error = "not in order"
		}
		n++
		last = ev.Timestamp
	}
	report.Values = map[string]float64{"peak": resident("VmHWM"), "seconds": time.Since(start).Seconds(), "events": float64(n)}
	return report
}

// columnFormat reads lines of a time, a person and a text, separated by commas.
var columnFormat = hogapi.Format{
	Name: "columns", Layout: hogapi.LayoutTSV, Columns: []string{"line"},
	Convert: func(record []byte) ([]hogapi.Event, error) {
		line := record[len(`{"line":"`) : len(record)-len(`"}`)]
		at, err := time.Parse(time.RFC3339, string(line[:20]))
		return []hogapi.Event{{Name: "page viewed", DistinctID: string(line[21:29]), Timestamp: at, RawProperties: record}}, err
	},
}

// Events in no order are sorted in little memory. The test prints the time next to that of sort, which only compares a leading column of
// times, and does not check it: other tests run at the same time.
func TestSortingOfALargeFile(t *testing.T) {
	measuresMemory(t)
	t.Parallel()
	n := sized(200_000, 1_000_000, 10_000_000)
	path := filepath.Join(t.TempDir(), "events")
	f, err := os.Create(path)
	require.NoError(t, err)
	w := bufio.NewWriter(f)
	random := rand.New(rand.NewPCG(1, 1))
	for i := range n {
		at := testevents.LongAgo.Add(time.Duration(random.IntN(1e8)) * time.Second)
		fmt.Fprintf(w, "%s,p%07d,/some/page/%d of a site with a rather long path and a reference to another page\n", at.Format(time.RFC3339), random.IntN(1e6), i)
	}
	require.NoError(t, w.Flush())
	require.NoError(t, f.Close())
	_, r := leastResident(t, func() *child { return startChild(t, task{Do: "sort", File: path, State: t.TempDir()}) }, nil)
	require.Empty(t, r.Error)
	require.EqualValues(t, n, r.Values["events"])
	assertResident(t, mostResident, r.Values["peak"])
	took := r.Values["seconds"]
	start := time.Now()
	c := exec.Command("sort", "-s", "-t,", "-k1,1", "-S", "64M", "--parallel=2", "-o", path+".sorted", path)
	c.Env = append(os.Environ(), "LC_ALL=C")
	if err := c.Run(); err != nil {
		t.Logf("no sort to compare with: %v", err)
		return
	}
	compared := time.Since(start).Seconds()
	t.Logf("%d events: %.1f s, and sort %.1f s (%.1f times); at most %.1f MiB resident", n, took, compared, took/compared, r.Values["peak"]/(1<<20))
}
