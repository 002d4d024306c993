package hogapi_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

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
	return m.server.Client(m.t).Import(m.t.Context(), hogapi.JSONLinesFile(m.path),
		&hogapi.ImportOptions{ID: "months", Rate: hogapi.Unpaced, Checkpoint: hogapi.FileCheckpoint(m.ckpt)})
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

// killed saves no more after some saves, as if the process had ended there.
type killed struct {
	hogapi.Checkpointer

	saves int
}

func (k *killed) Save(ctx context.Context, state []byte) error {
	if k.saves--; k.saves < 0 {
		return errors.New("killed")
	}
	return k.Checkpointer.Save(ctx, state)
}

// A place in an early one of many small files is known by its beginning, also where the reader has been through all of them by then.
func TestFingerprintAmongManyFiles(t *testing.T) {
	t.Parallel()
	const files, lines = 100, 3
	for _, place := range []int{1, 3, 10, 31, 150} { // lines settled when it is killed
		t.Run(fmt.Sprint(place), bubble(func(t *testing.T) { // so all is read before the first answer
			folder := t.TempDir()
			paths := make([]string, files)
			write := func(year int) {
				for i := range paths {
					paths[i] = filepath.Join(folder, fmt.Sprintf("f%03d.jsonl", i))
					require.NoError(t, os.WriteFile(paths[i], []byte(linesOf(year, lines)), 0o600))
				}
			}
			server := hogapitest.New()
			server.Script(ops.Capture, hogapitest.Always(hogapitest.SlowAnswer(time.Second)))
			checkpoint := hogapi.FileCheckpoint(filepath.Join(t.TempDir(), "ckpt"))
			run := func(c hogapi.Checkpointer) (hogapi.Receipt, error) {
				return server.Client(t).Import(t.Context(), hogapi.JSONLinesFile(paths...), &hogapi.ImportOptions{
					ID: "many", Rate: hogapi.Unpaced, Checkpoint: c, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{Lanes: 1, MaxBatchEvents: place}},
				})
			}
			write(1998)
			receipt, err := run(&killed{checkpoint, 3}) // the start, the protocol, and one place
			require.ErrorContains(t, err, "killed")
			require.EqualValues(t, files*lines, receipt.Read, "all was read")
			sent := server.Ledger().Len()

			write(1999)
			receipt, err = run(checkpoint)
			assert.Equal(t, "checkpoint: begun with the source", requireInputError(t, err).Field)
			assert.ErrorContains(t, err, fmt.Sprintf(`"f%03d.jsonl"`, (place-1)/lines))
			assert.EqualValues(t, place, receipt.Read)
			assert.Equal(t, sent, server.Ledger().Len())

			write(1998)
			receipt, err = run(checkpoint)
			require.NoError(t, err)
			assert.EqualValues(t, files*lines, receipt.Acknowledged)
			assert.Equal(t, files*lines, server.Ledger().Unique())
		}))
	}
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
