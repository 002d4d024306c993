//go:build unix

package proof_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
)

// someRows returns n rows. Some are equal to the row before, some are bad, and some make two events. A third have a uuid.
func someRows(n int) (rows [][4]string) {
	for i := range n {
		at := testevents.LongAgo.Add(time.Duration(i) * 300 * time.Millisecond)
		row := [4]string{"one", fmt.Sprint("p", i%17), at.Format(time.RFC3339Nano), ""}
		switch {
		case i%3 == 0:
			row[3] = uuid.NewSHA1(uuid.NameSpaceURL, []byte(fmt.Sprint(i))).String()
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

// rowFiles are rows as files.
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
	kills := sized(20, 40, 100)
	for kind, write := range rowFiles {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			rows := someRows(sized(3000, 10_000, 20_000))
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

			random := randomMoments(t)
			for k := range kills {
				_, resent := bench.killAt(t, random, int(float64(bench.N)*(float64(k)+random.Float64())/float64(kills+1)))
				require.LessOrEqual(t, resent, bench.Delivery.MaxInFlight, "resent after a kill")
			}
			got := runChild(t, bench.task)
			require.Empty(t, got.Error)
			requireSameEvents(t, whole, bench.server)
			require.Equal(t, want.Receipt.Digest, got.Receipt.Digest)
			require.Equal(t, want.Receipt.Days, got.Receipt.Days)
			require.Equal(t, want.Receipt.Rejects, got.Receipt.Rejects)
			t.Logf("%d kills; %d events, of which %d were sent twice", kills, bench.N, bench.server.Ledger().Duplicates())
		})
	}
}
