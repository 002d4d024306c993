package hogapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/engine"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// A Capture sends past events that a program gives it: every request is marked as a historical migration. No event that
// Enqueue has taken is dropped: it is acknowledged, given to the reject handler, or listed by Close as unsettled. Events
// are held in memory, so a kill of the process, or its end without Close, loses them: use history.Import, or commit a
// queue's positions in OnSettled. A Capture is safe for concurrent use.
//
// By default, it stops after 15 minutes of failures, or after 30 s if it has never reached the host; a negative
// DeliveryOptions.GiveUpAfter waits for the end of every outage. A failure that a retry cannot fix stops any Capture:
// Enqueue then returns the [*StopError]. Call Close, and make another one once the cause is gone.
type Capture struct{ engine *engine.Engine }

func (c *Capture) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "hogapi.Capture") }

// opCapture begins the errors about the use of a Capture. It is not a request.
const opCapture Op = "capture"

// NewCapture starts a Capture. It sends nothing yet.
func (c *Client) NewCapture(o *CaptureOptions) (*Capture, error) {
	config, err := outgoing.OrDefault(o).resolve(opCapture, c)
	if err != nil {
		return nil, err
	}
	started, err := engine.New(config)
	if err != nil {
		return nil, err
	}
	return &Capture{started}, nil
}

// Enqueue takes all events of one record, or takes no event and returns an error. It waits while the buffer is full, and
// for the server's first answer where that decides whether it takes the event. The events share one Position, which
// OnSettled receives once they are settled; an event without a UUID gets one derived from the Position and its number in
// the record, so a record that a queue delivers twice has the same events.
//
// An event that the gate refuses goes to CaptureOptions.Rejects or, without it, is the [*event.Error]. An [*InputError]
// means that the Position had other events before: give all events of a record to one call, or a UUID to each. Other
// errors are the [*StopError] of a Capture that has stopped, [ErrClosed], and the cause if ctx has ended.
func (c *Capture) Enqueue(ctx context.Context, events ...Event) error {
	if err := checkContext(ctx, opCapture); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return engine.Refused(ctx)
	}
	return c.enqueue(ctx, events, true)
}

// TryEnqueue is [Capture.Enqueue] without waiting. It returns [ErrFull] if there is no room for the record, and
// also where Enqueue would wait for the first answer of the server.
func (c *Capture) TryEnqueue(events ...Event) error {
	return c.enqueue(context.Background(), events, false)
}

func (c *Capture) enqueue(ctx context.Context, events []Event, wait bool) error {
	var position Position // of the record
	for i := range events {
		at := events[i].Position
		if !at.IsZero() && !position.IsZero() && at != position {
			return &InputError{Op: opCapture, Field: "events", Value: at.String(),
				Want: fmt.Sprintf("events of one record, which share the Position %s; use another call for other records", position)}
		}
		if position.IsZero() {
			position = at
		}
	}
	err := c.engine.Enqueue(ctx, events, position, wait)
	if unfit, ok := errors.AsType[*InputError](err); ok {
		return refused(opCapture, unfit)
	}
	return err
}

// Flush waits until the events that were taken before the call are settled and reported to OnSettled.
func (c *Capture) Flush(ctx context.Context) error {
	if err := checkContext(ctx, opCapture); err != nil {
		return err
	}
	return c.engine.Flush(ctx)
}

// Close takes no more events and waits until the events that the Capture holds are settled. It returns the
// receipt, which is valid with an error too. If ctx ends first, Close cancels the requests under way and
// returns an [*event.UnsettledError] that lists every unsettled event. If the Capture has stopped, the error is or
// wraps its [*StopError]. A second Close returns the same values.
func (c *Capture) Close(ctx context.Context) (Receipt, error) {
	if err := checkContext(ctx, opCapture); err != nil {
		return Receipt{}, err
	}
	return c.engine.Close(ctx)
}

// Stats returns a snapshot of the progress so far.
func (c *Capture) Stats() Stats { return c.engine.Stats(0) }

// captureClient is a client as an engine sees it: see [engine.Client].
type captureClient struct {
	*core

	onSettled func(context.Context, Position)
}

// Key returns the project API key.
func (c captureClient) Key() string { return c.projectKey() }

// SDK names this package and its version.
func (c captureClient) SDK() string { return outgoing.Library + "/" + outgoing.Version() }

// Post makes one request to the capture origin, which has no prefix and takes the project API key. The
// lanes decide about retries.
func (c captureClient) Post(ctx context.Context, r engine.Request) httptry.Try {
	target := *c.capture
	target.Path += r.Path
	if r.Query != "" {
		target.RawQuery = r.Query
	}
	timeout := c.clients.TryCapture
	if r.MaxTime > 0 {
		timeout = min(timeout, r.MaxTime)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", c.userAgent)
	if r.Encoding != "" {
		r.Header.Set("Content-Encoding", r.Encoding)
	}
	info := CallInfo{Op: captureOps[r.Kind], Method: http.MethodPost, Route: r.Path, Tries: 1}
	return httptry.Once(ctx, c.clients.Capture(), httptry.Request{
		Plan: httptry.Plan{Timeout: timeout, MaxBytes: r.MaxBytes, Mark: func(ctx context.Context) context.Context {
			return context.WithValue(ctx, callInfoKey{}, info)
		}},
		Method: http.MethodPost, URL: &target, Header: r.Header,
		Open: r.Body.Open, Size: r.Size, Keys: []string{c.projectKey()},
	})
}

var captureOps = [...]Op{engine.Events: ops.Capture, engine.Question: ops.Protocol, engine.Preflight: ops.Preflight}

// Saved calls the hook of checkpoints.
func (c captureClient) Saved(position Position, took time.Duration) {
	if c.hooks.OnCheckpoint != nil {
		c.Hook(context.Background(), func() { c.hooks.OnCheckpoint(CheckpointInfo{Position: position, Duration: took}) })
	}
}

// Settled calls CaptureOptions.OnSettled.
func (c captureClient) Settled(ctx context.Context, position Position) {
	if c.onSettled != nil {
		c.Hook(ctx, func() { c.onSettled(ctx, position) })
	}
}

// Tried logs a try and calls the hook of batches.
func (c captureClient) Tried(path string, t delivery.Try) {
	ctx := context.Background()
	status, took, failure := t.Answer.Status, t.Answer.Duration, error(nil)
	if status == 0 {
		failure = t.Answer.Err
	}
	level, text := slog.LevelDebug, "hogapi: batch"
	if t.Answer.Verdict == delivery.Wait {
		level, text = slog.LevelWarn, "hogapi: batch failed, will be sent again"
	}
	info := CallInfo{Op: ops.Capture, Method: http.MethodPost, Route: path, Tries: t.Number}
	c.log(ctx, level, text, info, failure, slog.Int("lane", t.Lane), slog.Int("events", t.Items), slog.Int("status", status), slog.Duration("duration", took))
	if c.hooks.OnBatch == nil {
		return
	}
	c.Hook(ctx, func() {
		c.hooks.OnBatch(BatchInfo{
			Lane: t.Lane, Events: t.Items, Bytes: t.Plain, WireBytes: t.Wire, StatusCode: status, Try: t.Number, Err: failure, Duration: took,
		})
	})
}

// guardedHandler turns a panic of a handler of the user into an error.
type guardedHandler struct {
	*core

	handler RejectHandler
}

// Reject implements engine.Handler.
func (h guardedHandler) Reject(ctx context.Context, r Reject) error {
	return h.Guard(func() error { return h.handler.Reject(ctx, r) })
}
