// Package records knows when two records of files are the same, however the files are packed.
package records

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// Digest stands for a record: equal records have equal ones.
type Digest [16]byte

// Digester makes digests. It is not safe for concurrent use. Its zero value is ready to use.
type Digester struct{ canonical []byte }

// Of is the digest of a record in its canonical form. What is not JSON is taken as it is.
func (d *Digester) Of(record []byte) Digest {
	canonical, err := jsonb.Canonical(d.canonical[:0], record)
	if err != nil {
		canonical = record
	} else {
		d.canonical = canonical
	}
	sum := sha256.Sum256(canonical)
	return Digest(sum[:16])
}

// String is the digest as 22 letters, digits, - and _.
func (d Digest) String() string { return base64.RawURLEncoding.EncodeToString(d[:]) }

// Equals counts equal records of one file that were read within about a second of event time. It knows
// those of the second before, this one and the next one, until a record of another second comes. So what
// it knows at a place depends only on the records since two that lie more than two seconds apart. Its
// zero value is ready to use.
type Equals struct {
	seconds [3]second
	last    int64 // the second that was read last
	begun   bool
	oldest  int64
	newest  int64
}

// second has the records of one second, by the first half of their digests: two different records that
// share it are only numbered where they need not be.
type second struct {
	unix int64
	seen map[uint64]uint32
}

// most is how many different records a second may have until further ones are taken for new.
const most = 1 << 16

// Pass notes the time of the next record, which may be zero: then it belongs to the second before.
func (e *Equals) Pass(at time.Time) {
	unix := at.Unix()
	if at.IsZero() || e.begun && unix == e.last {
		return
	}
	if !e.begun {
		e.begun, e.oldest, e.newest = true, unix, unix
	}
	e.last, e.oldest, e.newest = unix, min(e.oldest, unix), max(e.newest, unix)
	for i := range e.seconds {
		if s := &e.seconds[i]; s.unix < unix-1 || s.unix > unix+1 {
			clear(s.seen)
		}
	}
}

// IsSettled reports whether the records before the first one that was passed do not matter any more.
func (e *Equals) IsSettled() bool { return e.newest-e.oldest > 2 }

// Before returns how many equal records were read before the one that was passed last, and counts it.
func (e *Equals) Before(d Digest) (n int64) {
	s, key := e.current(), binary.BigEndian.Uint64(d[:])
	before, isKnown := s.seen[key]
	if isKnown || len(s.seen) < most {
		s.seen[key] = before + 1
	}
	return int64(before)
}

// current has the records of the second that was read last.
func (e *Equals) current() *second {
	var free *second
	for i := range e.seconds {
		s := &e.seconds[i]
		if len(s.seen) == 0 {
			free = s
		} else if s.unix == e.last {
			return s
		}
	}
	if free.unix = e.last; free.seen == nil {
		free.seen = map[uint64]uint32{}
	}
	return free
}
