package reconcile

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hogapi/hogapi/internal/narrow"
	"github.com/hogapi/hogapi/internal/watch"
)

// pace bounds how often a side is asked in any hour. A [PostHogSide] has one for all its comparisons.
type pace struct {
	mu    sync.Mutex
	asked []time.Time // in order
}

// add takes questions of an earlier comparison into account.
func (p *pace) add(asked []time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.asked
	for _, at := range asked {
		if !slices.ContainsFunc(known, at.Equal) {
			p.asked = append(p.asked, at)
		}
	}
	slices.SortFunc(p.asked, time.Time.Compare)
}

// wait waits until the side may be asked again, and returns when that is.
func (p *pace) wait(ctx context.Context, perHour int, now time.Time) (at time.Time, err error) {
	if perHour <= 0 {
		return now, nil
	}
	p.mu.Lock()
	at = now
	if n := len(p.asked); n >= perHour {
		at = narrow.Later(at, p.asked[n-perHour].Add(time.Hour))
		p.asked = p.asked[n-perHour+1:]
	}
	p.asked = append(p.asked, at)
	p.mu.Unlock()
	if !watch.Sleep(ctx, at.Sub(now)) {
		return at, context.Cause(ctx)
	}
	return at, nil
}
