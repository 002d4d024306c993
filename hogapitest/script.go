package hogapitest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/hogapi/hogapi"
)

type script struct {
	faults []Fault
	used   bool // the fault in front has been met at least once
	chaos  *chaos
}

type chaos struct {
	random *rand.Rand
	rate   float64
	faults []Fault
}

// Script adds faults for the next requests of an operation, one for each request in the order of their arrival;
// after them the service continues as usual. A test fails if faults are left at its end: see [Server.Client].
func (s *Server) Script(op hogapi.Op, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sc := s.script(op)
	for _, f := range faults {
		if f.times > 0 || f.forever {
			sc.faults = append(sc.faults, f)
		}
	}
}

// ClearScript removes the remaining faults of an operation, including its chaos.
func (s *Server) ClearScript(op hogapi.Op) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.scripts, op)
}

// Chaos applies a random one of the faults to requests of an operation, at a rate from 0 to 1. The same seed
// and the same order of requests make the same choices. Scripted faults come first.
func (s *Server) Chaos(op hogapi.Op, seed uint64, rate float64, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script(op).chaos = &chaos{rand.New(rand.NewPCG(seed, 0)), rate, slices.Clone(faults)}
}

// Unused returns the scripted faults that no request has met.
func (s *Server) Unused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var left []string
	for op, sc := range s.scripts {
		for i, f := range sc.faults {
			switch {
			case f.forever && i == 0 && sc.used:
			case f.forever || f.times == 1:
				left = append(left, fmt.Sprintf("%s: %s", op, f))
			default:
				left = append(left, fmt.Sprintf("%s: %d × %s", op, f.times, f))
			}
		}
	}
	slices.Sort(left)
	return left
}

func (s *Server) script(op hogapi.Op) *script {
	sc := s.scripts[op]
	if sc == nil {
		sc = &script{}
		s.scripts[op] = sc
	}
	return sc
}

// nextFault takes the fault for the next request of an operation. Without a name the request is served as usual.
func (s *Server) nextFault(op hogapi.Op) Fault {
	if s.down {
		return Refuse()
	}
	if sc := s.scripts[op]; sc != nil {
		if f, ok := sc.next(); ok {
			return f
		}
	}
	return fault("")
}

func (sc *script) next() (Fault, bool) {
	if len(sc.faults) > 0 {
		f := &sc.faults[0]
		sc.used = true
		if met := *f; f.forever || f.times > 1 {
			f.times--
			return met, true
		}
		met := *f
		sc.faults, sc.used = sc.faults[1:], false
		return met, true
	}
	if c := sc.chaos; c != nil && len(c.faults) > 0 && c.random.Float64() < c.rate {
		return c.faults[c.random.IntN(len(c.faults))], true
	}
	return Fault{}, false
}
