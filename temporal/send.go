package hogtemporal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
)

type sendInput struct {
	Import ImportParams    `json:"import"` // with this shard only
	Number int             `json:"number"` // of the shard
	Print  string          `json:"print,omitempty"`
	Begun  time.Time       `json:"begun"`
	Run    int             `json:"run"`
	State  json.RawMessage `json:"state,omitempty"` // where an earlier run has stopped; nil with a store
}

func (in sendInput) shard() Shard { return in.Import.Shards[0] }

// send imports one shard, and returns its receipt. A try that ends early leaves a state for the next one.
func (a *activities) send(ctx context.Context, in sendInput) (hogapi.Receipt, error) {
	b, alive, end := keepAlive(ctx, a.temporal, a.now, Beat{Worker: a.options.Identity, Shard: in.Number, State: in.State})
	defer end()
	receipt, err := a.importShard(alive, b, in)
	if err == nil {
		receipt.Days = addDays(receipt.Days, nil) // not more than Temporal should keep
		return receipt, nil
	}
	return hogapi.Receipt{}, ended(alive, b, err)
}

func (a *activities) importShard(ctx context.Context, b *beats, in sendInput) (hogapi.Receipt, error) {
	source, err := a.source(ctx, in.shard())
	if err != nil {
		return hogapi.Receipt{}, err
	}
	if err := samePrint(in.shard(), in.Print); err != nil {
		return hogapi.Receipt{}, err
	}
	through := &fence{b.lease, a.options.Transport}
	c, err := a.client(through, fmt.Sprintf("run-%d", in.Run))
	if err != nil {
		return hogapi.Receipt{}, err
	}
	p := in.Import
	options := &history.Options{
		ID: p.ID, Rate: p.Rate, MaxRejectShare: p.MaxRejectShare, MaxRejects: p.MaxRejects, Gate: p.Gate,
		Grace:    -1, // the fence cuts requests
		Delivery: a.options.Delivery, OnProgress: b.progress, Checkpoint: beatCheckpoint{b},
	}
	if store := a.options.Store; store != nil {
		attempt := Attempt{Import: p.ID, Shard: in.Number, Name: in.shard().name(), Begun: in.Begun, Run: in.Run}
		options.Checkpoint, options.Rejects = store.Checkpoint(attempt), store.Rejects(attempt)
	}
	return history.Import(ctx, c, source, options)
}

// ended returns the error of an activity. The cause that ended its context has priority over the errors that followed
// from it.
func ended(ctx context.Context, b *beats, err error) error {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errCanceled):
		return temporal.NewCanceledError(b.last())
	case cause != nil:
		err = cause
	}
	return problem(err).failure(b.last())
}
