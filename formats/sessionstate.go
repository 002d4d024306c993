package formats

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"time"

	"github.com/hogapi/hogapi"
)

// longestSession is PostHog's: each event of a session is less than this after the time in the session's id.
const longestSession = 24 * time.Hour

// sessionState has the sessions that are open at an event of a sorted source.
type sessionState struct {
	options *SessionOptions
	open    map[sessionKey]openSession
	sweepAt int // the size of open at which ended sessions are removed

	first, now time.Time // of the first event, and of the last one
	until      time.Time // the end of the source before, or zero
	counts     SessionCounts
	facts      *sessionFacts
}

// sessionKey is a digest of a device, the vendor's id of the session, and a person: see find.
type sessionKey [16]byte

type openSession struct {
	start, last int64  // nanoseconds since 1970
	user        uint64 // a digest of the person that it belongs to; 0: it is not known yet
	anonymous   uint64 // of another id that the person had on the device, or 0
	isVendors   bool   // the vendor says which events it has
}

func newSessionState(o *SessionOptions, after *sessionTail) *sessionState {
	s := &sessionState{options: o, facts: newSessionFacts(o), open: map[sessionKey]openSession{}, sweepAt: min(minSweep-1, o.MaxOpen) + 1}
	if after != nil {
		s.until = after.until
		maps.Copy(s.open, after.open)
	}
	return s
}

// minSweep is the fewest sessions that are looked through for ended ones.
const minSweep = 1024

// add gives an event its session.
func (s *sessionState) add(ev *hogapi.Event) error {
	if ev.Timestamp.IsZero() { // it is not sent
		return nil
	}
	if ev.Timestamp.Before(s.now) {
		return fmt.Errorf("sessions need events in the order of time, and an event of %s follows one of %s (at %s): sort the source with formats.Sorted",
			inUTC(ev.Timestamp), inUTC(s.now), ev.Position)
	}
	s.now = ev.Timestamp
	if s.first.IsZero() {
		s.first = s.now
	}
	f := s.facts
	switch f.read(ev); {
	case f.hasSession:
		s.counts.Kept++
		return nil
	case s.now.Before(s.until):
		s.counts.Late++
		s.counts.None++
		return nil
	case f.isUnfit, f.device == "", !hasSessions(s.now), s.isSkipped(ev):
		s.counts.None++
		return nil
	}
	start, session, err := s.find(s.now.UnixNano())
	if err != nil {
		return err
	}
	s.counts.Events++
	f.set(ev, SessionID(time.Unix(0, start), f.device, session).String())
	return nil
}

func (s *sessionState) isSkipped(ev *hogapi.Event) bool {
	if s.options.Skip != nil {
		return s.options.Skip(*ev)
	}
	return s.facts.isOfServer
}

func inUTC(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }

// hasSessions reports whether the nanoseconds of a time, and the time in an id, can be told.
func hasSessions(at time.Time) bool {
	const year2242 = 1 << 33
	return at.Unix() >= 0 && at.Unix() < year2242
}

// find returns the start of the session of the event at hand, and the text that tells it from others of its device
// that begin at the same time.
//
// A device has one session at a time. The first person that is seen in it owns it. Events of another person are in
// a session of that person, next to it.
func (s *sessionState) find(at int64) (start int64, session string, err error) {
	f := s.facts
	main := keyOfSession(f.device, f.key, "")
	open, isKnown := s.open[main]
	isOpen := isKnown && s.isOpen(open, at)
	if isOpen && open.takes(f.user, f.anonymous) {
		open.last = at
		s.open[main] = open
		return open.start, f.key, nil
	}
	name, text := main, f.key
	if f.user != "" {
		own, ownText := keyOfSession(f.device, f.key, f.user), f.key+"\x00"+f.user
		other, isThere := s.open[own]
		if isThere && s.isOpen(other, at) {
			other.last = at
			s.open[own] = other
			return other.start, ownText, nil
		}
		if isOpen {
			name, text, open, isKnown = own, ownText, other, isThere
		}
	}
	if isKnown && s.isActive(open, at) {
		s.counts.Cut++
	}
	s.counts.Sessions++
	if s.until.IsZero() && s.now.Sub(s.first) <= s.options.Silence {
		s.counts.First++
	}
	s.open[name] = openSession{start: at, last: at, user: digestOfID(f.user), anonymous: digestOfID(f.anonymous), isVendors: f.key != ""}
	return at, text, s.sweep(at)
}

// takes reports whether an event of a person can be of the session, and notes the person.
func (o *openSession) takes(user, anonymous string) bool {
	if user == "" {
		return true
	}
	id, before := digestOfID(user), digestOfID(anonymous)
	switch {
	case id == o.anonymous: // nobody has logged in
		return true
	case o.user == 0 || o.user == before: // the login
		o.user = id
	case o.user != id:
		return false
	}
	if before != 0 {
		o.anonymous = before
	}
	return true
}

// isOpen reports whether an event at a time can be of a session.
func (s *sessionState) isOpen(open openSession, at int64) bool {
	start := open.start - open.start%int64(time.Millisecond) // as in the id
	return at-start < int64(longestSession) && s.isActive(open, at)
}

// isActive reports whether the session is not over, unless it is too long.
func (s *sessionState) isActive(open openSession, at int64) bool {
	if open.isVendors {
		return at-open.last < int64(longestSession)
	}
	return at-open.last <= int64(s.options.Silence)
}

// sweep removes the sessions that are over, once there are enough of them.
func (s *sessionState) sweep(at int64) error {
	if len(s.open) < s.sweepAt {
		return nil
	}
	for key, open := range s.open {
		if !s.isActive(open, at) {
			delete(s.open, key)
		}
	}
	if n := len(s.open); n > s.options.MaxOpen {
		return fmt.Errorf("more than %d sessions are open at %s: give a larger SessionOptions.MaxOpen; each takes about 100 bytes of memory",
			s.options.MaxOpen, inUTC(s.now))
	}
	over := max(1, s.options.MaxOpen/2)
	s.sweepAt = min(max(minSweep, 2*len(s.open))-over, s.options.MaxOpen) + over // not MaxOpen + over, which may not fit an int
	return nil
}

func keyOfSession(device, key, user string) sessionKey {
	var room [192]byte // for most ids
	text := room[:0]
	for _, part := range [...]string{device, key} {
		text = binary.AppendUvarint(text, uint64(len(part)))
		text = append(text, part...)
	}
	sum := sha256.Sum256(append(text, user...))
	return sessionKey(sum[:16])
}

// digestOfID is not 0, except for an empty id.
func digestOfID(id string) uint64 {
	if id == "" {
		return 0
	}
	sum := sha256.Sum256([]byte(id))
	return max(1, binary.BigEndian.Uint64(sum[:8]))
}
