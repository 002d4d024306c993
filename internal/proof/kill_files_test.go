//go:build unix

package proof_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/testevents"
)

// someRows returns n rows. Some are equal to the row before, some are bad, and some make two events. A third have a uuid.
func someRows(n int) (rows [][4]string) {
	for i := range n {
		at := testevents.LongAgo.Add(time.Duration(i) * 300 * time.Millisecond)
		row := [4]string{"one", fmt.Sprint("p", i%17), at.Format(time.RFC3339Nano), ""}
		switch {
		case i%3 == 0:
			row[3] = uuid.NewSHA1(uuid.NameSpaceURL, fmt.Append(nil, i)).String()
		case i%11 == 0:
			row[2] = "never"
		case i%7 == 0:
			row[0] = "two"
		case i%5 == 0:
			row = rows[i-1]
		}
		rows = append(rows, row)
	}
	return rows
}

var rowFiles = map[string]func(t *testing.T, rows [][4]string) (name, content string){
	"csv": func(_ *testing.T, rows [][4]string) (name, content string) {
		var b strings.Builder
		b.WriteString("event,distinct_id,timestamp,uuid\n")
		for _, r := range rows {
			fmt.Fprintf(&b, "%s,\"%s\",%s,%s\n", r[0], r[1], r[2], r[3])
		}
		return "rows.csv", strings.ReplaceAll(b.String(), ",\n", ",00000000-0000-0000-0000-000000000000\n")
	},
	"zip": func(t *testing.T, rows [][4]string) (name, content string) {
		t.Helper()
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		const parts = 7
		for part := range parts {
			w, err := z.Create(fmt.Sprintf("app/app_2024-05-01_%d#1.json.gz", parts+part))
			require.NoError(t, err)
			packed := gzip.NewWriter(w)
			for _, r := range rows[len(rows)*part/parts : len(rows)*(part+1)/parts] {
				object := map[string]string{"event": r[0], "distinct_id": r[1], "timestamp": r[2]}
				if r[3] != "" {
					object["uuid"] = r[3]
				}
				require.NoError(t, json.NewEncoder(packed).Encode(object))
			}
			require.NoError(t, packed.Close())
		}
		require.NoError(t, z.Close())
		return "rows.zip", b.String()
	},
}

// Imports of tables and of zip files are killed again and again, at random moments all over them. In the end the service has the same
// events as after an undisturbed import: no event is lost or changed.
func TestKilledInOtherFiles(t *testing.T) {
	t.Parallel()
	kills := testevents.Sized(20, 40, 100)
	for kind, write := range rowFiles {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			rows := someRows(testevents.Sized(3000, 10_000, 20_000))
			name, content := write(t, rows)
			whole, bench := hogapitest.New(), &killBench{server: hogapitest.New()}
			bench.open(t, "", 0)
			bench.Kind, bench.File = kind, writeFile(t, name, content)
			bench.Delivery = hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxInFlight: 500, MaxBatchEvents: 50, Lanes: 4}}
			undisturbed := bench.task
			undisturbed.URL, undisturbed.State = serve(t, whole), filepath.Join(t.TempDir(), "undisturbed")
			want := runChild(t, undisturbed)
			require.Empty(t, want.Error)
			bench.N = int(want.Receipt.Read)
			require.Greater(t, bench.N, len(rows), "some rows make two events")

			_, resent := bench.killAll(t, kills)
			require.LessOrEqual(t, resent, bench.Delivery.MaxInFlight, "resent after a kill")
			got := bench.end(t)
			requireSameEvents(t, whole, bench.server)
			require.Equal(t, want.Receipt.Digest, got.Digest)
			require.Equal(t, want.Receipt.Days, got.Days)
			require.Equal(t, want.Receipt.Rejects, got.Rejects)
			t.Logf("%d kills; %d events, of which %d were sent twice", kills, bench.N, bench.server.Ledger().Duplicates())
		})
	}
}

func (w task) isSorted(t *testing.T) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(w.sorted(), "sorted.json"))
	if err != nil {
		return false
	}
	text, ok := durable.Unseal("sorting", text)
	require.True(t, ok)
	var state struct{ Done bool }
	require.NoError(t, json.Unmarshal(text, &state))
	return state.Done
}

// linkedRows returns rows in no order of time. Some are bad or equal, and some persons share a device. The rows are wide, so that they
// are sorted in several parts.
func linkedRows(n int) string {
	wide := strings.Repeat("x", 700)
	var b strings.Builder
	for i := range n {
		at := testevents.LongAgo.Add(time.Duration(i*7919%n) * 300 * time.Millisecond).Format(time.RFC3339Nano)
		if i%101 == 0 {
			at = "never"
		}
		name := [...]string{"one", "two", "three", "four"}[i%4]
		line := fmt.Sprintf(`{"event":%q,"distinct_id":"p%d","device":"d%d","timestamp":%q,"wide":%q}`+"\n", name, i%1200, i%1100, at, wide)
		if b.WriteString(line); i%50 == 0 {
			b.WriteString(line)
		}
	}
	return b.String()
}

// An import of sorted rows and their links is killed while it sorts, while it finds the links, and while it sends either. In the end the
// service has the same events as after an undisturbed import, in the same order, and no temporary folder is left.
func TestKilledWhileSorting(t *testing.T) {
	t.Parallel()
	const rounds = 2
	kills := testevents.Sized(20, 40, 100) / rounds
	content := linkedRows(testevents.Sized(12_000, 25_000, 50_000))
	whole := hogapitest.New()
	undisturbed := task{
		Do: "import", Kind: "sorted", URL: serve(t, whole), File: writeFile(t, "rows.jsonl", content), State: t.TempDir(),
		Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxInFlight: 2000, MaxBatchEvents: 500, Lanes: 4}},
	}
	require.NoError(t, os.Mkdir(undisturbed.temporary(), 0o700))
	want := runChild(t, undisturbed)
	require.Empty(t, want.Error)
	require.Positive(t, want.Receipt.Skipped, "shared devices")
	random := randomMoments(t)
	for range rounds {
		bench := &killBench{server: hogapitest.New()}
		bench.open(t, "", int(want.Receipt.Read))
		bench.Kind, bench.File, bench.Delivery, bench.State = undisturbed.Kind, undisturbed.File, undisturbed.Delivery, t.TempDir()
		require.NoError(t, os.Mkdir(bench.temporary(), 0o700))
		const whileLinking, maxWhileSorting = 1, 4
		whileSorting, left := 0, 0
		for k := range kills {
			switch after := k - whileSorting; {
			case !bench.isSorted(t) && whileSorting < maxWhileSorting:
				whileSorting++
				bench.killSoonAfter(t, time.Duration(random.IntN(60_000))*time.Microsecond, func() bool {
					_, err := os.Stat(bench.sorted())
					return err == nil
				})
			case after < whileLinking:
				before := bench.temporaryFolders(t)
				bench.killSoonAfter(t, time.Duration(random.IntN(20_000))*time.Microsecond, func() bool {
					return bench.settledIn(t) > 0 || bench.isSorted(t) && slices.ContainsFunc(bench.temporaryFolders(t), func(name string) bool { return !slices.Contains(before, name) })
				})
				left += len(bench.temporaryFolders(t))
			default:
				share := (float64(after-whileLinking) + random.Float64()) / float64(kills-whileSorting-whileLinking+1)
				bench.killAt(t, random, int(float64(want.Receipt.Read)*share))
			}
		}
		require.Positive(t, left, "temporary folders after kills")
		got := bench.end(t)
		requireSameEvents(t, whole, bench.server)
		require.Equal(t, want.Receipt.Digest, got.Digest)
		require.Equal(t, want.Receipt.Rejects, got.Rejects)
		require.Equal(t, want.Receipt.Skips, got.Skips)
		assert.Empty(t, bench.temporaryFolders(t))
		runs, err := filepath.Glob(filepath.Join(bench.sorted(), "run-*"))
		require.NoError(t, err)
		assert.Len(t, runs, 1, "sorted files")
		t.Logf("%d of %d kills while it sorted, and %d while it found links; %d of %d events were sent twice",
			whileSorting, kills, whileLinking, bench.server.Ledger().Duplicates(), bench.server.Ledger().Len())
	}
}

func (w task) temporaryFolders(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(w.temporary(), "*"))
	require.NoError(t, err)
	return found
}

// requireSameEvents requires that two services have the same events, and that no event was stored twice with different content.
func requireSameEvents(t *testing.T, want, got *hogapitest.Server) {
	t.Helper()
	events := func(s *hogapitest.Server) map[uuid.UUID]string {
		all := map[uuid.UUID]string{}
		for ev := range s.Ledger().Events() {
			all[ev.UUID] = ev.Event + " " + ev.DistinctID + " " + ev.Time.UTC().String() + " " + string(ev.Properties)
		}
		return all
	}
	were, are := events(want), events(got)
	require.Len(t, are, len(were))
	for id, text := range were {
		require.Equal(t, text, are[id])
	}
	require.Empty(t, got.Ledger().Changed(), "duplicates that are not the same")
}
