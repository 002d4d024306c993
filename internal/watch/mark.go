package watch

// Mark is what of a thing counts as a change: its status, and up to four counts.
type Mark struct {
	status string
	counts [4]int64
}

// NewMark takes a count that is not known for another than zero.
func NewMark[S ~string](status S, counts ...*int64) Mark {
	m := Mark{status: string(status)}
	for i, n := range counts {
		m.counts[i] = -1
		if n != nil {
			m.counts[i] = *n
		}
	}
	return m
}
