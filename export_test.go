package hogapi

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/statefile"
	"github.com/hogapi/hogapi/internal/wire"
)

// What external tests see of the inside.

// An Endpoint is a row of the table of endpoints.
type Endpoint struct {
	Op                  Op
	Method, Path, Scope string
	Alternative         string
}

// Endpoints are all endpoints that this package calls.
func Endpoints() (all []Endpoint) {
	for _, o := range append(slices.Collect(maps.Values(operations)), batchOperation, preflightOperation, protocolOperation) {
		all = append(all, Endpoint{o.name, o.method, o.path, o.scope, alternatives[o.name]})
	}
	return all
}

// CallEndpoint sends a request of an operation with the same id in all places.
func CallEndpoint(ctx context.Context, c *Client, op Op, id string) error {
	r := endpoint(op, slices.Repeat([]string{id}, strings.Count(operations[op].path, "{"))...)
	return c.call(ctx, r, nil)
}

// RaceDetector tells that everything takes some ten times as long, and several times the memory.
var RaceDetector bool

// FileCheckpointOn is FileCheckpoint on another file system.
func FileCheckpointOn(fsys durable.FS, path string) Checkpointer {
	return fileCheckpoint{statefile.NewCheckpoint(fsys, path)}
}

// RejectFileOn is RejectFile on another file system.
func RejectFileOn(fsys durable.FS, path string) RejectHandler {
	return rejectFile{statefile.NewRejects(fsys, path)}
}

// BadRecord is what BadEvent was given.
func BadRecord(ev Event) (raw []byte, err error) {
	if ev.bad == nil {
		return nil, nil
	}
	return ev.bad.raw, ev.bad.err
}

// LaneOf is the number of the lane that an event goes to.
func LaneOf(c *Capture, ev Event) int {
	enc, err := c.line.encoder(context.Background(), true)
	if err != nil {
		panic(err)
	}
	defer c.line.encoders.Put(enc)
	out, refusal := enc.encode(&ev)
	if refusal != nil {
		panic(refusal)
	}
	return int(out.Person % uint64(c.line.set.Lanes))
}

// UUIDAt is the uuid that an import of this id derives for the first event at a position.
func UUIDAt(p Position, importID string) uuid.UUID {
	return wire.NewIdentity(importID, 0).At(wire.Origin(p), 0)
}

// DefaultVerifyGzip is ImportOptions.VerifyGzip where it is 0.
const DefaultVerifyGzip = defaultVerifyGzip
