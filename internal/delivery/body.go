package delivery

import (
	"io"
	"math"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Body is the body of a request; all tries share it.
type Body struct {
	Plain    int    // bytes before compression
	Size     int    // bytes as sent
	Encoding string // Gzip or Zstd; empty: not compressed

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

// The Content-Encodings of bodies.
const (
	Gzip = "gzip"
	Zstd = "zstd"
)

// encoder compresses bodies, one after another.
type encoder interface {
	io.WriteCloser

	Reset(to io.Writer)
}

func newEncoder(encoding string) encoder {
	if encoding == Zstd {
		w, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true)) // the options are valid
		return w
	}
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // valid; level 2 has a larger table, which slows an import
	return w
}

// bufferPool keeps unused buffers up to a total size, so that idle lanes do not pile up memory.
type bufferPool struct {
	most int

	mu    sync.Mutex
	free  [][]byte
	bytes int
}

// take returns an empty buffer: a spare one of any size, or a new one of the given size.
func (s *bufferPool) take(size int) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.free) - 1
	if last < 0 {
		return make([]byte, 0, size)
	}
	b := s.free[last]
	s.free[last] = nil
	s.free = s.free[:last]
	s.bytes -= cap(b)
	return b[:0]
}

// put takes buffers back; the caller must not use them again.
func (s *bufferPool) put(buffers ...[]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range buffers {
		if cap(b) > 0 && s.bytes+cap(b) <= s.most {
			s.free = append(s.free, b)
			s.bytes += cap(b)
		}
	}
}

// chunkSize suffices for a small compressed batch.
const chunkSize = 32 << 10

// chunks writes to buffers of one size. A single growing buffer would leave five times its size to
// the garbage collector.
type chunks struct {
	bufferPool *bufferPool
	list       [][]byte
	size       int
}

// Write implements io.Writer.
func (c *chunks) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		if c.size%chunkSize == 0 {
			c.list = append(c.list, c.bufferPool.take(chunkSize))
		}
		last := &c.list[len(c.list)-1]
		n := min(len(rest), chunkSize-len(*last))
		*last = append(*last, rest[:n]...)
		rest = rest[n:]
		c.size += n
	}
	return len(p), nil
}
