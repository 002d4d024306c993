package delivery

import (
	"io"
	"math"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Body is the body of a request; all tries share it.
type Body struct {
	Plain   int  // bytes before compression
	Size    int  // bytes as sent
	Encoded bool // compressed

	chunks [][]byte
	unread atomic.Int32 // readers that a transport has not closed yet; negative after end
}

// Open returns a reader of the body for one try. Transports may close it after they have answered.
// After end, the reader is empty.
func (b *Body) Open() io.ReadCloser {
	if b.unread.Add(1) <= 0 {
		return &bodyReader{of: b, closed: true}
	}
	return &bodyReader{of: b, rest: slices.Clone(b.chunks)}
}

// end reports whether no reader is open, and then makes later readers empty.
func (b *Body) end() bool { return b.unread.CompareAndSwap(0, math.MinInt32) }

type bodyReader struct {
	of *Body

	mu     sync.Mutex
	rest   net.Buffers
	closed bool
}

// Read implements io.Reader.
func (r *bodyReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0, os.ErrClosed
	}
	return r.rest.Read(p)
}

// Close waits for a Read in progress.
func (r *bodyReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.closed = true
		r.of.unread.Add(-1)
	}
	return nil
}

// encoders limits compression to one encoder a processor.
type encoders struct {
	free   chan Encoder
	create func() Encoder
}

func newEncoders(create func() Encoder) encoders {
	n := runtime.GOMAXPROCS(0)
	e := encoders{make(chan Encoder, n), create}
	for range n {
		e.free <- nil // made on first use
	}
	return e
}

func (e encoders) encode(out io.Writer, body [][]byte) error {
	w := <-e.free
	if w == nil {
		w = e.create()
	}
	defer func() { e.free <- w }()
	w.Reset(out)
	for _, piece := range body {
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	return w.Close()
}
