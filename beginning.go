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

	mu     sync.Mutex
	opened []openedFile // by the reader, the newest ones
}

const mostOpened = 64 // files whose first bytes are held, so that many small files are no memory

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
	return unfitState(fieldSource, b.resumed.Source, "the file as it was: it begins with other bytes now. "+
		"Is it another one of the same name, import it with an ID and a checkpoint of its own")
}

// open is told of each file that is read. It looks again: this is the file itself, not what its name led to before.
func (b *beginnings) open(name string, head []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opened = append(b.opened, openedFile{name, head})
	if len(b.opened) > mostOpened {
		b.opened = b.opened[1:]
	}
	return b.check(name, head)
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

// headOf is nil for a file that many others have been opened after.
func (b *beginnings) headOf(name string) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, file := range b.opened {
		if file.name == name {
			return file.head
		}
	}
	return nil
}
