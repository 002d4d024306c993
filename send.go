package hogapi

import (
	"bytes"
	"context"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"
)

// parcel is a request's body, the same for every try.
type parcel struct {
	plain  int // bytes before compression
	size   int
	extra  int // bytes that are held because of it; below zero where it has taken the place of something larger
	chunks [][]byte
	gzip   bool
	unread atomic.Int32 // readers that a transport has not closed yet; below zero once the parcel is over
}

// open is a reader of the parcel for one try. Transports may close it after they have answered. Of a parcel that is over there is
// nothing to read.
func (b *parcel) open() io.ReadCloser {
	if b.unread.Add(1) <= 0 {
		return &parcelReader{of: b, closed: true}
	}
	return &parcelReader{of: b, rest: slices.Clone(b.chunks)}
}

// end reports whether nobody reads any more, and then nobody will.
func (b *parcel) end() bool { return b.unread.CompareAndSwap(0, math.MinInt32) }

type parcelReader struct {
	of *parcel

	mu     sync.Mutex
	rest   net.Buffers
	closed bool
}

func (r *parcelReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0, os.ErrClosed
	}
	return r.rest.Read(p)
}

// Close returns when nobody reads any more.
func (r *parcelReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.closed = true
		r.of.unread.Add(-1)
	}
	return nil
}

const gzipLevel = 2 // of klauspost/compress: as fast as 1, and smaller

// zippers compress, each on a processor.
type zippers struct {
	free chan *gzip.Writer
	lent chan *gzip.Writer // one that is not used
	owed atomic.Bool       // the next one that is done with becomes the one that is not used
}

// newZippers leaves a processor to whoever makes the events: without them there is nothing to compress.
func newZippers() *zippers {
	n := max(1, runtime.GOMAXPROCS(0)-1)
	z := &zippers{free: make(chan *gzip.Writer, n+1), lent: make(chan *gzip.Writer, 1)}
	for range n {
		z.free <- nil // made when first needed
	}
	z.lent <- nil
	return z
}

// lend adds one for a while, in which the maker of the events waits for room. It is taken back once nobody uses it, without waiting.
func (z *zippers) lend() (takeBack func()) {
	select {
	case w := <-z.lent:
		z.free <- w
		return z.takeBack
	default:
		return func() {}
	}
}

func (z *zippers) takeBack() {
	select {
	case w := <-z.free:
		z.lent <- w
	default:
		z.owed.Store(true)
	}
}

func (z *zippers) giveBack(w *gzip.Writer) {
	if z.owed.CompareAndSwap(true, false) {
		z.lent <- w
	} else {
		z.free <- w
	}
}

func (z *zippers) compress(out io.Writer, body [][]byte) error {
	w := <-z.free
	if w == nil {
		w, _ = gzip.NewWriterLevel(nil, gzipLevel) // the level is valid
	}
	defer func() { z.giveBack(w) }()
	w.Reset(out)
	for _, piece := range body {
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	return w.Close()
}

// pack makes the parcel of a part. Once the whole batch is compressed its plain body is let go of: only an answer that takes the batch
// apart needs it again.
func (l *lane) pack(r part) (*parcel, error) {
	body := l.bodyOf(r)
	plain := 0
	for _, piece := range body {
		plain += len(piece)
	}
	if l.p.set.NoCompression {
		return &parcel{plain: plain, size: plain, chunks: body}, nil
	}
	out := chunks{spares: l.p.zips}
	if err := l.p.zippers.compress(&out, body); err != nil {
		return nil, err
	}
	b := &parcel{plain: plain, size: out.size, chunks: out.list, gzip: true}
	if l.isWhole(r) { // otherwise it is a part of a batch that was taken apart, which has room for it
		b.extra = out.size - plain
		l.p.bodies.put(l.busy.body)
		l.busy.body = nil
	}
	return b, nil
}

// restore makes the busy batch's body again from the parcel that has taken its place, as soon as there is room for both.
func (l *lane) restore(b *parcel) error {
	if l.busy.body != nil {
		return nil
	}
	if err := l.p.reopen(b); err != nil {
		return err
	}
	l.busy.reopened, l.busy.held = true, b.size // for the parcels of its parts
	packed := b.open()
	defer packed.Close()
	plain, err := gzip.NewReader(packed)
	if err != nil {
		return internalStop(err)
	}
	body := bytes.NewBuffer(l.p.bodies.take(b.plain + bytes.MinRead))
	body.Grow(b.plain + bytes.MinRead)
	_, err = body.ReadFrom(plain) // to its end, so that the checksum is looked at
	l.busy.body = body.Bytes()
	return internalStop(err)
}

// unpack gives a parcel's buffers back, unless a transport may still read from them: another request must never fill them.
func (l *lane) unpack(b *parcel) {
	over := b.end()
	if b.gzip && over {
		l.p.zips.put(b.chunks...)
	}
	if !b.gzip && !over {
		l.busy.lent = true
	}
}

// post makes one try.
func (p *Capture) post(b *parcel) captureAnswer {
	start := time.Now()
	status, header, body, err := p.core.capturePost(p.ctx, captureOperation, b.open, int64(b.size), b.gzip)
	a := captureAnswer{status: status, err: err, duration: time.Since(start)}
	a.verdict, a.reason = judge(status, body, err)
	if err == nil {
		a.retryAfter = parseRetryAfter(header, p.core.now())
	}
	return a
}

// capturePost makes one request to the capture origin. It is written once: what is sent again, and
// when, is for the lanes to say.
func (c *core) capturePost(ctx context.Context, op operation, open func() io.ReadCloser, size int64, zipped bool) (int, http.Header, []byte, error) {
	target := *c.capture
	target.Path += op.path
	if op.name == OpPreflight {
		target.RawQuery = "v=2"
	}
	info := CallInfo{Op: op.name, Method: op.method, Route: op.path, Try: 1}
	plan := &tryPlan{
		origin: originOf(&target), timeout: c.tryLimits.capture, mostBytes: maxWord,
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
	if zipped {
		req.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := c.ingest().Do(req)
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
	p.stats.WireBytes += int64(b.size)
	if try > 1 {
		p.stats.Resent += int64(events)
	}
	p.mu.Unlock()
	info := CallInfo{Op: OpCapture, Method: captureOperation.method, Route: captureOperation.path, Try: try}
	p.core.logBatch(p.ctx, info, lane, events, a)
	p.hooks.batch(BatchEvent{
		Lane: lane, Events: events, Bytes: b.plain, WireBytes: b.size, StatusCode: a.status, Try: try, Err: a.err, Duration: a.duration,
	})
}
