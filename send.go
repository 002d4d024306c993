package hogapi

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"
)

// parcel is a request's body, the same for every try.
type parcel struct {
	plain  int // bytes before compression
	bytes  []byte
	gzip   bool
	unread atomic.Int32 // readers that a transport has not closed yet
}

// extra is how many bytes the parcel holds beside the events themselves.
func (b *parcel) extra() int {
	if b.gzip {
		return cap(b.bytes)
	}
	return 0
}

// open is a reader of the parcel for one try. Transports may close it after they have answered.
func (b *parcel) open() io.ReadCloser {
	b.unread.Add(1)
	return &parcelReader{Reader: bytes.NewReader(b.bytes), of: b}
}

type parcelReader struct {
	*bytes.Reader

	of     *parcel
	closed atomic.Bool
}

func (r *parcelReader) Close() error {
	if r.closed.CompareAndSwap(false, true) {
		r.of.unread.Add(-1)
	}
	return nil
}

const gzipLevel = 2 // of klauspost/compress: as fast as 1, and smaller

// newZippers leaves a processor to whoever makes the events: without them there is nothing to compress.
func newZippers() chan *gzip.Writer {
	zippers := make(chan *gzip.Writer, max(1, runtime.GOMAXPROCS(0)-1))
	for range cap(zippers) {
		zippers <- nil // made when first needed
	}
	return zippers
}

// pack compresses a body.
func (l *lane) pack(body []byte) (*parcel, error) {
	b := &parcel{plain: len(body), bytes: body}
	if l.p.set.NoCompression {
		return b, nil
	}
	w := <-l.p.zippers
	if w == nil {
		w, _ = gzip.NewWriterLevel(nil, gzipLevel) // the level is valid
	}
	defer func() { l.p.zippers <- w }()
	out := appender(l.p.zips.take())
	w.Reset(&out)
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	b.bytes, b.gzip = out, true
	return b, nil
}

// appender is a writer to a slice. A bytes.Buffer would take twice the room that it needs.
type appender []byte

func (a *appender) Write(p []byte) (int, error) {
	*a = append(*a, p...)
	return len(p), nil
}

// unpack gives a parcel's buffer back, unless a transport may still read from it: another request must never fill it.
func (l *lane) unpack(b *parcel) {
	late := b.unread.Load() > 0
	switch {
	case b.gzip && !late:
		l.p.zips.put(b.bytes)
	case !b.gzip && late:
		l.part, l.busy.body = nil, bytes.Clone(l.busy.body)
	}
}

// post makes one try.
func (p *Capture) post(b *parcel) captureAnswer {
	start := time.Now()
	status, header, body, err := p.core.capturePost(p.ctx, captureOperation, b.open, int64(len(b.bytes)), b.gzip)
	a := captureAnswer{status: status, err: err, duration: time.Since(start)}
	a.verdict, a.reason = judge(status, body, err)
	if err == nil {
		a.retryAfter = parseRetryAfter(header, p.core.now())
	}
	return a
}

// capturePost makes one request to the capture origin. Its uuids make a repetition harmless, so the transport may replay
// it on a connection that had gone stale: the header entry says so, and is not sent.
func (c *core) capturePost(ctx context.Context, op operation, open func() io.ReadCloser, size int64, zipped bool) (int, http.Header, []byte, error) {
	target := *c.capture
	target.Path += op.path
	if op.name == OpPreflight {
		target.RawQuery = "v=2"
	}
	info := CallInfo{Op: op.name, Method: op.method, Route: op.path, Try: 1}
	plan := &tryPlan{
		info: info, origin: originOf(&target), timeout: c.tryLimits.capture, needsBody: true,
		begin: func() CallInfo { return info }, report: func(tryReport) {},
	}
	req, err := http.NewRequestWithContext(context.WithValue(ctx, tryPlanKey{}, plan), op.method, target.String(), open())
	if err != nil {
		return 0, nil, nil, noURL(err)
	}
	req.ContentLength = size
	req.GetBody = func() (io.ReadCloser, error) { return open(), nil }
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", c.userAgent)
	req.Header["Idempotency-Key"] = nil
	if zipped {
		req.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := c.ingest.Do(req)
	if err != nil {
		return 0, nil, nil, redactError(noURL(err), []string{c.projectKey()})
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body) // in memory
	return resp.StatusCode, resp.Header, body, err
}

// preflight asks an endpoint that knows its keys whether ours is one of them. Only a clear no stops the import.
func (p *Capture) preflight() {
	if !p.wantsPreflight() {
		close(p.cleared)
		return
	}
	key := p.core.projectKey()
	body := `{"api_key":"` + key + `","distinct_id":"hogapi-preflight"}`
	open := func() io.ReadCloser { return io.NopCloser(strings.NewReader(body)) }
	status, _, _, err := p.core.capturePost(p.ctx, preflightOperation, open, int64(len(body)), false)
	if err == nil && status == http.StatusUnauthorized {
		p.stop(&StopError{Reason: StopWrongKey, Status: status})
		return
	}
	if err != nil || !isSuccess(status) {
		p.core.logger.WarnContext(p.ctx, "hogapi: the project key could not be checked", "status", status, "error", err)
	}
	close(p.cleared)
}

func (p *Capture) wantsPreflight() bool {
	switch p.set.Preflight {
	case PreflightOn:
		return true
	case PreflightCloud:
		return regionOfHost(p.core.capture.String()) != ""
	default:
		return false
	}
}

// observe tells counters, logger and hooks of one try.
func (p *Capture) observe(lane, events int, b *parcel, try int, a captureAnswer) {
	p.mu.Lock()
	p.stats.Requests++
	p.stats.PlainBytes += int64(b.plain)
	p.stats.WireBytes += int64(len(b.bytes))
	if try > 1 {
		p.stats.Resent += int64(events)
	}
	p.mu.Unlock()
	info := CallInfo{Op: OpCapture, Method: captureOperation.method, Route: captureOperation.path, Try: try}
	p.core.logBatch(p.ctx, info, lane, events, a)
	p.hooks.batch(BatchEvent{
		Lane: lane, Events: events, Bytes: b.plain, WireBytes: len(b.bytes), StatusCode: a.status, Try: try, Err: a.err, Duration: a.duration,
	})
}
