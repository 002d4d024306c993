// Package progress shows how far an import is: a bar on a terminal, otherwise a line a minute.
package progress

import "time"

// pace is how fast records are settled, over the last seconds.
type pace struct {
	points []point
}

type point struct {
	at      time.Time
	settled int64
}

// window is how far back the pace looks: long enough to be calm, short enough to show a change.
const window = 15 * time.Second

// add notes how many records are settled. Records that an earlier run has settled do not count as
// pace.
func (p *pace) add(at time.Time, settled int64) {
	for len(p.points) > 1 && at.Sub(p.points[1].at) > window {
		p.points = p.points[1:]
	}
	if n := len(p.points); n > 1 && at.Sub(p.points[n-2].at) < window/30 {
		p.points[n-1] = point{at, settled} // twice a second is enough
		return
	}
	p.points = append(p.points, point{at, settled})
}

// perSecond is how many records are settled in a second; 0: not known yet.
func (p *pace) perSecond() float64 {
	if len(p.points) < 2 {
		return 0
	}
	first, last := p.points[0], p.points[len(p.points)-1]
	if took := last.at.Sub(first.at).Seconds(); took > 0 {
		return float64(last.settled-first.settled) / took
	}
	return 0
}

// remaining is how long the rest takes at this pace; 0: not known.
func (p *pace) remaining(settled, total int64) time.Duration {
	perSecond := p.perSecond()
	if total <= settled || perSecond <= 0 {
		return 0
	}
	return time.Duration(float64(total-settled) / perSecond * float64(time.Second))
}
