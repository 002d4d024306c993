package hogapi

import (
	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/durable"
)

// What external tests see of the inside.

// RaceDetector tells that everything takes some ten times as long, and several times the memory.
var RaceDetector bool

// FileCheckpointOn is FileCheckpoint on another file system.
func FileCheckpointOn(fsys durable.FS, path string) Checkpointer {
	return &fileCheckpoint{fs: fsys, path: path}
}

// RejectFileOn is RejectFile on another file system.
func RejectFileOn(fsys durable.FS, path string) RejectHandler {
	return &rejectFile{fs: fsys, path: path}
}

// BadRecord is what BadEvent was given.
func BadRecord(ev Event) (raw []byte, err error) {
	if ev.bad == nil {
		return nil, nil
	}
	return ev.bad.raw, ev.bad.err
}

// BodiesHeld is the bytes of all batches that a Capture holds in plain form. Call it when its goroutines are blocked.
func BodiesHeld(p *Capture) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.lanes {
		n += len(l.open.body)
		for _, b := range l.queue {
			n += len(b.body)
		}
		if l.busy != nil {
			n += len(l.busy.body)
		}
	}
	return n
}

// LaneOf is the number of the lane that an event goes to.
func LaneOf(p *Capture, ev Event) int {
	enc, _ := p.encoders.Get().(*encoder)
	defer p.encoders.Put(enc)
	out, refusal := enc.encode(&ev)
	if refusal != nil {
		panic(refusal)
	}
	return int(out.person % uint64(len(p.lanes)))
}

// UUIDAt is the uuid that an import of this id derives for the first event at a position.
func UUIDAt(p Position, importID string) uuid.UUID { return newIdentity(importID, 0).at(p, 0) }
