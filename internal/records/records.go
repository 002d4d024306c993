// Package records knows when two records of files are the same, however the files are packed.
package records

import (
	"crypto/sha256"
	"encoding/base64"
	"time"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// Digest stands for a record: equal records have equal ones.
type Digest [16]byte

// DigestOf is the digest of a record in its canonical form. What is not JSON is taken as it is.
func DigestOf(record []byte) Digest {
	canonical, err := jsonb.Compact(nil, record)
	if err != nil {
		canonical = record
	}
	sum := sha256.Sum256(canonical)
	return Digest(sum[:16])
}

// String is the digest as 22 letters, digits, - and _.
func (d Digest) String() string { return base64.RawURLEncoding.EncodeToString(d[:]) }

// Equals counts equal records of one file that were read within about a second of event time. It knows
// those of the second before, this one and the next one, until a record of another second comes: what
// it knows at a place depends only on the records since the last two that lie more than two seconds
// apart. Its zero value is ready to use.
type Equals struct {
	seconds [3]second
	last    int64
}

// second has the records of one second.
type second struct {
	unix int64
	seen map[Digest]int64
}

// most is how many different records a second may have until further ones are taken for new.
const most = 1 << 17

// Before returns how many equal records were read before this one, and counts it. A record without a
// time is one of the second that was read last.
func (e *Equals) Before(d Digest, at time.Time) (n int64) {
	unix := e.last
	if !at.IsZero() {
		unix = at.Unix()
	}
	s := e.second(unix)
	n, isKnown := s.seen[d]
	if isKnown || len(s.seen) < most {
		s.seen[d] = n + 1
	}
	return n
}

// second forgets what is too far from a second, and returns that second's records.
func (e *Equals) second(unix int64) *second {
	e.last = unix
	var own, free *second
	for i := range e.seconds {
		s := &e.seconds[i]
		if s.unix < unix-1 || s.unix > unix+1 {
			clear(s.seen)
		}
		switch {
		case s.unix == unix && s.seen != nil:
			own = s
		case len(s.seen) == 0:
			free = s
		}
	}
	if own != nil {
		return own
	}
	if free.unix = unix; free.seen == nil {
		free.seen = map[Digest]int64{}
	}
	return free
}
