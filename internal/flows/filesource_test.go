package flows_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
)

// visits is a format as a user writes it: a visit becomes one event, several, or no event.
var visits = history.Format{
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
			return nil, history.Skip("internal")
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
	options := history.Options{ID: "visits", Rate: hogapi.RateUnlimited, MaxRejectShare: -1, Checkpoint: checkpointOnly(t), Rejects: ignoreRejects}
	path := writeFile(t, "visits.jsonl", someVisits)
	receipt := imported(t, server.Client(t), history.Files(visits, path), &options)
	requireBalanced(t, receipt)
	assert.Equal(t, "visits: visits.jsonl", receipt.Source)
	assert.EqualValues(t, []int64{7, 3, 1}, []int64{receipt.Acknowledged, receipt.Rejected, receipt.Skipped})
	assert.Equal(t, 7, server.Ledger().Unique(), "equal records in a file are two events each")
	assert.Equal(t, map[string]int64{"internal": 1}, receipt.Skips)

	// Another mapping is not the same import.
	changed := visits
	changed.Options = "v2"
	_, err := history.Import(t.Context(), server.Client(t), history.Files(changed, path), &options)
	assert.Equal(t, "checkpoint: begun with the source", requireInputError(t, err).Field)
}

// Equal records in different files are one event, also where one ends a file and the other begins the next.
func TestEqualRecordsInDifferentFiles(t *testing.T) {
	t.Parallel()
	visit := `{"visitor":"ann","page":"/","at":"2024-05-01T12:00:00Z"}` + "\n"
	source := history.Files(visits, writeFile(t, "a.jsonl", visit+visit), writeFile(t, "b.jsonl", visit))
	report, err := history.Check(t.Context(), source, &history.Options{ID: "visits"})
	require.NoError(t, err)
	assert.EqualValues(t, 1, report.DoubleUUIDs.Count)
	server := hogapitest.New()
	imported(t, server.Client(t), source, &history.Options{ID: "visits", Rate: hogapi.RateUnlimited})
	assert.Equal(t, 2, server.Ledger().Unique())
}

// A resumed run counts the equal records of the second before its position, however many bytes that second has.
func TestEqualRecordsFarBeforeAResume(t *testing.T) {
	t.Parallel()
	visit := func(visitor, page string) string {
		return fmt.Sprintf(`{"visitor":%q,"page":%q,"at":"2024-05-01T12:00:00Z"}`+"\n", visitor, page)
	}
	text := visit("ann", "/")
	for i := range 30 { // 1.5 MiB
		text += visit(fmt.Sprint("ben ", i), strings.Repeat("a", 50_000))
	}
	source := history.Files(visits, writeFile(t, "visits.jsonl", text+visit("ann", "/")))
	var before, whole hogapi.Event
	for ev, err := range source.Events(t.Context(), hogapi.Position{}) {
		require.NoError(t, err)
		before, whole = whole, ev
	}
	require.EqualValues(t, 1, whole.Origin.Offset, "the second of its kind")
	for ev, err := range source.Events(t.Context(), before.Position) {
		require.NoError(t, err)
		assert.Equal(t, whole.Origin, ev.Origin)
	}
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

// The import sends nothing of a damaged gzip file: it verifies the file's checksums before its first event, for any damage.
func TestNothingOfADamagedGzipFileIsSent(t *testing.T) {
	t.Parallel()
	const n = 500
	packed := storedMembers(t, payments(0, 300), payments(300, n))
	size, wrong := int64(len(packed)), bytes.Replace(packed, []byte(`"amount":10450`), []byte(`"amount":99999`), 1)
	require.NotEqual(t, packed, wrong)
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
		"a wrong amount":              {wrong, 0},
		"as large as the limit":       {wrong, size},
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
			options := history.Options{
				ID: "damaged", Checkpoint: history.CheckpointFile(filepath.Join(folder, "ckpt")), Rejects: ignoreRejects, VerifyArchiveBytes: tt.verify, Rate: hogapi.RateUnlimited,
			}
			source := history.JSONLines(before, damaged)
			receipt, err := history.Import(t.Context(), client, source, &options)
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

// linesOf makes lines of one length, in which years differ.
func linesOf(year, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"event":"e","distinct_id":"p","timestamp":"%d-05-01T12:%02d:%02dZ"}`+"\n", year, i/60, i%60)
	}
	return b.String()
}

// monthly is an import of a file that changes between its runs.
type monthly struct {
	t          *testing.T
	server     *hogapitest.Server
	path, ckpt string
}

func newMonthly(t *testing.T) *monthly {
	t.Helper()
	return &monthly{t: t, server: hogapitest.New(), path: filepath.Join(t.TempDir(), "events.jsonl"), ckpt: filepath.Join(t.TempDir(), "ckpt")}
}

func (m *monthly) write(text string) {
	m.t.Helper()
	require.NoError(m.t, os.WriteFile(m.path, []byte(text), 0o600))
}

func (m *monthly) run() (hogapi.Receipt, error) {
	return history.Import(m.t.Context(), m.server.Client(m.t), history.JSONLines(m.path),
		&history.Options{ID: "months", Rate: hogapi.RateUnlimited, Checkpoint: history.CheckpointFile(m.ckpt)})
}

func (m *monthly) requireRefused() {
	m.t.Helper()
	_, err := m.run()
	var input *hogapi.InputError
	require.ErrorAs(m.t, err, &input)
	require.Equal(m.t, "checkpoint: begun with the source", input.Field)
}

// A run that cannot read its file forgets nothing: the next one still knows another file.
func TestFingerprintOutlivesAFailedRun(t *testing.T) {
	for name, spoil := range map[string]func(m *monthly){
		"shorter":   func(m *monthly) { m.write(linesOf(2023, 30)) },
		"missing":   func(m *monthly) { require.NoError(m.t, os.Remove(m.path)) },
		"torn gzip": func(m *monthly) { m.write("\x1f\x8b\x08") },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMonthly(t)
			m.write(linesOf(2023, 60))
			_, err := m.run()
			require.NoError(t, err)
			spoil(m)
			_, err = m.run()
			require.Error(t, err)
			m.write(linesOf(2024, 90)) // lines end where they did
			m.requireRefused()
			m.write(linesOf(2023, 90))
			receipt, err := m.run()
			require.NoError(t, err)
			assert.EqualValues(t, 90, receipt.Acknowledged)
		})
	}
}

// A checkpoint without a fingerprint learns it from the lines that are read and settled, not from a file that does not fit.
func TestFingerprintIsLearnedFromWhatIsRead(t *testing.T) {
	m := newMonthly(t)
	m.write(linesOf(2023, 60))
	_, err := m.run()
	require.NoError(t, err)
	raw := readFile(t, m.ckpt)
	_, state, _ := strings.Cut(string(raw), "\n")
	old := regexp.MustCompile(`"file":\{[^}]*\},`).ReplaceAllString(strings.TrimSuffix(state, "\n"), "")
	require.Less(t, len(old), len(state)-20)
	require.NoError(t, os.WriteFile(m.ckpt, fmt.Appendf(nil, "hogapi checkpoint, sha256 %x\n%s\n", sha256.Sum256([]byte(old)), old), 0o600))

	m.write(strings.ReplaceAll(linesOf(2024, 90), `"p"`, `"another"`))
	_, err = m.run()
	require.ErrorContains(t, err, "no line begins at the offset")
	m.write(linesOf(2023, 90))
	receipt, err := m.run()
	require.NoError(t, err)
	assert.EqualValues(t, 90, receipt.Acknowledged)
	m.write(linesOf(2024, 120))
	m.requireRefused()
}

// A file stays the same file if it has grown, been packed or unpacked, or had an incomplete last line.
func TestFingerprintsOfTheSameFile(t *testing.T) {
	t.Parallel()
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	const bom = "\xef\xbb\xbf"
	for _, n := range []int{1, 59, 60, 90} { // about 4 KiB
		now, later := linesOf(2023, n), linesOf(2023, n+30)
		for name, contents := range map[string][2]string{
			"grown":           {now, later},
			"no newline":      {strings.TrimSuffix(now, "\n"), later},
			"newline added":   {strings.TrimSuffix(now, "\n"), now},
			"newline taken":   {now, strings.TrimSuffix(now, "\n")},
			"byte order mark": {bom + now, bom + later},
			"CRLF":            {crlf(now), crlf(later)},
			"blank lines":     {"\n\r\n  \n" + now, "\n\r\n  \n" + later},
			"gzip":            {zipped(now), zipped(later)},
			"gzip members":    {zipped(now), zipped(now) + zipped(later[len(now):])},
			"unpacked":        {zipped(now), later},
			"packed":          {now, zipped(later)},
		} {
			t.Run(fmt.Sprint(name, " ", n), func(t *testing.T) {
				m := newMonthly(t)
				for _, content := range contents {
					m.write(content)
					receipt, err := m.run()
					require.NoError(t, err)
					assert.EqualValues(t, receipt.Acknowledged, m.server.Ledger().Unique())
				}
			})
		}
	}
}
