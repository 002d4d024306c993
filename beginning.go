package hogapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"
	"sync"
)

// beginning is what a checkpoint knows of the file that it is in, so that it does not go on in another one of the same name.
type beginning struct {
	Bytes  int    `json:"bytes"`  // of the plain text, from its start; all settled
	Digest string `json:"digest"` // of them; empty where nothing is known
}

const mostOfBeginning = 4 << 10

func digestOf(head []byte) string {
	sum := sha256.Sum256(head)
	return hex.EncodeToString(sum[:16])
}

// beginner is a source of files that have a beginning.
type beginner interface {
	// eventsOf is Events, and shows the first bytes of each file that it has opened to read it, where that can be done. An error ends it.
	eventsOf(ctx context.Context, after Position, opened func(name string, head []byte) error) iter.Seq2[Event, error]
	// beginningOf gives the first bytes of a file, at most mostOfBeginning; none where they cannot be read.
	beginningOf(name string) []byte
}

// beginnings follows the beginning of the file that an import is in. What it knows stays until this run has settled more of the file that
// it has opened itself, or some of the next.
type beginnings struct {
	source  beginner
	resumed *savedState // nil for the first run
	at      Position    // what known belongs to
	known   beginning

	head    []byte // of the file that is read; the reader's own, as is the next
	marked  bool   // to the end of the head
	refusal error

	mu    sync.Mutex
	marks []mark // of what is read and not settled, in that order
}

// mark is the beginning of a file up to the end of one of its events.
type mark struct {
	at     Position
	begins beginning
}

// beginningsOf is nil for a source that has no files. A run that resumes knows what the checkpoint knows.
func beginningsOf(source Source, resumed *savedState) *beginnings {
	s, ok := source.(beginner)
	if !ok {
		return nil
	}
	b := &beginnings{source: s, resumed: resumed}
	if resumed != nil {
		b.at, b.known = resumed.Place.At, resumed.Begins
	}
	return b
}

// look refuses another file under the name of the one that the checkpoint is in, before anything is done.
func (b *beginnings) look() error {
	if b == nil || b.resumed == nil || b.resumed.Begins.Digest == "" {
		return nil
	}
	name := b.resumed.Place.At.Key
	return b.check(name, b.source.beginningOf(name))
}

// check does so with the first bytes of a file. One that is shorter, or cannot be read, is for the reader to report.
func (b *beginnings) check(name string, head []byte) error {
	if b.resumed == nil || b.resumed.Place.At.Key != name {
		return nil
	}
	if known := b.resumed.Begins; known.Bytes < 1 || known.Bytes > len(head) || digestOf(head[:known.Bytes]) == known.Digest {
		return nil
	}
	return unfitState(fieldSource, b.resumed.Source, fmt.Sprintf("the file %q as it was: it begins with other bytes now. "+
		"Is it another one of the same name, import it with an ID and a checkpoint of its own", name))
}

// open is told of each file that is read. It looks again: this is the file itself, not what its name led to before.
func (b *beginnings) open(name string, head []byte) error {
	b.head, b.marked = head, false
	b.refusal = b.check(name, head)
	return b.refusal
}

// refuses reports whether a source has ended with the error of open.
func (b *beginnings) refuses(err error) bool { return b != nil && err == b.refusal } //nolint:errorlint // it, and no other of its kind

// read is told of each event before it is on its way. It marks the first one of a file, and those that end within the head: so there is no
// more than a mark for each event in flight, of which there are only so many, and none for a file without events.
func (b *beginnings) read(at Position) {
	if b == nil || b.marked {
		return
	}
	bytes := int(min(int64(len(b.head)), at.Offset-1)) // without the newline, which a last line can lack
	b.marked = bytes == len(b.head)
	m := mark{at, beginning{bytes, digestOf(b.head[:bytes])}}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.marks = append(b.marks, m)
}

// upTo is the beginning of the file that a place is in.
func (b *beginnings) upTo(place Position) beginning {
	if b == nil {
		return beginning{}
	}
	if place == b.at {
		return b.known
	}
	if place.Key != b.at.Key {
		b.known = beginning{}
	}
	b.at = place
	if begins := b.settle(place); begins.Bytes > b.known.Bytes {
		b.known = begins
	}
	return b.known
}

// settle forgets the marks up to a place, and returns the last beginning of its file among them.
func (b *beginnings) settle(place Position) (last beginning) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := slices.IndexFunc(b.marks, func(m mark) bool { return m.at.Key == place.Key })
	if n < 0 {
		return last // all of that file are behind it
	}
	for ; n < len(b.marks) && b.marks[n].at.Key == place.Key && b.marks[n].at.Offset <= place.Offset; n++ {
		last = b.marks[n].begins
	}
	b.marks = slices.Delete(b.marks, 0, n)
	return last
}
