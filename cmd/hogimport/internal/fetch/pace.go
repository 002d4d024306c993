package fetch

import (
	"fmt"
	"time"
)

// limit is how many requests a service takes in a window of time.
type limit struct {
	requests int
	window   time.Duration
}

// text is for a limit of an hour: shorter waits are not shown.
func (l limit) text() string { return fmt.Sprintf("%d requests an hour", l.requests) }

// pace keeps to limits. It is for one goroutine.
type pace struct {
	limits []limit
	past   []time.Time // of requests, in order
}

// next says when the next request may be made, and the limit that it has to wait for.
func (p *pace) next(now time.Time) (at time.Time, by limit) {
	at = now
	for _, l := range p.limits {
		if len(p.past) < l.requests {
			continue
		}
		if free := p.past[len(p.past)-l.requests].Add(l.window); free.After(at) {
			at, by = free, l
		}
	}
	return at, by
}

// made notes a request, and forgets requests that no limit counts any more.
func (p *pace) made(now time.Time) {
	p.past = append(p.past, now)
	most := 0
	for _, l := range p.limits {
		most = max(most, l.requests)
	}
	if len(p.past) > most {
		p.past = p.past[len(p.past)-most:]
	}
}
