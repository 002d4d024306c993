//go:build unix

package flows_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// pipe makes a named pipe.
func pipe(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "events.jsonl")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	return path
}

// An import that reads a pipe returns soon after its context's end or a stop, and leaves later text to another reader.
func TestSilentPipeHoldsUpNothing(t *testing.T) {
	t.Parallel()
	const n = 50
	for name, tt := range map[string]struct {
		text    string
		endless bool // the last line
		fault   hogapitest.Fault
	}{
		"nothing is written":    {},
		"lines, then nothing":   {text: payments(0, n)},
		"within a line":         {text: payments(0, n) + `{"event":`},
		"an endless line":       {text: payments(0, n) + `{"event":"`, endless: true},
		"401":                   {text: payments(0, n), fault: hogapitest.Status(401)},
		"401, within a line":    {text: payments(0, n) + `{"event":`, fault: hogapitest.Status(401)},
		"401, an endless line":  {text: payments(0, n) + `{"event":"`, endless: true, fault: hogapitest.Status(401)},
		"packed, within a line": {text: zipped(payments(0, n) + `{"event":`)[:200]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := pipe(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var due time.Time
			written := make(chan *os.File, 1)
			go func() {
				f, err := os.OpenFile(path, os.O_WRONLY, 0) // waits for the reader
				assert.NoError(t, err)
				if tt.fault.String() == "" {
					time.AfterFunc(100*time.Millisecond, func() { due = time.Now(); cancel() })
				}
				_, err = io.WriteString(f, tt.text)
				assert.NoError(t, err)
				for tt.endless && err == nil {
					_, err = io.WriteString(f, strings.Repeat("x", 64<<10))
				}
				written <- f
			}()
			server := hogapitest.New()
			if tt.fault.String() != "" {
				server.Script(ops.Capture, tt.fault)
			}
			client := server.Client(t, hogapi.WithHooks(hogapi.Hooks{OnBatch: func(b hogapi.BatchInfo) {
				if b.StatusCode == 401 {
					due = time.Now()
				}
			}}))
			receipt, err := history.Import(ctx, client, history.JSONLines(path), &history.Options{ID: "pipe", Rejects: ignoreRejects, Rate: hogapi.RateUnlimited, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{Linger: time.Millisecond}}})
			assert.Less(t, time.Since(due), time.Minute, "it does not hang")
			requireBalanced(t, receipt)
			if stop := stopOf(t, err); tt.fault.String() != "" {
				assert.Equal(t, hogapi.StopUnauthorized, stop.Reason)
			} else {
				assert.Equal(t, hogapi.StopCanceled, stop.Reason)
			}
			f := <-written
			defer f.Close()
			_, err = f.WriteString("for the next reader\n")
			assert.ErrorIs(t, err, syscall.EPIPE, "it leaves no source of this package behind")
		})
	}
}

// A pipe that nobody writes to cannot even be opened. The import returns all the same, and reads nothing later.
func TestPipeWithoutAWriterHoldsUpNothing(t *testing.T) {
	t.Parallel()
	path := pipe(t)
	var f *os.File
	for wait := 10 * time.Millisecond; f == nil && wait < time.Minute; wait *= 2 { // until the source has time to open it
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		_, err := history.Import(ctx, hogapitest.New().Client(t), history.JSONLines(path), &history.Options{ID: "pipe"})
		cancel()
		assert.Equal(t, hogapi.StopCanceled, stopOf(t, err).Reason)
		f, err = os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			require.ErrorIs(t, err, syscall.ENXIO) // nobody opens it to read
			f = nil
		}
	}
	require.NotNil(t, f, "no source has opened it")
	defer f.Close()
	assert.Eventually(t, func() bool {
		_, err := f.WriteString("\n")
		return errors.Is(err, syscall.EPIPE)
	}, 30*time.Second, time.Millisecond, "the source that was left behind has closed it")
}

// A pipe that Check has read is empty: an import of the same source would wait forever, or succeed with nothing.
func TestPipeThatCheckHasRead(t *testing.T) {
	t.Parallel()
	path := pipe(t)
	go func() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		assert.NoError(t, err)
		_, err = io.WriteString(f, payments(0, 10))
		assert.NoError(t, errors.Join(err, f.Close()))
	}()
	source := history.JSONLines(path)
	options := history.Options{ID: "pipe", Checkpoint: &memoryCheckpoint{}}
	report, err := history.Check(t.Context(), source, &options)
	require.NoError(t, err)
	assert.EqualValues(t, 10, report.Good)
	server := hogapitest.New()
	_, err = history.Import(t.Context(), server.Client(t), source, &options)
	assert.Equal(t, hogapi.StopSource, stopOf(t, err).Reason)
	require.ErrorContains(t, err, "a pipe can be read only once, and Check has read it")
	assert.Empty(t, server.Calls())
}

// A record of a pipe is read once: the part that its reject lacks is not in any file, and nothing reads the pipe again.
func TestTooLargeARecordOfAPipe(t *testing.T) {
	t.Parallel()
	path, rejects := pipe(t), filepath.Join(t.TempDir(), "rejects.jsonl")
	written := make(chan error, 1)
	go func() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0) // waits for the reader
		if err == nil {
			for _, size := range []int{5 << 20, 17 << 20} {
				_, failed := fmt.Fprintf(f, `{"id":%d,"more":"%s"}`+"\n", size, strings.Repeat("x", size))
				err = errors.Join(err, failed)
			}
			err = errors.Join(err, f.Close())
		}
		written <- err
	}()
	fails := func([]byte) ([]hogapi.Event, error) { return nil, errors.New("not yet") }
	client := hogapitest.New().Client(t)
	receipt := imported(t, client, history.Files(history.Format{Name: "own", Convert: fails}, path),
		&history.Options{ID: "first", MaxRejectShare: -1, Rejects: history.RejectFile(rejects)})
	require.NoError(t, <-written)
	require.EqualValues(t, 2, receipt.Rejected)

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var sizes []int
	var again []hogapi.Reject
	_, err := history.Import(ctx, client, history.Rejected(rejects, func(record []byte) ([]hogapi.Event, error) {
		sizes = append(sizes, len(record))
		return fails(record)
	}), &history.Options{ID: "again", MaxRejectShare: -1, Rejects: keepRejects(&again)})
	require.NoError(t, err)
	assert.Equal(t, []int{5<<20 + 24}, sizes, "what fits is whole")
	require.Len(t, again, 2)
	assert.ErrorContains(t, again[1].Err, "its source keeps it")
}
