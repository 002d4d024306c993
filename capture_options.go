package hogapi

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/hogapi/hogapi/internal/bridge"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/engine"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/wire"
)

// RateUnlimited is a Rate without a limit: events are sent as fast as the service answers.
const RateUnlimited = -1

// CaptureOptions are the options of a [Capture].
type CaptureOptions struct {
	// ID names the import. Uuids of events are derived from it and their positions, and every event gets it as the
	// property $import_job_id. It may be empty if every event has a UUID.
	ID string
	// Rate is the largest number of events per second, including events that are sent again; [RateUnlimited] sets no
	// limit. The default is 1,000, the rate of the service's own importer.
	Rate int
	// Rejects takes the events that the gate or the service refuses. Without it, Enqueue returns the gate's
	// refusals as errors, and the Capture stops at the first event that the service refuses.
	Rejects RejectHandler
	// OnSettled is called with the position up to which every event is settled, so that a program can commit the
	// offsets of its queue. The position is that of the last record of a run of settled ones, in the order of Enqueue,
	// and is included. It covers all records enqueued before it, of every Key: with several partitions, keep track of
	// each partition's records, or use a Capture for each. An event waits for this call at most for Tuning.Linger and
	// the time of its request. The calls come in order and do not overlap. OnSettled must not call the Capture. A panic
	// in it is caught and logged. Records without a Position are not reported. Its context ends when the context of
	// Close ends; Close then waits a moment for it and returns, with an error that names it.
	OnSettled func(context.Context, Position)
	// Gate has the options of the gate, which checks each event before it is sent.
	Gate GateOptions
	// Delivery has the options of the requests that send events.
	Delivery DeliveryOptions
}

// DeliveryOptions control the requests that send events. Zero fields take the default.
type DeliveryOptions struct {
	// GiveUpAfter is how long requests may fail before the import stops; a Retry-After that would last longer
	// stops it at once. The import can then be resumed. Set -1 to never give up. The default is 15 minutes.
	GiveUpAfter time.Duration
	// Compression is how the bodies of requests are compressed. The default is CompressionGzip.
	Compression Compression
	// Protocol is the protocol of the requests. The default is ProtocolAuto: the import asks the server before the
	// first event.
	Protocol Protocol
	Tuning
}

// Tuning has the sizes and times that few programs need to set. Zero fields take the default.
type Tuning struct {
	// Lanes is the largest number of requests at the same time, 1 to 64. Events of one distinct id share a lane.
	// The default is 8.
	Lanes int
	// MaxBatchEvents is the largest number of events in a request, 1 to 10,000. The default is 1,000, or a quarter
	// of the Rate if that is less; while answers take long, it grows up to 10,000, or to 5,000 when unpaced.
	MaxBatchEvents int
	// MaxBatchBytes is the largest size of a request in bytes before compression, 900,000 to 18 MiB. Plain
	// requests to capture v1 have at most 9 MiB. The default is 4 MiB.
	MaxBatchBytes int
	// Linger is the longest time that an event waits for its request to fill. The default is 250 ms.
	Linger time.Duration
	// MaxInFlight is the largest number of events that are read and not yet committed: after a kill, the next run
	// sends them again. A single record may have more events. The default is twice the Rate (2,000 at the default
	// rate), but at least 10 and at most 32,768; when unpaced, it is 32,768.
	MaxInFlight int
	// MaxBytes is the largest number of bytes of events in memory, at least 900,000; when it is reached, reading
	// waits. Compressed bodies and refused events count too, and can exceed it by about one request. The default
	// is 10 MiB.
	MaxBytes int
	// UnreachableAfter is how long the import waits for a host that it has never reached, because the name is not
	// found or connections are refused. Set -1 to wait as long as GiveUpAfter. The default is 30 s, or -1 if
	// GiveUpAfter is -1.
	UnreachableAfter time.Duration
	// MaxTries is the number of failed tries of one request after which the import stops. By default, only
	// GiveUpAfter limits the tries.
	MaxTries int
	// NoPreflight sends events without first asking the service if it knows the project key. The default is false.
	NoPreflight bool
}

const (
	moment             = 700 * time.Millisecond // for requests under way, once the sending of a Capture has stopped
	defaultRate        = 1000
	maxLanes           = 64
	maxBatchBytes      = 18 << 20 // of the 20 MiB that the service takes
	maxPlainV1         = 9 << 20  // of the 10 MiB that capture v1 takes; a compressed body may have 50 MiB unpacked
	maxBatchEvents     = 10_000
	unpacedInFlight    = 32_768
	unpacedBatch       = 5000 // events of a batch if answers take long
	defaultBatchEvents = 1000
)

// resolve checks the options of a Capture or an import, and returns the configuration of its pipeline, with every
// default filled in.
func (o CaptureOptions) resolve(op Op, c *Client) (config engine.Config, err error) {
	if err := o.check(op, c.core, c.project); err != nil {
		return config, err
	}
	limits, room := o.limits()
	config = engine.Config{
		ID: o.ID, Client: captureClient{c.core, o.OnSettled}, Gate: o.Gate.rules(ProtocolAuto),
		Stamps: wire.NewStamps(outgoing.Library, outgoing.Version(), o.ID), Seed: maphash.MakeSeed(),
		Protocol: o.Delivery.Protocol, Encoding: string(cmp.Or(o.Delivery.Compression, CompressionGzip)), NoPreflight: o.Delivery.NoPreflight,
		Limits: limits, Room: room, Grace: moment, Logger: c.core.logger,
	}
	if o.Rejects != nil {
		config.Handler = guardedHandler{c.core, o.Rejects}
	}
	return config, nil
}

func (o CaptureOptions) limits() (l delivery.Limits, room delivery.Held) {
	d := o.Delivery
	l = delivery.Limits{
		Lanes: cmp.Or(d.Lanes, 8), BatchItems: cmp.Or(d.MaxBatchEvents, defaultBatchEvents),
		BatchBytes: cmp.Or(d.MaxBatchBytes, 4<<20), LeastBatchBytes: wire.MaxEventBytes,
		Linger: cmp.Or(d.Linger, 250*time.Millisecond), GiveUpAfter: max(0, cmp.Or(d.GiveUpAfter, 15*time.Minute)),
		UnreachableAfter: max(0, cmp.Or(d.UnreachableAfter, 30*time.Second)), MaxTries: d.MaxTries, NoCompression: d.Compression == CompressionNone,
	}
	if d.GiveUpAfter < 0 && d.UnreachableAfter == 0 {
		l.UnreachableAfter = 0
	}
	room.Bytes = cmp.Or(d.MaxBytes, 10<<20)
	if o.Rate == RateUnlimited {
		room.Events = cmp.Or(d.MaxInFlight, unpacedInFlight)
		l.MostBatchItems = cmp.Or(d.MaxBatchEvents, unpacedBatch)
	} else {
		l.Rate = cmp.Or(o.Rate, defaultRate)
		room.Events = cmp.Or(d.MaxInFlight, max(2*min(l.Rate, unpacedInFlight/2), 10))
		l.MostBatchItems = cmp.Or(d.MaxBatchEvents, maxBatchEvents)
		// The burst is a quarter of a second's events: over ten seconds the rate stays within 2.5 %.
		l.BatchItems = min(l.BatchItems, max(l.Rate/4, 1))
	}
	if d.Compression == CompressionNone && d.Protocol != ProtocolBatch {
		l.BatchBytes = min(l.BatchBytes, maxPlainV1)
	}
	return l, room
}

func (o CaptureOptions) check(op Op, c *core, project string) error {
	bad := func(field, value, want string) error {
		return &InputError{Op: op, Field: field, Value: value, Want: want}
	}
	d := o.Delivery
	switch {
	case c.capture == nil || c.projectKey == nil:
		return bad("client", "", "a client with WithProjectAPIKey and a region or capture URL")
	case project != c.project:
		return bad("project", project, "the project of the project API key ("+strconv.Quote(c.project)+
			"): events always go to the project of that key, even with ForProject; make a client with the other project's key")
	case o.Rate < RateUnlimited:
		return bad("Rate", strconv.Itoa(o.Rate), "events per second, 0 for the default of 1,000, or RateUnlimited")
	case o.Rejects != nil && outgoing.IsNil(o.Rejects):
		return bad("Rejects", "", "a handler, or no value: this one is nil")
	case !slices.Contains([]Protocol{ProtocolAuto, ProtocolV1, ProtocolBatch}, d.Protocol):
		return bad("Delivery.Protocol", string(d.Protocol), "ProtocolAuto, ProtocolV1 or ProtocolBatch")
	case !slices.Contains([]Compression{"", CompressionGzip, CompressionZstd, CompressionNone}, d.Compression):
		return bad("Delivery.Compression", string(d.Compression), "CompressionGzip, CompressionZstd or CompressionNone")
	case outgoing.LacksUnit(d.GiveUpAfter):
		return bad("Delivery.GiveUpAfter", d.GiveUpAfter.String(), outgoing.WantUnit)
	case outgoing.LacksUnit(d.UnreachableAfter):
		return bad("Delivery.UnreachableAfter", d.UnreachableAfter.String(), outgoing.WantUnit)
	case d.GiveUpAfter < -1:
		return bad("Delivery.GiveUpAfter", d.GiveUpAfter.String(), "a duration, 0 for the default of 15 min, or -1 to never give up")
	case d.UnreachableAfter < -1:
		return bad("Delivery.UnreachableAfter", d.UnreachableAfter.String(), "a duration, 0 for the default of 30 s, or -1 for as long as GiveUpAfter")
	}
	return errors.Join(
		bridge.CheckImportID(op, "CaptureOptions.ID", o.ID), o.Gate.check(op),
		refused(op, outgoing.Negative(map[string]int{"Delivery.MaxInFlight": d.MaxInFlight, "Delivery.MaxTries": d.MaxTries})),
		refused(op, outgoing.Durations(map[string]time.Duration{"Delivery.Linger": d.Linger})),
		refused(op, outgoing.Within("Delivery.Lanes", d.Lanes, 1, maxLanes)),
		refused(op, outgoing.Within("Delivery.MaxBatchEvents", d.MaxBatchEvents, 1, maxBatchEvents)),
		refused(op, outgoing.Within("Delivery.MaxBatchBytes", d.MaxBatchBytes, wire.MaxEventBytes, maxBatchBytes)), // at least the largest event
		refused(op, outgoing.Within("Delivery.MaxBytes", d.MaxBytes, wire.MaxEventBytes, math.MaxInt)))
}

// RejectHandler takes rejects, one at a time and in the order of the source; an error stops the import, and the next run
// repeats the rejects since the last checkpoint, with the same uuids. A handler must not call the Capture, which waits for
// it.
type RejectHandler interface {
	Reject(ctx context.Context, r Reject) error
}

// RejectFunc makes a function a RejectHandler.
type RejectFunc func(ctx context.Context, r Reject) error

// Reject calls f.
func (f RejectFunc) Reject(ctx context.Context, r Reject) error { return f(ctx, r) }

// Compression is how the bodies of requests are compressed.
type Compression string

// The compressions.
const (
	CompressionGzip Compression = "gzip"
	CompressionZstd Compression = "zstd" // smaller in about the same time; for capture v1 only, /batch/ gets gzip
	CompressionNone Compression = "none" // plain JSON
)

// GateOptions control the gate, which refuses events before they are sent; the zero value follows the service's rules.
type GateOptions struct {
	// MinAge is the least age of an event. The service treats younger events as live events and bills them. A
	// negative MinAge allows every event, even one in the future. The default is 48 h.
	MinAge time.Duration
	// PersonPolicy controls $set in old events, which could overwrite newer values of a person. The default is
	// PersonPolicyKeep.
	PersonPolicy PersonPolicy
	// StripHeatmaps sends events without heatmap data: it removes $heatmap_data and renames $prev_pageview_pathname
	// to import_prev_pageview_pathname. With such data, the service adds rows to its heatmaps each time an event
	// is sent, so an event that is sent twice counts twice there. The default is false: the data is sent, and the
	// receipt has a warning.
	StripHeatmaps bool
	// AllowMergeDangerously allows the event $merge_dangerously, which permanently merges persons of today, even
	// identified ones. The default is false.
	AllowMergeDangerously bool
}

func (o GateOptions) check(op Op) error {
	policy := strconv.Itoa(int(o.PersonPolicy))
	return refused(op, cmp.Or(
		outgoing.If(outgoing.LacksUnit(o.MinAge), "Gate.MinAge", o.MinAge.String(), outgoing.WantUnit),
		outgoing.If(o.PersonPolicy > PersonPolicyStrip, "Gate.PersonPolicy", policy,
			"PersonPolicyKeep, PersonPolicySetOnce or PersonPolicyStrip"),
	))
}

func (o GateOptions) rules(p Protocol) wire.Rules {
	return wire.Rules{
		MinAge: o.MinAge, PersonPolicy: o.PersonPolicy, StripHeatmaps: o.StripHeatmaps,
		AllowMergeDangerously: o.AllowMergeDangerously, Protocol: p,
	}
}
