package formats

// SetMemory sets how many bytes are sorted in memory at once.
func (s *SortedSource) SetMemory(bytes int) { s.memory = bytes }

// SetDigest sets the digest of ids.
func (p *LinksPlan) SetDigest(of func(text string) [16]byte) { p.digest = of }

// NewWebAnalyticsOf returns a WebAnalytics that has so many sessions in memory.
func NewWebAnalyticsOf(sessions int) *WebAnalytics {
	w := NewWebAnalytics(nil)
	w.fold.most = sessions
	return w
}
