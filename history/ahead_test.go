package history_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/survey"
)

// counting is a format of numbers. Some take longer, so that goroutines would change the order if they could.
func counting(calls *atomic.Int64) history.Format {
	return history.Format{Name: "numbers", Layout: history.LayoutJSON, Convert: func(record []byte) ([]event.Event, error) {
		n := calls.Add(1)
		if n%7 == 0 {
			runtime.Gosched()
		}
		text := numberOf(record)
		switch {
		case text == "13":
			return nil, errors.New("unlucky")
		case text == "-1":
			panic("a bug")
		}
		return []event.Event{{Name: "n" + text, DistinctID: "a", Timestamp: time.Unix(1_700_000_000, 0)}}, nil
	}}
}

func numberOf(record []byte) string { return strings.Trim(string(record), `{"n: }`) }

// A check reads ahead and converts with all processors, and sees records and events in the order of the files all the same.
func TestCheckKeepsTheOrder(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(1, 2))
	files, want := fstest.MapFS{}, []string(nil)
	for f := range 3 {
		var text bytes.Buffer
		for n := range 1000 {
			fmt.Fprintf(&text, "{\"n\":%d%*s}\n", n, dice.IntN(900), "")
			want = append(want, strconv.Itoa(n))
		}
		files[strconv.Itoa(f)] = &fstest.MapFile{Data: text.Bytes()}
	}
	var records, events []string
	ctx := survey.Watched(t.Context(), survey.Watch{
		Record: func(record []byte, made []event.Event, err error) {
			records = append(records, numberOf(record))
			assert.Equal(t, err == nil, len(made) == 1)
		},
		Event: func(ev *event.Event, _ bool) { events = append(events, strings.TrimPrefix(ev.Name, "n")) },
	})
	report, err := history.Check(ctx, history.FilesFS(files, counting(new(atomic.Int64)), "0", "1", "2"), &history.Options{ID: "x", MaxRejectShare: -1})
	require.NoError(t, err)
	assert.Equal(t, want, records)
	assert.Equal(t, []int64{3000, 2997, 3}, []int64{report.Read, report.Good, report.Rejected})
	assert.Len(t, events, 2997)
	assert.Equal(t, "0", report.Reasons[event.ReasonBadRecord].Examples[0].Position.Key)
	assert.Contains(t, report.Reasons[event.ReasonBadRecord].Examples[0].Text, "0:14")
}

// What comes before an error is checked, and nothing goes on after a check has ended.
func TestCheckEndsAhead(t *testing.T) {
	t.Parallel()
	numbers := func(n int) (text []byte) {
		for i := range n {
			text = fmt.Appendf(text, "{\"n\":%d}\n", 100+i)
		}
		return text
	}
	check := func(ctx context.Context, text []byte, calls *atomic.Int64) (history.CheckReport, error) {
		path := filepath.Join(t.TempDir(), "numbers")
		require.NoError(t, os.WriteFile(path, text, 0o600))
		report, err := history.Check(ctx, history.Files(counting(calls), path), &history.Options{ID: "x"})
		after := calls.Load()
		runtime.Gosched()
		assert.Equal(t, after, calls.Load(), "it goes on")
		return report, err
	}
	report, err := check(t.Context(), append(numbers(500), "{\"n\":-1}\n"...), new(atomic.Int64))
	require.ErrorContains(t, err, "numbers:501: the format's function panicked at ahead_test.go")
	assert.EqualValues(t, 500, report.Good)

	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err = z.Write(numbers(50_000))
	require.NoError(t, errors.Join(err, z.Close()))
	report, err = check(t.Context(), packed.Bytes()[:packed.Len()/2], new(atomic.Int64))
	require.ErrorContains(t, err, "numbers: ")
	assert.Positive(t, report.Good)

	ctx, cancel := context.WithCancelCause(t.Context())
	calls, seen := new(atomic.Int64), 0
	why := errors.New("enough")
	report, err = check(survey.Watched(ctx, survey.Watch{Event: func(*event.Event, bool) {
		if seen++; seen == 300 {
			cancel(why)
		}
	}}), numbers(100_000), calls)
	require.ErrorIs(t, err, why)
	assert.EqualValues(t, 300, report.Good)
	assert.Less(t, calls.Load(), int64(10_000), "some batches ahead")
}
