package hogapi

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/ingest"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/pipeline"
	"github.com/hogapi/hogapi/internal/wire"
)

// Unpaced is a Rate without a limit: events are sent as fast as the service answers.
const Unpaced = -1

// CaptureOptions are the options of a [Capture].
type CaptureOptions struct {
	// ID names the import. The uuids of events are derived from it and from their positions, and every event
	// carries it as the property $import_job_id. It may be empty if every event has a uuid of its own.
	ID string
	// Rate is the most events per second, resent ones included; [Unpaced] sets no limit. The default is 1,000,
	// as for the service's own importer.
	Rate int
	// Rejects takes the events that the gate or the service refuses. Without it, Enqueue returns the gate's
	// refusals as errors, and the first event that the service refuses stops the Capture.
	Rejects RejectHandler
	// OnSettled receives the position up to which every event is settled, for sources that commit offsets. It
	// is called within DeliveryOptions.Linger and the time of a request after the last event. Calls come one at
	// a time, in order. It must not call the Capture. A panic in it is caught and logged. Records without a
	// Position are not reported.
	OnSettled func(Position)
	Gate      GateOptions
	Delivery  DeliveryOptions
}

// DeliveryOptions control the requests that send events. Zero fields take the default.
type DeliveryOptions struct {
	// GiveUpAfter is the time for which failures may last before the import stops; it can be resumed. Set -1 to
	// never give up. The default is 15 minutes.
	GiveUpAfter time.Duration
	// NoCompression sends plain JSON. The default is false.
	NoCompression bool
	// Encoder compresses bodies for capture v1; /batch/ always gets gzip. The default is Gzip().
	Encoder Encoder
	// Protocol is the protocol of the requests. The default is ProtocolAuto, which asks the server before the
	// first event.
	Protocol Protocol
	Tuning
}

// Tuning has the sizes and times that few programs need to set. Zero fields take the default.
type Tuning struct {
	// Lanes is the number of requests at the same time, at most 64. Events of one person share a lane. The
	// default is 8.
	Lanes int
	// MaxBatchEvents is the most events of a request, at most 10,000. The default is 1,000: less under a low
	// rate, more where answers take long.
	MaxBatchEvents int
	// MaxBatchBytes is the most bytes of a request before compression, 900,000 to 18 MiB. The default is 4 MiB.
	MaxBatchBytes int
	// MaxBatchSpan is the longest time between the timestamps of a batch's events. The default is no limit.
	MaxBatchSpan time.Duration
	// Linger is the longest time that an event waits for others to fill its batch. The default is 250 ms.
	Linger time.Duration
	// MaxInFlight is the most events that are read and not yet committed: after a kill, the next run sends them
	// again. One record may be larger. The default is two seconds of the rate (2,000), or 32,768 when unpaced.
	MaxInFlight int
	// MaxBytes is the most bytes of events held, at least 900,000; beyond it, reading waits. Compressed bodies
	// and refused events count too and can exceed it by about one batch. The default is 10 MiB.
	MaxBytes int
	// UnreachableAfter is the time for which a host that was never reached may stay out of reach, because its name
	// is not found or it refuses connections. Set -1 for as long as GiveUpAfter. The default is 30 s, or -1 if
	// GiveUpAfter is -1.
	UnreachableAfter time.Duration
	// MaxTries is the most tries of one request before the import stops. The default is no limit but
	// GiveUpAfter.
	MaxTries int
	// NoPreflight skips the question, before the first event, whether the service knows the project key. The
	// default is false.
	NoPreflight bool
}

const (
	defaultRate        = 1000
	mostLanes          = 64
	mostBatchBytes     = 18 << 20 // of the 20 MiB that the service takes
	mostPlainV1        = 9 << 20  // of the 10 MiB that capture v1 takes; a compressed body may have 50 MiB unpacked
	mostBatchEvents    = 10_000
	unpacedInFlight    = 32_768
	unpacedBatch       = 5000 // events of a batch if answers take long
	defaultBatchEvents = 1000
)

// limits returns the options with every default filled in.
func (o CaptureOptions) limits() (l delivery.Limits, room delivery.Held) {
	d := o.Delivery
	l = delivery.Limits{
		Lanes: cmp.Or(d.Lanes, 8), BatchItems: cmp.Or(d.MaxBatchEvents, defaultBatchEvents),
		BatchBytes: cmp.Or(d.MaxBatchBytes, 4<<20), LeastBatchBytes: wire.MaxEventBytes, BatchSpan: d.MaxBatchSpan,
		Linger: cmp.Or(d.Linger, 250*time.Millisecond), GiveUpAfter: cmp.Or(d.GiveUpAfter, 15*time.Minute),
		UnreachableAfter: cmp.Or(d.UnreachableAfter, 30*time.Second), MaxTries: d.MaxTries, NoCompression: d.NoCompression,
	}
	if d.GiveUpAfter < 0 {
		l.GiveUpAfter = delivery.Never
	}
	if d.UnreachableAfter < 0 || d.GiveUpAfter < 0 && d.UnreachableAfter == 0 {
		l.UnreachableAfter = l.GiveUpAfter
	}
	room.Bytes = cmp.Or(d.MaxBytes, 10<<20)
	if o.Rate == Unpaced {
		room.Events = cmp.Or(d.MaxInFlight, unpacedInFlight)
		l.MostBatchItems = max(unpacedBatch, l.BatchItems)
	} else {
		l.Rate = cmp.Or(o.Rate, defaultRate)
		room.Events = cmp.Or(d.MaxInFlight, min(max(2*l.Rate, 10), unpacedInFlight))
		l.MostBatchItems = cmp.Or(d.MaxBatchEvents, mostBatchEvents)
		// The burst is a quarter of a second's events: over ten seconds the rate stays within 2.5 %.
		l.BatchItems = min(l.BatchItems, max(l.Rate/4, 1))
	}
	if d.NoCompression && d.Protocol != ProtocolBatch {
		l.BatchBytes = min(l.BatchBytes, mostPlainV1)
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
		return bad("project", project, "the project that the project API key was given with ("+strconv.Quote(c.project)+
			"): events go where that key belongs, whatever ForProject says; make a client with the other project's key")
	case o.Rate < Unpaced:
		return bad("Rate", strconv.Itoa(o.Rate), "events per second, 0 for the default of 1,000, or Unpaced")
	case o.Rejects != nil && isNil(o.Rejects):
		return bad("Rejects", "", "a handler, or no value: this one is nil")
	case o.Gate.ContentIDs > 0 && o.ID == "":
		return bad("CaptureOptions.ID", "", "an ID where Gate.ContentIDs is set: without one, equal events of other programs would get the same uuids")
	case d.Protocol != ProtocolAuto && rulesOf[d.Protocol] == wire.ProtocolUnknown:
		return bad("Delivery.Protocol", string(d.Protocol), "ProtocolAuto, ProtocolV1 or ProtocolBatch")
	case d.Encoder != nil && (isNil(d.Encoder) || !outgoing.IsPathSegment(d.Encoder.Encoding())):
		return bad("Delivery.Encoder", "", "Gzip(), Zstd(), an encoder with a Content-Encoding, or no value")
	case d.Encoder != nil && d.NoCompression:
		return bad("Delivery.Encoder", d.Encoder.Encoding(), "either an encoder or NoCompression, not both")
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
		checkImportID(op, "CaptureOptions.ID", o.ID), o.Gate.check(op),
		refused(op, outgoing.Negative(map[string]int{"Delivery.MaxInFlight": d.MaxInFlight, "Delivery.MaxTries": d.MaxTries})),
		refused(op, outgoing.Durations(map[string]time.Duration{
			"Delivery.MaxBatchSpan": d.MaxBatchSpan, "Delivery.Linger": d.Linger,
		})),
		bounded(op, "Delivery.Lanes", d.Lanes, 1, mostLanes), bounded(op, "Delivery.MaxBatchEvents", d.MaxBatchEvents, 1, mostBatchEvents),
		bounded(op, "Delivery.MaxBatchBytes", d.MaxBatchBytes, wire.MaxEventBytes, mostBatchBytes), // at least the largest event
		bounded(op, "Delivery.MaxBytes", d.MaxBytes, wire.MaxEventBytes, math.MaxInt))
}

// checkImportID checks that an id can be sent unchanged with every event.
func checkImportID(op Op, field, id string) error {
	if want := wire.WantImportID(id); want != "" {
		return &InputError{Op: op, Field: field, Value: id, Want: want}
	}
	return nil
}

// bounded checks a number, unless it is 0 for the default.
func bounded(op Op, field string, n, least, most int) error {
	if n == 0 || least <= n && n <= most {
		return nil
	}
	want := fmt.Sprintf("%d to %d, or 0 for the default", least, most)
	if most == math.MaxInt {
		want = fmt.Sprintf("at least %d, or 0 for the default", least)
	}
	return &InputError{Op: op, Field: field, Value: strconv.Itoa(n), Want: want}
}

// Protocol is the way in which events are sent. One import never mixes two: its checkpoint keeps the first.
type Protocol string

// The protocols.
const (
	ProtocolAuto  Protocol = ""      // capture v1 if the server has it, otherwise /batch/; asked once before the first event
	ProtocolV1    Protocol = "v1"    // POST /i/v1/analytics/events: the answer names the fate of each event
	ProtocolBatch Protocol = "batch" // POST /batch/: one answer for all events of a request
)

// rulesOf maps a protocol to the gate's rules. ProtocolAuto has no entry: a check does not ask the server.
var rulesOf = map[Protocol]wire.Protocol{ProtocolV1: wire.ProtocolV1, ProtocolBatch: wire.ProtocolBatch}

// compression returns the compression of a protocol. The endpoint /batch/ knows gzip only.
func (d DeliveryOptions) compression(protocol string) pipeline.Compression {
	encoder := d.Encoder
	if encoder == nil || protocol == ingest.NameBatch {
		encoder = Gzip()
	}
	return pipeline.Compression{Encoding: encoder.Encoding(), NewWriter: func() delivery.Encoder { return encoder.NewWriter() }}
}

// Encoder compresses the bodies of requests.
type Encoder interface {
	Encoding() string      // the Content-Encoding, such as "gzip"
	NewWriter() BodyWriter // one goroutine uses it, for one body after another
}

// BodyWriter compresses one body after another: each begins with Reset and ends with Close.
type BodyWriter interface {
	io.WriteCloser
	Reset(to io.Writer)
}

// Gzip returns an Encoder for gzip, which every server takes.
func Gzip() Encoder { return gzipEncoder{} }

type gzipEncoder struct{}

const gzipLevel = 2 // of klauspost/compress: as fast as 1, and smaller

// Encoding implements Encoder.
func (gzipEncoder) Encoding() string { return "gzip" }

// NewWriter implements Encoder.
func (gzipEncoder) NewWriter() BodyWriter {
	w, _ := gzip.NewWriterLevel(nil, gzipLevel) // the level is valid
	return w
}

// Zstd returns an Encoder for Zstandard, which capture v1 takes: smaller bodies for about the same time.
func Zstd() Encoder { return zstdEncoder{} }

type zstdEncoder struct{}

// Encoding implements Encoder.
func (zstdEncoder) Encoding() string { return "zstd" }

// NewWriter implements Encoder.
func (zstdEncoder) NewWriter() BodyWriter {
	w, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true)) // the options are valid
	return w
}
