package statefile

import (
	"bytes"
	"crypto/sha256"

	"github.com/google/uuid"
)

// AfterHole is the text after the zeros that a loss of power can leave in place of what was not on
// disk, the end of the line before among it.
func AfterHole(text []byte) (rest []byte, isTorn bool) {
	i := bytes.LastIndexByte(text, 0)
	return text[i+1:], i >= 0
}

// Repeats finds the lines that a crash has repeated. Its zero value is ready.
type Repeats struct {
	seen  map[[16]byte]bool
	order [][16]byte // of seen, oldest first
}

// mostSeen is how many lines a line is compared with: what a crash repeats was in flight.
const mostSeen = 1 << 17

// Has reports a line that is a second one of the same reject, and notes the line.
func (r *Repeats) Has(id uuid.UUID, text []byte) bool {
	key := [16]byte(id)
	if id == uuid.Nil {
		sum := sha256.Sum256(text)
		key = [16]byte(sum[:16])
	}
	if r.seen[key] {
		return true
	}
	if r.seen == nil {
		r.seen = map[[16]byte]bool{}
	}
	r.seen[key] = true
	if r.order = append(r.order, key); len(r.order) > mostSeen {
		delete(r.seen, r.order[0])
		r.order = r.order[1:]
	}
	return false
}
