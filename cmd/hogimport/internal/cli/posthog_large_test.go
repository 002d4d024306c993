//go:build linux

package cli_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	parquetgo "github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/cmd/internal/peak"
	"github.com/hogapi/hogapi/internal/testevents"
)

// wholeRow has all columns of an export to S3.
type wholeRow struct {
	UUID             string    `parquet:"uuid,optional"`
	Timestamp        time.Time `parquet:"timestamp,optional,timestamp(microsecond)"`
	InsertedAt       time.Time `parquet:"_inserted_at,optional,timestamp(microsecond)"`
	CreatedAt        time.Time `parquet:"created_at,optional,timestamp(microsecond)"`
	Event            string    `parquet:"event,optional"`
	Properties       string    `parquet:"properties,optional"`
	DistinctID       string    `parquet:"distinct_id,optional"`
	ElementsChain    string    `parquet:"elements_chain,optional"`
	PersonProperties string    `parquet:"person_properties,optional"`
	PersonID         string    `parquet:"person_id,optional"`
}

// wholeRowOf is the row of a number, with the properties of a web page. Rows are in no order.
func wholeRowOf(r *rand.Rand, i, n int) wholeRow {
	at := time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC).Add(time.Duration(r.IntN(n)) * time.Second / 4)
	person := r.IntN(n/20 + 1)
	row := wholeRow{
		UUID: fmt.Sprintf("018c0000-0000-7000-8000-%012x", i), Timestamp: at, InsertedAt: at.Add(time.Minute), CreatedAt: at.Add(2 * time.Second),
		Event: []string{"$pageview", "$autocapture", "$pageleave", "order placed", "$identify"}[i%5], DistinctID: "person-" + strconv.Itoa(person),
		Properties: fmt.Sprintf(`{"$os":"Mac OS X","$browser":"Chrome","$browser_version":%d,"$device_type":"Desktop","$current_url":"https://shop.example/products/%d?utm_source=%d",`+
			`"$host":"shop.example","$screen_height":1080,"$screen_width":1920,"$lib":"web","$lib_version":"1.96.%d","$insert_id":"%x","$time":%d.%03d,"$session_id":"%x","$window_id":"%x",`+
			`"$set":{"plan":"pro","seats":%d},"$groups":{"company":"acme-%d"},"$group_0":"acme-%d","price":%d.99,"title":"A product with \"quotes\" and ümlauts %d"}`,
			100+r.IntN(30), r.IntN(5000), r.IntN(10), r.IntN(50), r.Uint64(), at.Unix(), r.IntN(1000), r.Uint64(), r.Uint64(), r.IntN(50), i%97, i%97, r.IntN(300), i),
		PersonProperties: fmt.Sprintf(`{"email":"p%d@example.com","plan":"pro","$initial_referrer":"https://google.com","$initial_current_url":"https://shop.example/"}`, person),
		PersonID:         fmt.Sprintf("018c0000-0000-7000-8000-%012x", person),
	}
	if row.Event == "$autocapture" {
		row.ElementsChain = `button.btn.primary:text="Buy"nth-child="1"nth-of-type="1"attr__class="btn primary";div.product:nth-child="2"nth-of-type="1"`
	}
	return row
}

// writeBoth writes the same rows as Parquet and as JSON lines, both with zstd.
func writeBoth(t *testing.T, dir string, n int) {
	t.Helper()
	p, err := os.Create(filepath.Join(dir, "rows.parquet"))
	require.NoError(t, err)
	l, err := os.Create(filepath.Join(dir, "rows.jsonl.zst"))
	require.NoError(t, err)
	pw := parquetgo.NewGenericWriter[wholeRow](p, parquetgo.Compression(&parquetgo.Zstd), parquetgo.MaxRowsPerRowGroup(100_000))
	packed, err := zstd.NewWriter(l)
	require.NoError(t, err)
	lw, r := bufio.NewWriter(packed), rand.New(rand.NewPCG(1, 2))
	for i := range n {
		row := wholeRowOf(r, i, n)
		_, err := pw.Write([]wholeRow{row})
		require.NoError(t, err)
		const layout = "2006-01-02T15:04:05.999999-07:00"
		_, err = fmt.Fprintf(lw, `{"uuid":%q,"timestamp":%q,"_inserted_at":%q,"created_at":%q,"event":%q,"properties":%s,"distinct_id":%q,"elements_chain":%q,"person_properties":%s,"person_id":%q}`+"\n",
			row.UUID, row.Timestamp.Format(layout), row.InsertedAt.Format(layout), row.CreatedAt.Format(layout), row.Event, row.Properties,
			row.DistinctID, row.ElementsChain, row.PersonProperties, row.PersonID)
		require.NoError(t, err)
	}
	for _, end := range []func() error{pw.Close, p.Close, lw.Flush, packed.Close, l.Close} {
		require.NoError(t, end())
	}
}

// separateFake runs a fake in its own process, without the race detector, which stores only the parts of an event
// needed for counts.
func separateFake(t *testing.T, binary string) (address string, end func()) {
	t.Helper()
	fake := exec.CommandContext(t.Context(), binary, "-empty", "-compact", "-addr", "127.0.0.1:0")
	out, err := fake.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, fake.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return regexp.MustCompile(`http://\S+`).FindString(line), func() {
		_ = fake.Process.Kill()
		_ = fake.Wait()
	}
}

// Rows of Parquet go nearly as fast as the same rows as JSON lines, in bounded memory: no other test measures the whole
// way of a default export. They are run in turn, three times; processor time decides, since others use the machine too.
func TestPostHogParquetIsFast(t *testing.T) {
	n := testevents.Sized(3000, 100_000, 1_000_000)
	rounds := testevents.Sized(1, 3)
	p := clitest.New(t, nil)
	writeBoth(t, p.Dir, n)
	binary := filepath.Join(t.TempDir(), "hogfake")
	built, err := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", binary, "github.com/hogapi/hogapi/hogapitest/cmd/hogfake").CombinedOutput()
	require.NoError(t, err, "%s", built)
	cpu, wall := map[string]time.Duration{}, map[string]time.Duration{}
	for round := range rounds {
		var ratio [2]float64
		for i, file := range []string{"rows.jsonl.zst", "rows.parquet"} {
			address, end := separateFake(t, binary)
			p := p.With("POSTHOG_HOST="+address, "POSTHOG_PROJECT_API_KEY=phc_hogapitestProjectKey0000000000000000000000")
			cmd := p.Command(t.Context(), t, "run", file, "--format", "posthog", "--yes", "--rate", "none", "--state", fmt.Sprint("state-", round, i))
			begun := time.Now()
			finish := clitest.Start(t, cmd)
			most := peak.Watch(cmd.Process.Pid)
			r := finish()
			resident := most()
			took := time.Since(begun)
			end()
			require.Equal(t, 0, r.Code, r.Stderr)
			clitest.Says(t, r.Stdout, "no record left out or rejected")
			used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			cpu[file] += used
			wall[file] += took
			ratio[i] = float64(used)
			t.Logf("%s: %d rows, %v, %v of processors, %.0f rows/s, %d MiB resident", file, n, took.Round(time.Millisecond), used.Round(time.Millisecond), float64(n)/took.Seconds(), resident>>20)
			assert.Less(t, resident, int64(160<<20), "bytes")
			require.NoError(t, os.RemoveAll(filepath.Join(p.Dir, fmt.Sprint("state-", round, i))))
		}
		t.Logf("round %d: Parquet takes %.2f times the processor time", round+1, ratio[1]/ratio[0])
	}
	t.Logf("Parquet takes %.2f times the time", float64(wall["rows.parquet"])/float64(wall["rows.jsonl.zst"]))
	if n >= 100_000 { // else the start of the program counts for most
		assert.Less(t, float64(cpu["rows.parquet"]), 1.3*float64(cpu["rows.jsonl.zst"]))
	}
}
