package vendortest

import (
	"cmp"
	"fmt"
	"sync"
	"time"
)

// Limits are how much a vendor answers. 0 is the vendor's own limit, -1 is no limit.
type Limits struct {
	PerHour    int
	PerSecond  int
	Concurrent int
}

func (l Limits) or(vendor Limits) Limits {
	return Limits{
		PerHour:    cmp.Or(l.PerHour, vendor.PerHour),
		PerSecond:  cmp.Or(l.PerSecond, vendor.PerSecond),
		Concurrent: cmp.Or(l.Concurrent, vendor.Concurrent),
	}
}

// pace admits requests within limits. Requests that it refuses do not count.
type pace struct {
	limits   Limits
	mu       sync.Mutex
	admitted []time.Time // within the last hour, oldest first
	running  int
}

// enter admits a request or says which limit it exceeds. An admitted request must leave.
func (p *pace) enter(now time.Time) (exceeded string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.admitted) > 0 && now.Sub(p.admitted[0]) >= time.Hour {
		p.admitted = p.admitted[1:]
	}
	second := 0
	for i := len(p.admitted) - 1; i >= 0 && now.Sub(p.admitted[i]) < time.Second; i-- {
		second++
	}
	switch l := p.limits; {
	case l.Concurrent > 0 && p.running >= l.Concurrent:
		return fmt.Sprintf("%d concurrent queries", l.Concurrent)
	case l.PerSecond > 0 && second >= l.PerSecond:
		return fmt.Sprintf("%d queries per second", l.PerSecond)
	case l.PerHour > 0 && len(p.admitted) >= l.PerHour:
		return fmt.Sprintf("%d queries per hour", l.PerHour)
	}
	p.admitted = append(p.admitted, now)
	p.running++
	return ""
}

func (p *pace) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
}
