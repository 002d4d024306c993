package hogapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/ops"
)

// A Capture holds what it has not sent in memory: a kill of the process loses it. Where that must
// not happen, use [Client.Import], which resumes from a checkpoint, or commit the positions that
// OnSettled reports.
//
// Capture sends past events: every request says historical_migration, and there is no way to send
// without it. No event that Enqueue has taken is dropped: it is acknowledged, given to the reject
// handler, or listed by Close as unsettled. It is safe for concurrent use. End it with Close: a
// Capture that is garbage collected without Close reports the events it held to the client's logger,
// or to [slog.Default] if the client has none.
type Capture struct {
	line *pipeline
	open runtime.Cleanup
}

// Format writes the type's name under every verb: the buffers of a Capture hold events.
func (c *Capture) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "hogapi.Capture") }

// NewCapture starts a Capture. It sends nothing yet.
func (c *Client) NewCapture(o *CaptureOptions) (*Capture, error) {
	line, err := c.newPipeline(orDefault(o), importState{})
	if err != nil {
		return nil, err
	}
	capture := &Capture{line: line}
	capture.open = runtime.AddCleanup(capture, (*pipeline).forgotten, line)
	return capture, nil
}

// Enqueue takes the events of one record, all or none. It makes their bytes at once, so later
// changes of their maps change nothing, and waits while the buffer is full.
//
// The events share one Position: that of the events that have one. OnSettled is told it once all of
// them are settled. Events without a UUID get one that is derived from the Position and their number
// there. A record that is enqueued while others with the same Position are, or after records in
// between, needs events with a UUID of their own.
//
// An event that the gate refuses goes to CaptureOptions.Rejects. Without that handler the whole
// record is not taken and the error is the *EventError. Any other error also means that the record
// was not taken: the *StopError that has ended the sending, [ErrClosed], or the cause of ctx's end.
func (c *Capture) Enqueue(ctx context.Context, events ...Event) error {
	if err := checkContext(ctx, ops.Import); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return notTaken(ctx)
	}
	defer runtime.KeepAlive(c)
	return c.line.enqueue(ctx, events, true)
}

// TryEnqueue is Enqueue without waiting: [ErrFull] means that the record was not taken, since there
// is no room, or since the server has not yet answered how it takes events.
func (c *Capture) TryEnqueue(events ...Event) error {
	defer runtime.KeepAlive(c)
	return c.line.enqueue(context.Background(), events, false)
}

// Flush returns when every event that was taken before it is settled and OnSettled knows. It does
// not wait for later events.
func (c *Capture) Flush(ctx context.Context) error {
	if err := checkContext(ctx, ops.Import); err != nil {
		return err
	}
	defer runtime.KeepAlive(c)
	return c.line.flush(ctx)
}

// Close takes no further events, sends what it holds, waits for retries, and returns the receipt,
// which is valid with an error too. When ctx ends first, requests under way are canceled and the
// error is an [*UnsettledError] that lists every event that is not settled. A Capture that has
// stopped returns its [*StopError]. A second Close returns the same.
func (c *Capture) Close(ctx context.Context) (Receipt, error) {
	if err := checkContext(ctx, ops.Import); err != nil {
		return Receipt{}, err
	}
	c.open.Stop()
	return c.line.close(ctx)
}

// Stats is a snapshot of what has happened so far.
func (c *Capture) Stats() Stats { return c.line.snapshot() }

// forgotten reports a Capture that nobody can close any more, and has what it holds sent.
func (p *pipeline) forgotten() {
	logger := p.core.logger
	if !logger.Enabled(context.Background(), slog.LevelError) {
		logger = slog.Default()
	}
	if n := p.ledger.Live().InFlight; n > 0 {
		logger.Error("hogapi: a Capture was garbage collected without Close; it tries to send what it holds, and nobody will know the result", "events", n)
	}
	go func() { _, _ = p.close(context.Background()) }()
}

// checkContext refuses a nil context.
func checkContext(ctx context.Context, op Op) error {
	if ctx == nil {
		return nilContext(op)
	}
	return nil
}

// meter counts what is seen of requests. It is safe for concurrent use.
type meter struct {
	mu    sync.Mutex
	stats Stats
}

func (m *meter) change(f func(*Stats)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(&m.stats)
}

func (m *meter) read() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stats
}

// Unpaced is the rate that sends as fast as the service answers.
const Unpaced = -1

// CaptureOptions set up a [Capture].
type CaptureOptions struct {
	// ID names the import. Uuids are derived from it and the positions of events, and every event
	// carries it as the property $import_job_id. It may be empty where every event has a uuid of its
	// own.
	ID string
	// Rate is the most events per second, resent ones included: default 1,000, as the service's own
	// importer; or Unpaced.
	Rate int
	// Rejects takes the events that the gate or the service refuses. Without it, Enqueue returns what
	// the gate refuses, and the first event that the service refuses stops the Capture.
	Rejects RejectHandler
	// OnSettled is told the position up to which every event is settled, for sources that commit
	// offsets: within DeliveryOptions.Linger and the time of a request after the last event. Calls
	// come one at a time, in order; it must not call back into the Capture. A panic in it is caught
	// and logged. Records without a Position are not reported.
	OnSettled func(Position)
	Gate      GateOptions
	Delivery  DeliveryOptions
}

// DeliveryOptions say how events are sent. Zero fields take the default.
type DeliveryOptions struct {
	Lanes          int           // requests at the same time; events of one person share a lane; default 8, at most 64
	MaxBatchEvents int           // events a request; default 1,000, less under a low rate, more where answers take long; at most 10,000
	MaxBatchBytes  int           // bytes a request before compression; default 4 MiB, 900,000 to 18 MiB
	MaxBatchSpan   time.Duration // a batch spans no more of the events' own time; default no limit
	Linger         time.Duration // how long an event waits for company; default 250 ms
	MaxInFlight    int           // events read and not yet committed, which a kill makes the next run send again; default two seconds of the rate (2,000), or 32,768 when unpaced; one record may be larger
	MaxBytes       int           // bytes of events held; reading waits beyond it. Compressed bodies and refused events count too and can exceed it by about one batch; default 10 MiB, at least 900,000
	NoProgress     time.Duration // a failure that lasts longer stops the import, resumable; default 15 min
	FirstAnswer    time.Duration // how long a host that was never reached may stay out of reach: its name is not found, it refuses connections; default 30 s, -1 for as long as NoProgress
	MaxTries       int           // tries of one request before the import stops; default no limit but NoProgress
	NoCompression  bool          // send plain JSON
	Encoder        Encoder       // compresses bodies for capture v1; default Gzip(); /batch/ gets gzip always
	Protocol       Protocol      // how events are sent; default: as the server says before the first event
	NoPreflight    bool          // do not ask before the first event whether the service knows the project key
}

// deliverySettings are the delivery options with every default filled in.
type deliverySettings struct {
	DeliveryOptions

	rate      int // 0: unpaced
	mostBatch int // events of a batch where answers take long
	gate      GateOptions
}

const (
	defaultRate        = 1000
	mostLanes          = 64
	mostBatchBytes     = 18 << 20 // of the 20 MiB that the service takes
	mostPlainV1        = 9 << 20  // of the 10 MiB that capture v1 takes; compressed, a body has 50 MiB to unfold to
	mostBatchEvents    = 10_000
	unpacedInFlight    = 32_768
	unpacedBatch       = 5000 // events of a batch where answers take long
	defaultBatchEvents = 1000
)

// limits are the settings that delivery needs.
func (s *deliverySettings) limits() delivery.Limits {
	return delivery.Limits{
		Lanes: s.Lanes, BatchItems: s.MaxBatchEvents, MostBatchItems: s.mostBatch, BatchBytes: s.MaxBatchBytes, LeastBatchBytes: wire.MaxEventBytes,
		BatchSpan: s.MaxBatchSpan, Linger: s.Linger, Rate: s.rate, NoProgress: s.NoProgress, FirstAnswer: s.FirstAnswer,
		MaxTries: s.MaxTries, NoCompression: s.NoCompression,
	}
}

// settings checks the options and fills in the defaults.
func (o CaptureOptions) settings(c *core, project string) (s deliverySettings, err error) {
	if err := o.check(c, project); err != nil {
		return s, err
	}
	d := o.Delivery
	s = deliverySettings{DeliveryOptions: d}
	s.Lanes = cmp.Or(d.Lanes, 8)
	s.MaxBatchBytes = cmp.Or(d.MaxBatchBytes, 4<<20)
	s.MaxBytes = cmp.Or(d.MaxBytes, 10<<20)
	s.Linger = cmp.Or(d.Linger, 250*time.Millisecond)
	s.NoProgress = cmp.Or(d.NoProgress, 15*time.Minute)
	if s.FirstAnswer = cmp.Or(d.FirstAnswer, 30*time.Second); s.FirstAnswer < 0 {
		s.FirstAnswer = s.NoProgress
	}
	s.MaxBatchEvents = cmp.Or(d.MaxBatchEvents, defaultBatchEvents)
	if o.Rate == Unpaced {
		s.MaxInFlight = cmp.Or(d.MaxInFlight, unpacedInFlight)
		s.mostBatch = max(unpacedBatch, s.MaxBatchEvents)
	} else {
		s.rate = cmp.Or(o.Rate, defaultRate)
		s.MaxInFlight = cmp.Or(d.MaxInFlight, min(max(2*s.rate, 10), unpacedInFlight))
		s.mostBatch = cmp.Or(d.MaxBatchEvents, mostBatchEvents)
		// A quarter of a second's events is the burst: over ten seconds the rate is kept within 2.5 %.
		s.MaxBatchEvents = min(s.MaxBatchEvents, max(s.rate/4, 1))
	}
	s.gate = o.Gate
	if d.NoCompression && d.Protocol != ProtocolBatch {
		s.MaxBatchBytes = min(s.MaxBatchBytes, mostPlainV1)
	}
	return s, nil
}

func (o CaptureOptions) check(c *core, project string) error {
	bad := func(field, value, want string) error {
		return &InputError{Op: ops.Import, Field: field, Value: value, Want: want}
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
	case d.Protocol != ProtocolAuto && c.protocol(d.Protocol) == nil:
		return bad("Delivery.Protocol", string(d.Protocol), "ProtocolAuto, ProtocolV1 or ProtocolBatch")
	case d.Encoder != nil && (isNil(d.Encoder) || !outgoing.IsPathSegment(d.Encoder.Encoding())):
		return bad("Delivery.Encoder", "", "Gzip(), Zstd(), an encoder with a Content-Encoding, or no value")
	case d.Encoder != nil && d.NoCompression:
		return bad("Delivery.Encoder", d.Encoder.Encoding(), "either an encoder or NoCompression, not both")
	case d.FirstAnswer < 0 && d.FirstAnswer != -1:
		return bad("Delivery.FirstAnswer", d.FirstAnswer.String(), "a duration, 0 for the default of 30 s, or -1 for as long as NoProgress")
	}
	return errors.Join(
		checkImportID("CaptureOptions.ID", o.ID), o.Gate.check(ops.Import),
		firstNegative(ops.Import, map[string]int{"Delivery.MaxInFlight": d.MaxInFlight, "Delivery.MaxTries": d.MaxTries}),
		firstNegative(ops.Import, map[string]time.Duration{
			"Delivery.MaxBatchSpan": d.MaxBatchSpan, "Delivery.Linger": d.Linger, "Delivery.NoProgress": d.NoProgress,
		}),
		bounded("Delivery.Lanes", d.Lanes, 1, mostLanes), bounded("Delivery.MaxBatchEvents", d.MaxBatchEvents, 1, mostBatchEvents),
		bounded("Delivery.MaxBatchBytes", d.MaxBatchBytes, wire.MaxEventBytes, mostBatchBytes), // one event of the largest size always fits
		bounded("Delivery.MaxBytes", d.MaxBytes, wire.MaxEventBytes, math.MaxInt))
}

// checkImportID checks that an id can be sent as it is, with every event.
func checkImportID(field, id string) error {
	if want := wire.WantImportID(id); want != "" {
		return &InputError{Op: ops.Import, Field: field, Value: id, Want: want}
	}
	return nil
}

// bounded checks a number that is not left to its default.
func bounded(field string, n, least, most int) error {
	if n == 0 || least <= n && n <= most {
		return nil
	}
	want := fmt.Sprintf("%d to %d, or 0 for the default", least, most)
	if most == math.MaxInt {
		want = fmt.Sprintf("at least %d, or 0 for the default", least)
	}
	return &InputError{Op: ops.Import, Field: field, Value: strconv.Itoa(n), Want: want}
}
