package formats

// SetMemory sets how many bytes are sorted in memory at once.
func (s *SortedSource) SetMemory(bytes int) { s.memory = bytes }
