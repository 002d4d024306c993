package delivery

import "sync"

// spares keeps unused buffers up to a total size, so that idle lanes do not pile up memory.
type spares struct {
	most int

	mu    sync.Mutex
	free  [][]byte
	bytes int
}

// take returns an empty buffer: a spare one of any size, or a new one of the given size.
func (s *spares) take(size int) []byte {
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
func (s *spares) put(buffers ...[]byte) {
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
	spares *spares
	list   [][]byte
	size   int
}

// Write implements io.Writer.
func (c *chunks) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		if c.size%chunkSize == 0 {
			c.list = append(c.list, c.spares.take(chunkSize))
		}
		last := &c.list[len(c.list)-1]
		n := min(len(rest), chunkSize-len(*last))
		*last = append(*last, rest[:n]...)
		rest = rest[n:]
		c.size += n
	}
	return len(p), nil
}
