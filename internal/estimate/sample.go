package estimate

// Sample maps marks to words, as Marks does, but of more marks than Most it keeps an even share: all that end with some
// zeros. So the kept marks are representative. A mark is a hash. Set Most before use.
type Sample[Word any] struct {
	Most int

	kept  Marks[Word]
	zeros int // at the end of each kept mark
}

// Add notes a mark with its word, and returns the first word noted with it. isKept is false for a mark outside the share.
func (s *Sample[W]) Add(mark uint64, word W) (first W, isKnown, isKept bool) {
	s.kept.Most = s.Most
	for mark&(1<<s.zeros-1) == 0 {
		first, isKnown, isKept = s.kept.Add(mark, word)
		if isKept {
			return first, isKnown, true
		}
		s.halve()
	}
	return first, false, false
}

// Share returns of how many marks one is kept.
func (s *Sample[W]) Share() int64 { return 1 << s.zeros }

func (s *Sample[W]) halve() {
	s.zeros++
	old := s.kept.slots
	s.kept = Marks[W]{Most: s.Most}
	for i := range old {
		if mark := old[i].mark(); mark != 0 && mark&(1<<s.zeros-1) == 0 {
			s.kept.Add(mark, old[i].word)
		}
	}
}
