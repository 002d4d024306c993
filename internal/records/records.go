// Package records detects equal records of files, however the files are packed.
package records

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// Digest represents a record: equal records have equal digests.
type Digest [16]byte

// Digester makes digests. It is not safe for concurrent use. Its zero value is ready to use.
type Digester struct{ canonical []byte }

// Of hashes a record in its canonical form. Input that is not JSON is hashed unchanged.
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

// OfView is Of for a record that was read.
func (d *Digester) OfView(v *jsonb.View) Digest {
	d.canonical = v.AppendCanonical(d.canonical[:0])
	sum := sha256.Sum256(d.canonical)
	return Digest(sum[:16])
}

// String encodes the digest as 22 letters, digits, - and _.
func (d Digest) String() string { return base64.RawURLEncoding.EncodeToString(d[:]) }

// Equals counts equal records of one file within about a second of event time. It remembers the
// previous second, the current and the next one until a record of another second arrives. So its
// memory at any place depends only on the records since two that are more than two seconds apart.
// Its zero value is ready.
type Equals struct {
	seconds [3]second
	last    int64 // the second read last
	begun   bool
	oldest  int64
	newest  int64
}

// second holds the records of one second by the first half of their digests. If two different
// records share it, they are numbered without need, which is harmless.
type second struct {
	unix int64
	seen map[uint64]uint32
}

// most limits the different records of a second; further ones count as new.
const most = 1 << 16

// Pass notes the time of the next record. A zero time belongs to the previous second.
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

// IsSettled reports whether the records before the first Pass no longer matter.
func (e *Equals) IsSettled() bool { return e.newest-e.oldest > 2 }

// Before returns how many equal records preceded the current one, and counts it.
func (e *Equals) Before(d Digest) (n int64) {
	s, key := e.current(), binary.BigEndian.Uint64(d[:])
	before, isKnown := s.seen[key]
	if isKnown || len(s.seen) < most {
		s.seen[key] = before + 1
	}
	return int64(before)
}

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
