package history

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"strconv"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/bridge"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/queries"
	"github.com/hogapi/hogapi/internal/verify"
	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/ops"
)

// ErrMaxBytesRead means that the next query of Verify would read more than [VerifyOptions.MaxBytesRead].
var ErrMaxBytesRead = queries.ErrMaxRead

// VerifyOptions are the options of [Verify].
type VerifyOptions struct {
	// Source is the source that was imported; it must yield the same events as for [Import]. Verify reads
	// it only if counts or digests differ, if digests are absent, or with EveryUUID. The default is no source:
	// Verify compares counts and digests only, and names no missing event.
	Source Source
	// Gate must be the same as in the options of the import.
	Gate hogapi.GateOptions
	// Rejects are the paths of the import's reject files. They show which events of the source were not accepted,
	// and which are unconfirmed.
	Rejects []string
	// EveryUUID compares the uuids of all days and names by the import's ID, even if counts and digests are equal. It
	// needs the Source, and reads all properties of these days. The default is false.
	EveryUUID bool
	// Dir is a folder for intermediate results: an interrupted Verify continues from it, and later ones remember
	// the earlier looks. It takes up to 60 bytes for each event of the Source. One Verify at a time owns it;
	// another gets [hogapi.ErrHeld]. By default, Verify uses a temporary folder if it needs one.
	Dir string
	// Wait repeats the look until the import is complete or no more events can arrive. It waits for unconfirmed
	// events too. The first pause is a minute; it doubles each time, up to half an hour. The default is false:
	// Verify looks once.
	Wait bool
	// Patience is the time after the last acknowledgement in which no event is called missing. The service
	// promises no time. The default is 24 h.
	Patience time.Duration
	// MaxBytesRead bounds the bytes that the queries of this call may read. Verify ends with [ErrMaxBytesRead] before a
	// query that would exceed it; with Dir, another Verify continues. The default is no limit but the project's budget.
	MaxBytesRead int64
	// OnProgress is called after each query and after each 100,000 events of the source. A panic in it is caught
	// and logged.
	OnProgress func(VerifyProgress)
}

// VerifyProgress is the progress of [Verify].
type VerifyProgress struct {
	Look     int       `json:"look"`               // from 1, over all runs with one Dir
	Step     string    `json:"step"`               // "count", "wait", "read the source", "compare uuids", "look elsewhere" or "wait for the read budget"
	Done     int64     `json:"done"`               // of Total: windows of time, events, or cells
	Total    int64     `json:"total"`              // 0: not known
	Acked    int64     `json:"acknowledged"`       // by the receipt
	Seen     int64     `json:"seen"`               // in this look so far
	Proven   int       `json:"proven"`             // of Cells: they are complete, and not read again
	Cells    int       `json:"cells"`              // days and names of the receipt
	NextLook time.Time `json:"next_look,omitzero"` // while it waits

	BytesRead  int64  `json:"bytes_read"`            // by the queries of this call
	BytesToDo  int64  `json:"bytes_to_do"`           // of this look, about
	BudgetLeft *int64 `json:"budget_left,omitempty"` // bytes that the project's queries may read; nil: not known
}

// String describes the progress in a few words.
func (p VerifyProgress) String() string { return verify.Progress(p).String() }

// Verify counts the events of an import in the project and compares them with the receipt, by cells of one name on one day
// in UTC: an acknowledgement only says that the service has queued an event. A cell is complete if its events have the
// receipt's digest of uuids. Verify never calls an event missing that may still arrive or that it cannot count: see
// [VerificationMissing] and [VerificationUnknown]. With [VerifyOptions.Source] it names the missing events, and
// [Verification.Missing] is a source of them.
//
// Missing events are no error: see [Verification.Complete]. If nothing can be counted, the Verification is zero, with the error.
//
// POST /query/, scope query:read; warnings need ingestion_warning:read.
func Verify(ctx context.Context, client *hogapi.Client, receipt event.Receipt, o *VerifyOptions) (Verification, error) {
	options := outgoing.OrDefault(o)
	inside, err := bridge.Open(ctx, client, ops.Verify, nil)
	if err != nil {
		return Verification{}, err
	}
	if err := options.check(receipt); err != nil {
		return Verification{}, err
	}
	config, err := options.config(ctx, inside, receipt)
	if err != nil {
		return Verification{}, err
	}
	found, err := verify.Verify(ctx, config)
	if unfit, ok := errors.AsType[*ops.InputError](err); ok {
		err = outgoing.Refused(ops.Verify, unfit)
	}
	if found == nil {
		return Verification{}, bridge.FileError(err)
	}
	v := options.verification(receipt, found, inside.Now())
	if v.MissingEvents > 0 || v.MovedEvents > 0 {
		v.addWarnings(ctx, client)
	}
	return v, err
}

func (o VerifyOptions) config(ctx context.Context, inside bridge.Client, r event.Receipt) (verify.Config, error) {
	asker := inside.Asker("hogapi verify " + r.ID)
	asker.MaxRead = o.MaxBytesRead
	config := verify.Config{
		OnWait: func(waits func(time.Time)) { asker.OnWait = waits },
		Import: verify.Import{
			ID: r.ID, Digest: r.Digest, Rows: make([]verify.Row, len(r.Days)), Oldest: r.Oldest, Newest: r.Newest,
			LastAcknowledged: r.LastAcknowledged, Read: r.Read, Acknowledged: r.Acknowledged, Unconfirmed: r.Unconfirmed,
			IsOpen: r.Pending > 0 || !r.Finished, Hidden: r.Warnings[event.WarningOwnJobID],
		},
		Project: &verify.Queries{Asker: asker, ID: r.ID}, Rejects: o.Rejects, Dir: o.Dir, EveryUUID: o.EveryUUID,
		Wait: o.Wait, Patience: o.Patience, Now: inside.Now,
		Progress: func(p verify.Progress) {
			if o.OnProgress != nil {
				inside.Hook(ctx, func() { o.OnProgress(VerifyProgress(p)) })
			}
		},
	}
	for i, d := range r.Days {
		row := verify.Row{Key: verify.Key{Period: d.Day, Name: d.Event}, Acknowledged: d.Acknowledged, Unconfirmed: d.Unconfirmed}
		if err := row.Sum.UnmarshalText([]byte(d.Digest)); err != nil {
			return config, &hogapi.InputError{Op: ops.Verify, Field: "receipt.Days", Value: d.Digest, Want: "the receipt as Import returned it: " + err.Error()}
		}
		config.Rows[i] = row
	}
	if o.Source != nil {
		config.Source = func(ctx context.Context) iter.Seq2[verify.Event, error] { return o.sent(ctx, r) }
		config.Files = filesOf(o.Source)
		config.SourceID = fmt.Sprintf("%q %+v %q", o.Source.Name(), o.Gate, o.Rejects)
	}
	return config, nil
}

// check refuses a source, an ID and a gate that no import takes. verify.Verify checks the other options.
func (o VerifyOptions) check(r event.Receipt) error {
	if o.Source != nil && !canBeRead(o.Source) {
		return &hogapi.InputError{Op: ops.Verify, Field: "VerifyOptions.Source", Want: "a source with a function to read, or none"}
	}
	if err := bridge.CheckImportID(ops.Verify, "receipt.ID", r.ID); err != nil {
		return err
	}
	if files, ok := unwrap[*formatSource](o.Source); ok {
		if err := files.check(); err != nil {
			return err
		}
	}
	if o.MaxBytesRead < 0 {
		return &hogapi.InputError{Op: ops.Verify, Field: "VerifyOptions.MaxBytesRead", Value: strconv.FormatInt(o.MaxBytesRead, 10), Want: "a number of bytes, or 0 for no limit"}
	}
	_, err := o.rules("")
	return err
}

// rules returns the rules by which the events were sent.
func (o VerifyOptions) rules(p event.Protocol) (wire.Rules, error) {
	return bridge.Rules(ops.Verify, o.Gate, p)
}

// sent yields the events that an import with this receipt has settled, as they were sent.
func (o VerifyOptions) sent(ctx context.Context, r event.Receipt) iter.Seq2[verify.Event, error] {
	ctx = readOnly(ctx, false, nil)
	return func(yield func(verify.Event, error) bool) {
		rules, _ := o.rules(r.Protocol)
		events := newDryRun(r.ID, rules, maphash.MakeSeed())
		if r.Rejects[event.ReasonNoIdentity] == 0 || r.Last.Key == "" { // an older release may have sent it
			events.AllowKeyless()
		}
		isLast := false
		for ev, err := range taken(ctx, o.Source, event.Position{}) {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			} else if isLast && ev.Position != r.Last {
				return // the rest came after the import
			}
			if err != nil {
				yield(verify.Event{}, err)
				return
			}
			isLast = !r.Last.IsZero() && ev.Position == r.Last
			var is verify.Event
			if out, _ := events.Next(ev); out != nil {
				is = verify.Event{ID: out.UUID, Name: ev.Name, Time: out.Time, IsHidden: out.Warnings&wire.OwnJobID != 0}
			}
			if !yield(is, nil) {
				return
			}
		}
	}
}
