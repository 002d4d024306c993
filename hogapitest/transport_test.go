package hogapitest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// body notes that it was closed.
type body struct {
	io.Reader
	closed bool
}

func (b *body) Close() error {
	b.closed = true
	return nil
}

// traced makes a request in process and returns the hooks that fired. Its body is closed in any case.
func traced(t *testing.T, w *wire) (fired []string, err error) {
	t.Helper()
	note := func(s string) { fired = append(fired, s) }
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		GetConn:      func(hostPort string) { note("GetConn " + hostPort) },
		GotConn:      func(httptrace.GotConnInfo) { note("GotConn") },
		WroteHeaders: func() { note("WroteHeaders") },
		WroteRequest: func(i httptrace.WroteRequestInfo) {
			note(map[bool]string{true: "WroteRequest", false: "WroteRequest with error"}[i.Err == nil])
		},
		GotFirstResponseByte: func() { note("GotFirstResponseByte") },
	})
	b := &body{Reader: strings.NewReader("{}")}
	r, err := http.NewRequestWithContext(ctx, "POST", w.origin+w.prefix+"/batch_exports/", b)
	require.NoError(t, err)
	resp, err := w.Transport().RoundTrip(r)
	if err == nil {
		_ = resp.Body.Close()
	}
	assert.True(t, b.closed)
	return fired, err
}

func TestTraceOfEachCut(t *testing.T) {
	all := []string{"GetConn fake.example:443", "GotConn", "WroteHeaders", "WroteRequest", "GotFirstResponseByte"}
	failed := append(all[:3:3], "WroteRequest with error")
	for _, test := range []struct {
		fault hogapitest.Fault
		fired []string
		err   error
	}{
		{hogapitest.Slow(0), all, nil},
		{hogapitest.CutBody(0), all, nil},
		{hogapitest.CutHeader(), all, io.ErrUnexpectedEOF},
		{hogapitest.CutAfter(), all[:4], syscall.ECONNRESET},
		{hogapitest.CutBefore(), all[:4], syscall.ECONNRESET},
		{hogapitest.CutSending(), failed, syscall.EPIPE},
		{hogapitest.Refuse(), all[:1], syscall.ECONNREFUSED},
	} {
		w := inProcess(t)
		w.Script(ops.BatchExportsCreate, test.fault)
		fired, err := traced(t, w)
		assert.Equal(t, test.fired, fired, test.fault)
		assert.ErrorIs(t, err, test.err, test.fault)
	}
}

func TestTransportIsAsStrictAsNetHTTP(t *testing.T) {
	w := inProcess(t)
	send := func(ctx context.Context, b io.Reader, length int64) error {
		r, err := http.NewRequestWithContext(ctx, "POST", w.origin+"/batch/", b)
		require.NoError(t, err)
		if length != 0 {
			r.ContentLength = length
		}
		resp, err := w.Transport().RoundTrip(r)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	cause := errors.New("my own reason")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	assert.ErrorIs(t, send(ended, nil, 0), cause)
	assert.ErrorContains(t, send(t.Context(), strings.NewReader("{}"), 3), "ContentLength=3 with Body length 2")
	broken := errors.New("the disk is gone")
	assert.ErrorIs(t, send(t.Context(), iotest.ErrReader(broken), 0), broken)

	resp, err := w.http.Get(w.origin + "/api/")
	require.NoError(t, err)
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Equal(t, int64(len(raw)), resp.ContentLength)
	assert.Equal(t, "404 Not Found", resp.Status)
	require.NoError(t, resp.Body.Close())
	_, err = resp.Body.Read(raw)
	assert.ErrorIs(t, err, http.ErrBodyReadAfterClose)
}

func TestVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hogapitest.New(hogapitest.WithPolls(1))
		h := &http.Client{Transport: s.Transport(), Timeout: time.Minute}
		get := func() (date string, took time.Duration, err error) {
			start := time.Now()
			r, err := http.NewRequestWithContext(t.Context(), "GET", "https://fake.example/api/projects/12345/dashboards/", nil)
			require.NoError(t, err)
			r.Header.Set("Authorization", "Bearer "+hogapitest.DefaultPersonalKey)
			resp, err := h.Do(r)
			if err == nil {
				date = resp.Header.Get("Date")
				_, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
			}
			return date, time.Since(start), err
		}
		s.Script(ops.DashboardsList, hogapitest.Slow(7*time.Second), hogapitest.SlowAnswer(8*time.Second),
			hogapitest.Slow(2*time.Minute))
		date, took, err := get()
		require.NoError(t, err)
		assert.Equal(t, 7*time.Second, took)
		assert.Equal(t, "Sat, 01 Jan 2000 00:00:07 GMT", date, "where virtual time begins")
		_, took, err = get()
		require.NoError(t, err)
		assert.Equal(t, 8*time.Second, took)
		_, took, err = get()
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Minute, took, "the client's own limit")
	})
}

// In a bubble time begins in 2000, and events of 2025 are future events unless the clock is set.
func TestPresentEventsInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		event := hogapi.Event{Name: "viewed", DistinctID: "u1", Timestamp: time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC), UUID: uuid.New()}
		for _, tt := range []struct {
			options []hogapitest.Option
			refused bool
		}{{nil, true}, {[]hogapitest.Option{hogapitest.WithTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}, false}} {
			server := hogapitest.New(tt.options...)
			capture, err := server.Client(t).NewCapture(nil)
			require.NoError(t, err)
			err = capture.Enqueue(t.Context(), event)
			require.Equal(t, tt.refused, err != nil, "%v", err)
			receipt, err := capture.Close(t.Context())
			require.NoError(t, err)
			require.Equal(t, !tt.refused, receipt.Acknowledged == 1)
		}
	})
}
