package pages

// Circle detects, in little memory, that a walk visits a place again: it remembers one place, and
// replaces it each time the walk has doubled in length.
type Circle[P comparable] struct {
	place    P
	steps    int
	nextMark int
}

// IsClosedBy notes a place, and reports whether the walk has returned to an earlier one.
func (c *Circle[P]) IsClosedBy(p P) bool {
	if c.steps > 0 && p == c.place {
		return true
	}
	if c.steps == c.nextMark {
		c.place, c.nextMark = p, 2*c.steps+1
	}
	c.steps++
	return false
}
