package hogapi

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"sync"

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

// TryEnqueue is Enqueue without waiting: [ErrFull] means that the record was not taken since there
// is no room.
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
