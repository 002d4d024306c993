package hogtemporal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/hogapi/hogapi"
)

// Beat is the content of a heartbeat: the present work of a worker, for [GetStatus].
type Beat struct {
	Worker       string    `json:"worker"`
	At           time.Time `json:"at"`
	Shard        int       `json:"shard"`
	Read         int64     `json:"read"`
	Acknowledged int64     `json:"acknowledged"`
	Rejected     int64     `json:"rejected"`
	Pending      int64     `json:"pending"`
	Failing      string    `json:"failing,omitempty"` // why nothing gets through now

	// State is the checkpoint of the shard, where the workers have no [Store].
	State json.RawMessage `json:"state,omitempty"`
}

// Reasons why a worker ends an activity before it is done.
var (
	errCanceled = errors.New("asked to stop: pause, another rate, or cancel")
	errGone     = errors.New("another worker has been given this work, or the import has ended")
	errStopping = errors.New("this worker is ending")
)

// beats keeps an activity alive: it sends heartbeats, and each one that Temporal answers renews the lease. The
// heartbeats of Temporal's SDK are batched and unconfirmed, so they cannot renew a lease.
type beats struct {
	client client.Client
	token  []byte
	now    func() reading
	lease  *lease
	stop   context.CancelCauseFunc // ends the activity; its requests may still end

	sending sync.Mutex // one heartbeat at a time, so that a state never replaces a newer one
	mu      sync.Mutex
	beat    Beat
}

// keepAlive starts the heartbeats of an activity. The context ends, with the cause, when the activity must. The
// caller must call end, which stops the heartbeats and releases the lease.
func keepAlive(ctx context.Context, c client.Client, now func() reading, first Beat) (b *beats, alive context.Context, end func()) {
	info := activity.GetInfo(ctx)
	alive, stop := context.WithCancelCause(ctx)
	b = &beats{client: c, token: info.TaskToken, now: now, beat: first, stop: stop}
	b.lease = newLease(info.HeartbeatTimeout, now)
	context.AfterFunc(b.lease.alive, func() { stop(context.Cause(b.lease.alive)) })
	// Nothing is sent before Temporal has answered a heartbeat: the task may have come long ago.
	if err := b.send(alive); err != nil {
		b.lease.stop(fmt.Errorf("%w: %w", errLease, err))
	}
	var running sync.WaitGroup
	running.Go(func() { b.run(alive, info.HeartbeatTimeout/5, activity.GetWorkerStopChannel(ctx)) })
	return b, alive, func() {
		stop(nil)
		running.Wait()
		b.lease.stop(context.Canceled)
	}
}

func (b *beats) run(ctx context.Context, every time.Duration, stopping <-chan struct{}) {
	tick := time.NewTicker(min(every, 5*time.Second))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = b.send(ctx) // the lease ends if heartbeats stay without an answer
		case <-stopping:
			b.stop(errStopping)
			return
		case <-ctx.Done():
			return
		}
	}
}

// send sends one heartbeat, and returns nil if Temporal has accepted it.
func (b *beats) send(ctx context.Context) error {
	b.sending.Lock()
	defer b.sending.Unlock()
	b.mu.Lock()
	b.beat.At = b.now().wall.UTC()
	beat := b.beat
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, max(b.lease.left(), 10*time.Millisecond))
	defer cancel()
	began := b.now()
	err := b.client.RecordActivityHeartbeat(ctx, b.token, beat)
	switch {
	case err == nil:
		b.lease.renew(began)
		return nil
	case temporal.IsCanceledError(err), errors.Is(err, activity.ErrActivityPaused), errors.Is(err, activity.ErrActivityReset):
		b.stop(errCanceled)
		return nil
	case errors.As(err, new(*serviceerror.NotFound)):
		b.lease.stop(errGone)
		return errGone
	}
	return err
}

func (b *beats) progress(s hogapi.Stats) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.beat.Read, b.beat.Acknowledged, b.beat.Rejected, b.beat.Pending = s.Read, s.Acknowledged, s.Rejected, s.Pending
	b.beat.Failing = ""
	if s.LastError != nil {
		b.beat.Failing = scrub(s.LastError.Error())
	}
}

func (b *beats) state() json.RawMessage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.beat.State
}

// save keeps a state in Temporal. It returns after Temporal has stored it.
func (b *beats) save(ctx context.Context, state []byte) error {
	b.mu.Lock()
	before := b.beat.State
	b.beat.State = state
	b.mu.Unlock()
	err := b.send(ctx)
	if err != nil { // the old state must survive
		b.mu.Lock()
		b.beat.State = before
		b.mu.Unlock()
	}
	return err
}

func (b *beats) last() Beat {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.beat
}
