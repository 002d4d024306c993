package watch

// Mark is compared to detect changes: a status and up to four counts.
type Mark struct {
	status string
	counts [4]int64
}

// NewMark distinguishes unknown counts from zero.
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
