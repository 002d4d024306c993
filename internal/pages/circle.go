package pages

// Circle notices a walk that comes to a place again, sooner or later and in little memory: it remembers
// one place, and another one each time that the walk has become twice as long.
type Circle[P comparable] struct {
	place    P
	steps    int
	nextMark int
}

// IsClosedBy notes a place, and reports whether the walk has come to it before.
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
