package hogapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"iter"
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
	// eventsOf is Events, and shows the first bytes of each file that it has opened to read it, where that can be done.
	eventsOf(ctx context.Context, after Position, opened func(name string, head []byte)) iter.Seq2[Event, error]
	// beginningOf gives the first bytes of a file, at most mostOfBeginning; none where they cannot be read.
	beginningOf(name string) []byte
}

// beginnings follows the beginning of the file that an import is in. What it knows stays until this run has settled more of the file that
// it has opened itself, or some of the next.
type beginnings struct {
	source beginner
	at     Position // what known belongs to
	known  beginning

	mu     sync.Mutex
	opened []openedFile // by the reader; those that nothing is settled of, behind the one that at is in
}

type openedFile struct {
	name string
	head []byte
}

// beginningsOf is nil for a source that has no files. A run that resumes knows what the checkpoint knows.
func beginningsOf(source Source, resumed *savedState) *beginnings {
	s, ok := source.(beginner)
	if !ok {
		return nil
	}
	b := &beginnings{source: s}
	if resumed != nil {
		b.at, b.known = resumed.Place.At, resumed.Begins
	}
	return b
}

// agree reports whether the file still begins as it did. One that is shorter, or cannot be read, is for the reader to report.
func (b *beginnings) agree() bool {
	if b == nil || b.known.Digest == "" {
		return true
	}
	head := b.source.beginningOf(b.at.Key)
	return b.known.Bytes < 0 || b.known.Bytes > len(head) || digestOf(head[:b.known.Bytes]) == b.known.Digest
}

func (b *beginnings) open(name string, head []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opened = append(b.opened, openedFile{name, head})
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
	head := b.headOf(place.Key)
	bytes := min(len(head), int(min(mostOfBeginning, place.Offset-1))) // without the newline, which a last line can lack
	if bytes > b.known.Bytes || b.known.Digest == "" && bytes > 0 {
		b.known = beginning{bytes, digestOf(head[:bytes])}
	}
	return b.known
}

// headOf lets go of the files before the one that is asked for.
func (b *beginnings) headOf(name string) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.opened) > 0 && b.opened[0].name != name {
		b.opened = b.opened[1:]
	}
	if len(b.opened) == 0 {
		return nil
	}
	return b.opened[0].head
}
