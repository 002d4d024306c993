package hogapi_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// visits is a format as a user writes it: a visit becomes one event, several, or no event.
var visits = hogapi.Format{
	Name: "visits",
	Convert: func(record []byte) ([]hogapi.Event, error) {
		var v struct {
			Visitor, Page string
			At            time.Time
			Clicks        int
		}
		if err := json.Unmarshal(record, &v); err != nil {
			return nil, err
		}
		switch v.Page {
		case "":
			return nil, errors.New("a visit of no page")
		case "internal":
			return nil, hogapi.Skip("internal")
		}
		events := []hogapi.Event{{Name: "$pageview", DistinctID: v.Visitor, Timestamp: v.At, Properties: map[string]any{"page": v.Page}}}
		for i := range v.Clicks {
			events = append(events, hogapi.Event{Name: fmt.Sprint("click ", i), DistinctID: v.Visitor, Timestamp: v.At})
		}
		return events, nil
	},
	ID: func(record []byte) uuid.UUID {
		var v struct{ ID uuid.UUID }
		_ = json.Unmarshal(record, &v)
		return v.ID
	},
}

const someVisits = `{"id":"0190a6a5-6f6c-7000-8000-000000000001","visitor":"ann","page":"/","at":"2024-05-01T12:00:00Z"}
{"visitor":"ben","page":"/a","at":"2024-05-01T12:00:00Z","clicks":2}
{"visitor":"ben", "page":"/a", "at":"2024-05-01T12:00:00Z", "clicks":2}
{"id":"0190a6a5-6f6c-7000-8000-000000000002","visitor":"ann","at":"2024-05-01T12:00:01Z"}
{"page":"internal"}
{"visitor":"","page":"/b","at":"2024-05-01T12:00:01Z","clicks":1}
`

func TestFileSource(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	folder := t.TempDir()
	options := hogapi.ImportOptions{
		ID: "visits", Rate: hogapi.Unpaced, MaxRejectShare: -1,
		Checkpoint: hogapi.FileCheckpoint(filepath.Join(folder, "checkpoint")), Rejects: hogapi.RejectFile(filepath.Join(folder, "rejects")),
	}
	path := writeFile(t, "visits.jsonl", someVisits)
	receipt := imported(t, server.Client(t), hogapi.FileSource(visits, path), &options)
	requireBalanced(t, receipt)
	assert.Equal(t, "visits: visits.jsonl", receipt.Source)
	assert.EqualValues(t, []int64{7, 3, 1}, []int64{receipt.Acknowledged, receipt.Rejected, receipt.Skipped})
	assert.Equal(t, 7, server.Ledger().Unique(), "equal records in a file are two events each")
	assert.Equal(t, map[string]int64{"internal": 1}, receipt.Skips)

	// Another mapping is not the same import.
	changed := visits
	changed.Options = "v2"
	_, err := server.Client(t).Import(t.Context(), hogapi.FileSource(changed, path), &options)
	assert.Equal(t, "checkpoint: begun with the source", requireInputError(t, err).Field)

	// A corrected format imports the rejects. The project then holds the events that the corrected format makes of the file.
	corrected := visits
	corrected.Convert = func(record []byte) ([]hogapi.Event, error) {
		var v map[string]any
		if err := json.Unmarshal(record, &v); err != nil {
			return nil, err
		}
		if v["page"] == nil {
			v["page"] = "(none)"
		}
		if v["visitor"] == "" {
			v["visitor"] = "nobody"
		}
		record, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		return visits.Convert(record)
	}
	again := hogapi.ImportOptions{ID: "visits-rejects", Rate: hogapi.Unpaced}
	imported(t, server.Client(t), hogapi.RejectedRecords(filepath.Join(folder, "rejects"), corrected.Convert), &again)
	direct := hogapitest.New()
	imported(t, direct.Client(t), hogapi.FileSource(corrected, writeFile(t, "other.jsonl", someVisits)), &hogapi.ImportOptions{ID: "visits", Rate: hogapi.Unpaced})
	assert.Equal(t, stored(t, direct), stored(t, server))
}

// Equal records in different files are one event, also where one ends a file and the other begins the next.
func TestEqualRecordsInDifferentFiles(t *testing.T) {
	t.Parallel()
	visit := `{"visitor":"ann","page":"/","at":"2024-05-01T12:00:00Z"}` + "\n"
	source := hogapi.FileSource(visits, writeFile(t, "a.jsonl", visit+visit), writeFile(t, "b.jsonl", visit))
	report, err := hogapi.Check(t.Context(), source, &hogapi.ImportOptions{ID: "visits"})
	require.NoError(t, err)
	assert.EqualValues(t, 1, report.DoubleUUIDs.Count)
	server := hogapitest.New()
	imported(t, server.Client(t), source, &hogapi.ImportOptions{ID: "visits", Rate: hogapi.Unpaced})
	assert.Equal(t, 2, server.Ledger().Unique())
}

// payments are lines of events with an amount.
func payments(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, `{"event":"paid","distinct_id":"ann","timestamp":%q,"properties":{"amount":%d}}`+"\n", longAgo.Add(time.Duration(i)*time.Minute).Format(time.RFC3339), 10_000+i)
	}
	return b.String()
}

// storedMembers is a gzip file with a member for each content, not compressed: a wrong byte makes a wrong amount.
func storedMembers(t *testing.T, contents ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, content := range contents {
		z, err := gzip.NewWriterLevel(&b, gzip.NoCompression)
		require.NoError(t, err)
		_, err = z.Write([]byte(content))
		require.NoError(t, err)
		require.NoError(t, z.Close())
	}
	return b.Bytes()
}

// withWrongAmount changes the amount of one event.
func withWrongAmount(t *testing.T, packed []byte, event int) []byte {
	t.Helper()
	amount := fmt.Append(nil, `"amount":`, 10_000+event)
	require.Equal(t, 1, bytes.Count(packed, amount))
	return bytes.Replace(packed, amount, []byte(`"amount":99999`), 1)
}

// endOf is where the lines before an event end.
func endOf(event int) int { return len(payments(0, event)) }

// The import sends nothing of a damaged gzip file: it verifies the file's checksums before its first event, for any damage.
func TestNothingOfADamagedGzipFileIsSent(t *testing.T) {
	t.Parallel()
	const n = 500
	assert.EqualValues(t, 1<<30, hogapi.DefaultVerifyArchives)
	packed := storedMembers(t, payments(0, 300), payments(300, n))
	size := int64(len(packed))
	smallest := []byte(zipped(payments(0, n)))
	flip := func(packed []byte, at int) []byte {
		packed = bytes.Clone(packed)
		packed[at] ^= 0x10
		return packed
	}
	for name, tt := range map[string]struct {
		content []byte
		verify  int64
	}{
		"a wrong amount":              {withWrongAmount(t, packed, 450), 0},
		"as large as the limit":       {withWrongAmount(t, packed, 450), size},
		"a wrong byte in the middle":  {flip(smallest, len(smallest)/2), 0},
		"a wrong checksum":            {flip(smallest, len(smallest)-6), 0},
		"a wrong length":              {flip(smallest, len(smallest)-2), 0},
		"cut in its last member":      {packed[:size-100], 0},
		"cut in its checksum":         {packed[:size-3], 0},
		"rubbish after the last line": {append(bytes.Clone(packed), "rubbish"...), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, client := fake(t)
			folder := t.TempDir()
			before, damaged := writeFile(t, "a.jsonl.gz", zipped(payments(1000, 1010))), filepath.Join(folder, "b.jsonl.gz")
			require.NoError(t, os.WriteFile(damaged, tt.content, 0o600))
			options := hogapi.ImportOptions{
				ID: "damaged", Checkpoint: hogapi.FileCheckpoint(filepath.Join(folder, "ckpt")), Rejects: ignoreRejects, VerifyArchiveBytes: tt.verify, Rate: hogapi.Unpaced,
			}
			source := hogapi.JSONLinesFile(before, damaged)
			receipt, err := client.Import(t.Context(), source, &options)
			assert.Equal(t, hogapi.StopSource, stopOf(t, err).Reason)
			require.ErrorContains(t, err, "b.jsonl.gz: the gzip file is cut off or damaged, so nothing of it was sent: ")
			assert.EqualValues(t, 10, receipt.Acknowledged, "of the file before")
			assert.Equal(t, 10, server.Ledger().Len())

			require.NoError(t, os.WriteFile(damaged, packed, 0o600)) // a good copy
			receipt = imported(t, client, source, &options)
			assert.EqualValues(t, n+10, receipt.Acknowledged)
			assert.Equal(t, n+10, server.Ledger().Unique())
		})
	}
}

// Damage in a gzip file over the limit stops the import, which names the lines since the last right checksum.
func TestDamageInALargeGzipFileIsNamed(t *testing.T) {
	t.Parallel()
	const n, memberA, memberB = 900, 300, 700
	good := storedMembers(t, payments(0, memberA), payments(memberA, memberB), payments(memberB, n))
	for name, tt := range map[string]struct {
		content     []byte
		verify      int64
		interrupted int // lines after which the first run ends; 0: there is one run
		from, to    int // the lines that may be wrong
	}{
		"in the first member":       {withWrongAmount(t, good, 100), -1, 0, 0, memberA},
		"in the second":             {withWrongAmount(t, good, 400), -1, 0, memberA, memberB},
		"in the last":               {withWrongAmount(t, good, 899), -1, 0, memberB, n},
		"just over the limit":       {withWrongAmount(t, good, 899), int64(len(good)) - 1, 0, memberB, n},
		"found by the next run":     {withWrongAmount(t, good, 400), -1, 500, memberA, memberB},
		"in what the next run read": {withWrongAmount(t, good, 650), -1, 200, memberA, memberB},
		"all of it sent before":     {withWrongAmount(t, good, 899), -1, n, memberB, n},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, client := fake(t)
			options := hogapi.ImportOptions{ID: "large", Checkpoint: &memoryCheckpoint{}, Rejects: ignoreRejects, VerifyArchiveBytes: tt.verify, Rate: hogapi.Unpaced}
			source := hogapi.JSONLinesFile(writeFile(t, "large.jsonl.gz", string(tt.content)))
			if tt.interrupted > 0 {
				ctx, cancel := context.WithCancel(t.Context())
				_, err := client.Import(ctx, cancelAfter(source, tt.interrupted, cancel, server), &options)
				require.ErrorIs(t, err, context.Canceled)
			}
			receipt, err := client.Import(t.Context(), source, &options)
			assert.Equal(t, hogapi.StopSource, stopOf(t, err).Reason)
			first, last := endOf(tt.from+1), endOf(tt.to)
			want := fmt.Sprintf("large.jsonl.gz: line %d: the gzip file is cut off or damaged: gzip: invalid checksum; "+
				"the lines that end at byte offsets %d to %d were read since the last checksum that is right, and may be wrong", tt.to+1, first, last)
			require.ErrorContains(t, err, want)
			assert.EqualValues(t, tt.to, receipt.Acknowledged)
			assert.Equal(t, tt.to, server.Ledger().Unique(), "nothing after the damage was sent")
			assert.Len(t, server.Ledger().Find(hogapi.UUIDAt(hogapi.Position{Key: "large.jsonl.gz", Offset: int64(first)}, "large")), 1, "the first that may be wrong")
		})
	}
}

// cancelAfter cancels a context once so many events of a source were given and all but the last are stored.
func cancelAfter(source hogapi.Source, n int, cancel func(), server *hogapitest.Server) hogapi.Source {
	given := 0
	return hogapi.SourceFunc(source.Name(), func(ctx context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(yield func(hogapi.Event, error) bool) {
			for ev, err := range source.Events(ctx, after) {
				if !yield(ev, err) {
					return
				}
				if given++; given == n {
					for server.Ledger().Unique() < n-1 {
						time.Sleep(time.Millisecond)
					}
					cancel()
					return
				}
			}
		}
	})
}
