package hogapi

import "sync"

// spares keeps buffers that nobody uses, up to a number of bytes, so that what lanes at rest have once needed does not add up.
type spares struct {
	mu    sync.Mutex
	free  [][]byte
	bytes int
	most  int
}

// take gives an empty buffer with as much room as there is.
func (s *spares) take() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.free) - 1
	if last < 0 {
		return nil
	}
	b := s.free[last]
	s.free[last] = nil
	s.free = s.free[:last]
	s.bytes -= cap(b)
	return b[:0]
}

// put takes a buffer back. Nobody may read or write it any more.
func (s *spares) put(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cap(b) == 0 || s.bytes+cap(b) > s.most {
		return
	}
	s.free = append(s.free, b)
	s.bytes += cap(b)
}
