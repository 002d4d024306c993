package hogapi_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/durable/simdisk"
)

const commitsFile = "testdata/commits.jsonl.gz"

// commit is a line of the real file, read by encoding/json.
type commit struct {
	Event      string         `json:"event"`
	DistinctID string         `json:"distinct_id"`
	Timestamp  time.Time      `json:"timestamp"`
	UUID       uuid.UUID      `json:"uuid"`
	Properties map[string]any `json:"properties"`
}

func readCommits(t *testing.T) (commits []commit, plain []byte) {
	t.Helper()
	f, err := os.Open(commitsFile)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	plain, err = io.ReadAll(z)
	require.NoError(t, err)
	d := json.NewDecoder(bytes.NewReader(plain))
	d.UseNumber()
	for {
		var c commit
		err := d.Decode(&c)
		if errors.Is(err, io.EOF) {
			return commits, plain
		}
		require.NoError(t, err)
		commits = append(commits, c)
	}
}

// The real file arrives as it is: every event, every instant whatever its zone, every property with its digits.
func TestImportOfRealCommits(t *testing.T) {
	t.Parallel()
	commits, _ := readCommits(t)
	require.Len(t, commits, 11_576)
	server := hogapitest.New()
	receipt, err := server.Client(t).Import(t.Context(), hogapi.JSONLinesFile(commitsFile), &hogapi.ImportOptions{ID: "commits", Rate: hogapi.Unpaced})
	require.NoError(t, err)
	assert.EqualValues(t, len(commits), receipt.Read)
	assert.EqualValues(t, len(commits), receipt.Acknowledged)
	ledger := server.Ledger()
	require.Equal(t, len(commits), ledger.Len())
	added := map[string]bool{"$lib": true, "$lib_version": true, "$geoip_disable": true, "$import_job_id": true, "distinct_id": true}
	for _, want := range commits {
		stored := ledger.Find(want.UUID)
		require.Len(t, stored, 1)
		got := stored[0]
		require.Equal(t, want.Event, got.Event)
		require.Equal(t, want.DistinctID, got.DistinctID)
		require.True(t, want.Timestamp.Equal(got.Time), "%s became %s", want.Timestamp, got.Timestamp)
		properties, _ := decoded(t, got.Properties).(map[string]any)
		for key := range properties {
			if _, own := want.Properties[key]; !own && added[key] {
				delete(properties, key)
			}
		}
		require.Equal(t, want.Properties, properties)
	}
}

// Without uuids in the file, a second run from the start sends the same events again and no new ones. Zipped or not is no matter
// where the name is the same.
func TestImportOfRealCommitsTwiceWithoutUUIDs(t *testing.T) {
	t.Parallel()
	commits, plain := readCommits(t)
	var stripped strings.Builder
	for line := range strings.Lines(string(plain)) {
		i := strings.Index(line, `"uuid":`)
		stripped.WriteString(line[:i] + line[i+len(`"uuid":"`)+36+len(`",`):])
	}
	server := hogapitest.New()
	for _, content := range []string{stripped.String(), zipped(t, stripped.String())} {
		receipt, err := server.Client(t).Import(t.Context(), hogapi.JSONLinesFile(writeFile(t, "commits", content)), &hogapi.ImportOptions{ID: "commits", Rate: hogapi.Unpaced})
		require.NoError(t, err)
		assert.EqualValues(t, len(commits), receipt.Acknowledged)
		assert.Equal(t, len(commits), server.Ledger().Unique())
	}
	assert.Equal(t, 2*len(commits), server.Ledger().Len())
	assert.Empty(t, server.Ledger().Changed())
}

// User program: three files with progress and receipt.
func TestImportOfThreeFilesWithProgress(t *testing.T) {
	t.Parallel()
	_, plain := readCommits(t)
	lines := strings.SplitAfter(strings.TrimSuffix(string(plain), "\n"), "\n")
	folder := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	paths := []string{
		write("2012.jsonl.gz", zipped(t, strings.Join(lines[:4000], ""))),
		write("2018.jsonl", strings.Join(lines[4000:8000], "")),
		write("2022.jsonl", strings.ReplaceAll(strings.Join(lines[8000:], ""), "\n", "\r\n")),
	}
	server := hogapitest.New()
	var last hogapi.Stats
	receipt, err := server.Client(t).Import(t.Context(), hogapi.JSONLinesFile(paths...), &hogapi.ImportOptions{
		ID: "three-files", Rate: hogapi.Unpaced, Total: int64(len(lines)),
		Checkpoint: hogapi.FileCheckpoint(filepath.Join(folder, "state", "three.ckpt")),
		Rejects:    hogapi.RejectFile(filepath.Join(folder, "state", "rejects.jsonl")),
		OnProgress: func(s hogapi.Stats) {
			assert.Equal(t, s.Read, s.Acknowledged+s.Rejected+s.Pending)
			last = s
		},
	})
	require.NoError(t, err)
	assert.EqualValues(t, len(lines), last.Acknowledged, "the last call of OnProgress tells the end")
	assert.EqualValues(t, len(lines), last.Total)
	assert.EqualValues(t, len(lines), receipt.Acknowledged)
	assert.Equal(t, "2012.jsonl.gz,2018.jsonl,2022.jsonl", receipt.Source)
	assert.Equal(t, "2022.jsonl", receipt.Last.Key)
	assert.Equal(t, len(lines), server.Ledger().Len())
	total := int64(0)
	for _, d := range receipt.Days {
		total += d.Acknowledged
	}
	assert.EqualValues(t, len(lines), total)
}

// mixedLines are n lines: most are good, every seventh is bad in its form, every eleventh for the gate, every thirteenth is poison.
func mixedLines(n int) (content string, good []uuid.UUID, rejects int) {
	var b strings.Builder
	for i := range n {
		id := numberedUUID(i + 1)
		at := longAgo.Add(time.Duration(i) * time.Second).Format(time.RFC3339)
		switch {
		case i%7 == 6:
			fmt.Fprintf(&b, "{\"event\":\"a\",\"n\":%d\n", i)
		case i%11 == 10:
			fmt.Fprintf(&b, "{\"event\":\"\",\"distinct_id\":\"p%d\",\"timestamp\":%q,\"uuid\":%q}\n", i%17, at, id)
		case i%13 == 12:
			fmt.Fprintf(&b, "{\"event\":\"poison\",\"distinct_id\":\"p%d\",\"timestamp\":%q,\"uuid\":%q}\n", i%17, at, id)
		default:
			fmt.Fprintf(&b, "{\"event\":\"a\",\"distinct_id\":\"p%d\",\"timestamp\":%q,\"uuid\":%q,\"properties\":{\"n\":%d}}\n\n", i%17, at, id, i)
			good = append(good, id)
			continue
		}
		rejects++
	}
	return b.String(), good, rejects
}

// requireExactRejects demands each reject, in the order of the source, and none twice but for those that a crash repeats.
func requireExactRejects(t *testing.T, content []byte, want int) {
	t.Helper()
	seen := map[int64]map[string]any{}
	for line := range strings.Lines(string(content)) {
		hole := strings.LastIndexByte(line, 0) // that a loss of power has left
		line = line[hole+1:]
		if hole >= 0 && !json.Valid([]byte(line)) {
			continue
		}
		var r map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &r), "%s", line)
		note, ok := r["$reject"].(map[string]any)
		require.True(t, ok, "%s", line)
		place, ok := note["position"].(map[string]any)
		require.True(t, ok, "%s", line)
		at, _ := place["offset"].(float64)
		delete(note, "detail") // the service's words, which a fault may cut
		if before, again := seen[int64(at)]; again {
			require.Equal(t, before, r, "the same reject")
			continue
		}
		seen[int64(at)] = r
	}
	require.Len(t, seen, want)
}

func refusePoison(server *hogapitest.Server) {
	server.RejectEvents(func(raw json.RawMessage) int {
		if bytes.Contains(raw, []byte(`"event":"poison"`)) {
			return 400
		}
		return 0
	})
}

// Stopped again and again in the middle, an import of a file loses nothing, changes nothing and lists each reject once.
func TestImportOfAFileStoppedAtRandom(t *testing.T) {
	t.Parallel()
	const n, inFlight = 2500, 200 // a run that reads more than are in flight has settled some
	content, good, rejects := mixedLines(n)
	for name, text := range map[string]string{"e.jsonl": content, "e.jsonl.gz": zipped(t, content)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := writeFile(t, name, text)
			rejectsPath := filepath.Join(t.TempDir(), "rejects.jsonl")
			checkpoint := checkpointOnly(t)
			server := hogapitest.New()
			refusePoison(server)
			client := server.Client(t)
			random := rand.New(rand.NewPCG(uint64(len(name)), 2))
			stops := 0
			for {
				receipt, err := stoppedImport(t, client, hogapi.JSONLinesFile(path), random.IntN(2*inFlight), hogapi.ImportOptions{
					ID: "stopped", MaxRejectShare: -1, Checkpoint: checkpoint, Rejects: hogapi.RejectFile(rejectsPath), Rate: hogapi.Unpaced,
					Gate: hogapi.GateOptions{MinAge: -1}, Delivery: hogapi.DeliveryOptions{MaxBatchEvents: 50, Lanes: 3, MaxInFlight: inFlight, NoCompression: true},
				})
				assert.Equal(t, receipt.Read, receipt.Acknowledged+receipt.Rejected+receipt.Pending)
				if err == nil {
					assert.EqualValues(t, n, receipt.Read)
					assert.EqualValues(t, rejects, receipt.Rejected)
					break
				}
				require.ErrorIs(t, err, context.Canceled)
				stops++
			}
			assert.Greater(t, stops, 10)
			ledger := server.Ledger()
			require.Empty(t, ledger.Missing(good))
			require.Empty(t, ledger.Changed())
			require.Equal(t, len(good), ledger.Unique())
			require.Zero(t, ledger.Inversions(good))
			file, err := os.ReadFile(rejectsPath)
			require.NoError(t, err)
			requireExactRejects(t, file, rejects)
		})
	}
}

// A checkpoint does not go on in another file of the same name, whose lines would count as sent up to the place.
func TestImportOfAnotherFileOfTheSameName(t *testing.T) {
	lines := func(year, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `{"event":"e","distinct_id":"p","timestamp":"%d-05-01T12:00:%02dZ"}`+"\n", year, i)
		}
		return b.String()
	}
	for _, first := range []int{1, 2, 60} { // with a place in the first line, and behind what is compared
		for name, form := range map[string]func(testing.TB, string) string{
			"plain": func(_ testing.TB, text string) string { return text },
			"gzip":  zipped,
		} {
			t.Run(fmt.Sprint(first, name), func(t *testing.T) {
				server := hogapitest.New()
				options := func(checkpoint hogapi.Checkpointer) hogapi.ImportOptions {
					return hogapi.ImportOptions{ID: "months", Rate: hogapi.Unpaced, Checkpoint: checkpoint}
				}
				load := func(checkpoint hogapi.Checkpointer, content string) (hogapi.Receipt, error) {
					path := writeFile(t, "events.jsonl", form(t, content))
					return server.Client(t).Import(t.Context(), hogapi.JSONLinesFile(path), new(options(checkpoint)))
				}
				checkpoint := hogapi.FileCheckpoint(filepath.Join(t.TempDir(), "ckpt"))
				_, err := load(checkpoint, lines(2023, first))
				require.NoError(t, err)
				receipt, err := load(checkpoint, lines(2024, 60))
				var input *hogapi.InputError
				require.ErrorAs(t, err, &input)
				assert.Equal(t, "checkpoint: begun with the source", input.Field)
				assert.EqualValues(t, first, receipt.Read, "what the checkpoint holds")
				assert.Equal(t, first, server.Ledger().Len())

				grown, err := load(checkpoint, lines(2023, 60)) // elsewhere now, and longer
				require.NoError(t, err)
				assert.EqualValues(t, 60, grown.Acknowledged)
				assert.Equal(t, 60, server.Ledger().Unique())

				unfinished := hogapi.FileCheckpoint(filepath.Join(t.TempDir(), "unfinished"))
				_, err = load(unfinished, strings.TrimSuffix(lines(2022, first), "\n"))
				require.NoError(t, err)
				grown, err = load(unfinished, lines(2022, 60))
				require.NoError(t, err)
				assert.EqualValues(t, 60, grown.Acknowledged)
			})
		}
	}
}

// stoppedImport cancels an import after it has read some events.
func stoppedImport(t *testing.T, client *hogapi.Client, source hogapi.Source, after int, o hogapi.ImportOptions) (hogapi.Receipt, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	return client.Import(ctx, &stoppingSource{source, after, cancel}, &o)
}

type stoppingSource struct {
	hogapi.Source

	after int
	stop  func()
}

func (s *stoppingSource) Events(ctx context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
	return func(yield func(hogapi.Event, error) bool) {
		for ev, err := range s.Source.Events(ctx, after) {
			if s.after--; s.after < 0 {
				s.stop()
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// The power fails at random moments, again and again, and now and then only the process dies: the import goes on each time, nothing is
// lost or changed, little is sent again, and the reject file is exact in the end.
func TestImportSurvivesPowerLoss(t *testing.T) {
	t.Parallel()
	const shards = 4
	for shard := range uint64(shards) {
		t.Run(strconv.FormatUint(shard, 10), func(t *testing.T) {
			t.Parallel()
			least := sized(1000, 100_000) / shards
			if raceDetector {
				least /= 5
			}
			bench := newPowerBench(t)
			cuts, imports := 0, 0
			for ; cuts < least; imports++ {
				seed := uint64(imports)*shards + shard
				synctest.Test(t, func(t *testing.T) { cuts += bench.run(t, seed) })
			}
			t.Logf("%d cuts of the power in %d imports", cuts, imports)
		})
	}
}

// powerBench is an import of a file whose checkpoint and rejects lie in two folders of a simulated disk.
type powerBench struct {
	path    string
	lines   int
	good    []uuid.UUID
	rejects int
}

func newPowerBench(t *testing.T) *powerBench {
	t.Helper()
	b := &powerBench{lines: 100}
	var content string
	content, b.good, b.rejects = mixedLines(b.lines)
	b.path = writeFile(t, "e.jsonl", content)
	return b
}

// run runs one import to its end and returns how often the power failed.
func (b *powerBench) run(t *testing.T, seed uint64) (cuts int) {
	t.Helper()
	const inFlight = 16
	random := rand.New(rand.NewPCG(seed, 3))
	server := hogapitest.New()
	refusePoison(server)
	client := server.Client(t)
	disk := new(simdisk.Disk)
	for duplicates := 0; ; {
		disk.CrashAt(1 + random.IntN(40))
		receipt, err := client.Import(t.Context(), hogapi.JSONLinesFile(b.path), &hogapi.ImportOptions{
			ID: "power", MaxRejectShare: -1, Rate: hogapi.Unpaced, Checkpoint: hogapi.FileCheckpointOn(disk, "d/ckpt"), Rejects: hogapi.RejectFileOn(disk, "elsewhere/rejects"),
			Gate: hogapi.GateOptions{MinAge: -1}, Delivery: hogapi.DeliveryOptions{MaxBatchEvents: 4, Lanes: 2, MaxInFlight: inFlight, NoCompression: true},
		})
		if err == nil {
			require.EqualValues(t, b.lines, receipt.Read)
			break
		}
		require.ErrorIs(t, err, simdisk.ErrCrashed, "seed %d", seed)
		before := duplicates
		duplicates = server.Ledger().Duplicates()
		require.LessOrEqual(t, duplicates-before, inFlight, "seed %d", seed)
		if random.IntN(4) == 0 {
			disk = disk.Killed()
			continue
		}
		disk = disk.Crashed(random.Uint64())
		cuts++
	}
	ledger := server.Ledger()
	require.Empty(t, ledger.Missing(b.good), "seed %d", seed)
	require.Empty(t, ledger.Changed(), "seed %d", seed)
	require.Equal(t, len(b.good), ledger.Unique(), "seed %d", seed)
	file, err := durable.Read(disk.Crashed(random.Uint64()), "elsewhere/rejects")
	require.NoError(t, err)
	requireExactRejects(t, file, b.rejects)
	return cuts
}
