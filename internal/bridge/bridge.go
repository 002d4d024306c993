// Package bridge is the only way from a door, such as package coverage, into the root: for the parts of a client beyond
// its exported methods. The root sets the variables. It imports this package, so its types pass as any here.
package bridge

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/download"
	"github.com/hogapi/hogapi/internal/engine"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/queries"
	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/ops"
)

// Client is the part of a client that a door uses.
type Client interface {
	Now() time.Time // by the client's clock
	Asker(name string) *queries.Asker
	AgeLine(hasRecords bool) coverage.AgeLine // of the server

	Hook(ctx context.Context, f func()) // runs a user's function; a panic in it is caught and logged
	Guard(f func() error) error         // runs a user's function; a panic in it is an error

	// ImportTarget returns a digest of the project's key and of the host name that an import sends to.
	ImportTarget() string
	// ImportConfig checks a hogapi.CaptureOptions and returns the configuration of its pipeline.
	ImportConfig(op ops.Op, options any) (engine.Config, error)

	// History returns the earlier settings of a *hogapi.BatchExport, and why some of them are not known.
	History(ctx context.Context, export any) (h coverage.History, why string, err error)
	// TestDestination runs the selected steps of the test of a *hogapi.BatchExport, and returns a *hogapi.DestinationTest.
	TestDestination(ctx context.Context, export any, only func(step string) bool) (test any, err error)
	// Backfill begins a backfill of a hogapi.BackfillRange, of rows of any age, and returns its *hogapi.BackfillTicket. Just
	// before, store gets the ticket of a backfill that may never begin.
	Backfill(ctx context.Context, exportID uuid.UUID, bounds any, store func(ticket any) error) (ticket any, err error)

	// EndOfRun waits for up to watch.CancelPatience until a *hogapi.Run is over.
	EndOfRun(ctx context.Context, exportID, runID uuid.UUID) (run any, err error)

	// CheckDownload checks a hogapi.FileDownloadRequest.
	CheckDownload(request any) *ops.InputError
	// WaitForDownload follows a file download with a *hogapi.WatchOptions until it is over.
	WaitForDownload(ctx context.Context, id uuid.UUID, o any) (download.Listing, error)
	// File returns the request for a file of a file download.
	File(id, file uuid.UUID) download.Config
}

// Of returns the client of a *hogapi.Client, or refuses one that NewClient has not made.
var Of func(client any) (Client, *ops.InputError)

// Errors of the root.
var (
	Held         func(err error) error // adds ErrHeld if another call has the folder
	FromTheStart func(err error) error // without the resume point of a walk that can only start again
	HasNoRecords func(err error) bool  // the server keeps no records of backfills
)

// Rules checks a hogapi.GateOptions and returns its rules for a protocol.
var Rules func(op ops.Op, gate any, p event.Protocol) (wire.Rules, error)

// FileError returns an error of a state file as callers see it.
var FileError func(err error) error

// CheckImportID checks that an id can be sent unchanged with every event.
func CheckImportID(op ops.Op, field, id string) error {
	want := wire.WantImportID(id)
	return outgoing.Refused(op, outgoing.If(want != "", field, id, want))
}

// Asker returns who asks a client's queries for one task, or an *InputError for a client that NewClient has not made.
func Asker(client any, name string) (*queries.Asker, error) {
	c, unfit := Of(client)
	if unfit != nil {
		return nil, outgoing.Refused(ops.Query, unfit)
	}
	return c.Asker(name), nil
}

// Open returns the client for one operation, or an *InputError for its first input that is refused.
func Open(ctx context.Context, client any, op ops.Op, refusal *ops.InputError) (Client, error) {
	c, unfit := Of(client)
	return c, outgoing.Refused(op, cmp.Or(outgoing.CheckContext(ctx), unfit, refusal))
}
