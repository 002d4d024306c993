package hogtemporal

import (
	"encoding/json"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/hogapi/hogapi"
)

// Names of the signal and of the queries.
const (
	signalControl = "control"
	queryStatus   = "status"
	queryReceipt  = "receipt"
	queryRejects  = "rejects"
)

// control is a request of a person to an import.
type control struct {
	Do   string `json:"do"` // "pause", "resume" or "rate"
	Rate int    `json:"rate,omitempty"`
}

const (
	doPause  = "pause"
	doResume = "resume"
	doRate   = "rate"
)

// memory is the state of an import that survives when the workflow continues as new.
type memory struct {
	Status  Status          `json:"status"`
	Receipt hogapi.Receipt  `json:"receipt"`
	Prints  []string        `json:"prints,omitempty"` // of the shards
	Begun   time.Time       `json:"begun"`
	Run     int             `json:"run"`             // how often work was given out
	State   json.RawMessage `json:"state,omitempty"` // of the shard that was interrupted
	NextTry time.Time       `json:"next_try,omitzero"`
}

type flow struct {
	memory

	params  ImportParams
	control workflow.ReceiveChannel
	told    string // the text in the memo

	wasAsked bool // the activity was interrupted on request
}

// Outcome is the result of an import's workflow.
type Outcome struct {
	Receipt hogapi.Receipt `json:"receipt"`
	Arrival *Arrival       `json:"arrival,omitempty"`
}

// importWorkflow checks, sends and verifies. It ends when all is done or when it is canceled.
func importWorkflow(ctx workflow.Context, p ImportParams, before *memory) (*Outcome, error) {
	f := &flow{params: p, control: workflow.GetSignalChannel(ctx, signalControl)}
	if before != nil {
		f.memory = *before
	} else {
		f.Begun = workflow.Now(ctx)
		f.Receipt = hogapi.Receipt{ID: p.ID}
		f.Status = Status{ID: p.ID, Stage: StageCheck, State: StateRunning, Shards: len(p.Shards), Rate: p.Rate}
	}
	if err := f.answerQueries(ctx); err != nil {
		return nil, err
	}
	err := f.stages(ctx)
	switch {
	case workflow.IsContinueAsNewError(err):
		return nil, err
	case ctx.Err() != nil || temporal.IsCanceledError(err):
		f.Status.State = StateCanceled
		f.tell(ctx)
		return nil, temporal.NewCanceledError()
	case err != nil:
		return nil, err
	}
	f.Status.Stage, f.Status.State = StageDone, StateComplete
	f.tell(ctx)
	return &Outcome{f.Receipt, f.Status.Arrival}, nil
}

func (f *flow) answerQueries(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, queryStatus, func() (Status, error) {
		s := f.Status
		s.NextTry = f.NextTry
		s.Read, s.Acknowledged, s.Rejected, s.Resent = f.Receipt.Read, f.Receipt.Acknowledged, f.Receipt.Rejected, f.Receipt.Resent
		return s, nil
	}); err != nil {
		return err
	}
	if err := workflow.SetQueryHandler(ctx, queryReceipt, func() (hogapi.Receipt, error) { return f.Receipt, nil }); err != nil {
		return err
	}
	return workflow.SetQueryHandler(ctx, queryRejects, func() (Rejects, error) {
		return Rejects{f.Receipt.Rejects, f.Receipt.Rejected, fileName(f.params.ID) + "/*/rejects-*.jsonl"}, nil
	})
}

func (f *flow) stages(ctx workflow.Context) error {
	for {
		if err := f.renew(ctx); err != nil {
			return err
		}
		var err error
		switch s := &f.Status; s.Stage {
		case StageCheck:
			if s.Shard == len(f.params.Shards) {
				s.Stage, s.Shard = StageSend, 0
				continue
			}
			err = f.checkNext(ctx)
		case StageSend:
			if s.Shard == len(f.params.Shards) {
				s.Stage = StageVerify
				continue
			}
			err = f.sendNext(ctx)
		case StageVerify:
			if !f.params.NoVerify && f.Receipt.Acknowledged > 0 {
				return f.verify(ctx)
			}
			return nil
		default:
			return nil
		}
		if err != nil {
			return err
		}
		f.Status.Shard++
	}
}

// maxHistory is the length of the history at which a workflow continues as new, at the latest. Temporal reads a
// history from its start whenever another worker takes over a workflow.
const maxHistory = 2000

// renew continues as new before the history grows long.
func (f *flow) renew(ctx workflow.Context) error {
	f.drain()
	info := workflow.GetInfo(ctx)
	if ctx.Err() != nil || !info.GetContinueAsNewSuggested() && info.GetCurrentHistoryLength() < maxHistory {
		return ctx.Err()
	}
	return workflow.NewContinueAsNewError(ctx, WorkflowType, f.params, f.memory)
}

// one returns the parameters with the present shard only, for an activity.
func (f *flow) one() ImportParams {
	p := f.params
	p.Shards = p.Shards[f.Status.Shard : f.Status.Shard+1]
	p.Rate = f.Status.Rate
	return p
}

func (f *flow) checkNext(ctx workflow.Context) error {
	var found checked
	err := f.perform(ctx, activityCheck, func() any { return checkInput{f.one(), f.Status.Shard} }, &found)
	if err == nil {
		f.Prints = append(f.Prints, found.Print)
		f.Status.Events += found.Events
	}
	return err
}

func (f *flow) sendNext(ctx workflow.Context) error {
	var receipt hogapi.Receipt
	err := f.perform(ctx, activitySend, func() any {
		return sendInput{f.one(), f.Status.Shard, f.Prints[f.Status.Shard], f.Begun, f.Run, f.State}
	}, &receipt)
	if err == nil {
		f.State = nil
		f.Receipt = add(f.Receipt, receipt)
		f.Receipt.Source = fmt.Sprintf("%d of %d shards", f.Status.Shard+1, len(f.params.Shards))
	}
	return err
}

func (f *flow) verify(ctx workflow.Context) error {
	var found Arrival
	err := f.perform(ctx, activityVerify, func() any {
		p := f.params
		p.Shards = nil
		return verifyInput{p, f.Receipt}
	}, &found)
	if err == nil {
		f.Status.Arrival = &found
	}
	return err
}

// perform runs an activity until it succeeds. After a failure that can pass, it tries again after a pause; after any
// other, it waits for a person. The workflow makes the tries itself, not Temporal, so that it has the state of the
// shard between any two of them.
func (f *flow) perform(ctx workflow.Context, name string, input func() any, result any) error {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		if err := f.await(ctx); err != nil {
			return err
		}
		f.Run++
		f.Status.Problem = nil
		f.tell(ctx)
		begun := workflow.Now(ctx)
		err := f.runOnce(ctx, name, input(), result)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if workflow.Now(ctx).Sub(begun) > longestPause {
			pause = firstPause // the activity did make progress
		}
		if temporal.IsCanceledError(err) && f.wasAsked {
			_, last := problemOf(err)
			f.keep(last)
			continue
		}
		f.failed(ctx, err, pause)
		if err := f.renew(ctx); err != nil {
			return err
		}
	}
}

// Pauses between two tries.
const (
	firstPause   = time.Second
	longestPause = time.Minute
)

// failed notes why a try has failed, and the time of the next one.
func (f *flow) failed(ctx workflow.Context, err error, pause time.Duration) {
	problem, last := problemOf(err)
	f.keep(last)
	f.Status.Problem = &problem
	switch {
	case problem.Final():
		if f.Status.State == StateRunning {
			f.Status.State = StateStopped
		}
	case problem.Type != typeWorker && problem.Type != typeTimeout && problem.Type != typeLease:
		f.NextTry = workflow.Now(ctx).Add(pause)
	}
}

func (f *flow) keep(last Beat) {
	if last.State != nil {
		f.State = last.State
	}
}

// runOnce runs an activity until it ends, or until somebody pauses the import or changes its rate.
func (f *flow) runOnce(ctx workflow.Context, name string, input, result any) error {
	work, interrupt := workflow.WithCancel(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 365 * 24 * time.Hour, // the heartbeats set the limit
		HeartbeatTimeout:    f.params.Heartbeat,
		WaitForCancellation: true, // never two at once
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
	}))
	defer interrupt()
	f.wasAsked = false
	future := workflow.ExecuteActivity(work, name, input)
	for !future.IsReady() {
		selector := workflow.NewSelector(ctx).AddFuture(future, func(workflow.Future) {})
		f.listen(ctx, selector, func(c control) {
			if c.Do == doPause || name == activitySend {
				f.wasAsked = true
				interrupt()
			}
			f.tell(ctx)
		})
		selector.Select(ctx)
	}
	return future.Get(ctx, result)
}

// await waits while the import is paused or stopped, and until it is time for the next try.
func (f *flow) await(ctx workflow.Context) error {
	f.drain()
	for ctx.Err() == nil {
		f.tell(ctx)
		wait := f.NextTry.Sub(workflow.Now(ctx))
		selector := workflow.NewSelector(ctx)
		switch {
		case f.Status.State != StateRunning:
		case f.NextTry.IsZero() || wait <= 0:
			f.NextTry = time.Time{}
			return nil
		default:
			timer, stop := workflow.WithCancel(ctx)
			defer stop()
			selector.AddFuture(workflow.NewTimer(timer, wait), func(workflow.Future) {})
		}
		f.listen(ctx, selector, func(control) { f.NextTry = time.Time{} })
		selector.AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) {})
		selector.Select(ctx)
	}
	return ctx.Err()
}

// listen makes a selector obey requests. It calls changed for a request that changes something.
func (f *flow) listen(ctx workflow.Context, selector workflow.Selector, changed func(control)) {
	selector.AddReceive(f.control, func(c workflow.ReceiveChannel, _ bool) {
		var asked control
		c.Receive(ctx, &asked)
		if f.obey(asked) {
			changed(asked)
		}
	})
}

// drain obeys the requests that have arrived.
func (f *flow) drain() {
	var asked control
	for f.control.ReceiveAsync(&asked) {
		f.obey(asked)
		asked = control{}
	}
}

// obey reports whether something has changed.
func (f *flow) obey(c control) (changed bool) {
	s := &f.Status
	switch {
	case c.Do == doPause && s.State == StateRunning:
		s.State = StatePaused
	case c.Do == doResume && s.State != StateRunning:
		s.State = StateRunning
	case c.Do == doRate && c.Rate != s.Rate && c.Rate >= hogapi.RateUnlimited && c.Rate != 0:
		s.Rate = c.Rate
	default:
		return false
	}
	return true
}

// memoKey is the key of the state in the memo, which Temporal's own tools show.
const memoKey = "hogapi"

// tell writes the state into the memo, which can be read without a worker.
func (f *flow) tell(ctx workflow.Context) {
	s := f.Status
	text := fmt.Sprintf("%s, %s, shard %d of %d", s.State, s.Stage, min(s.Shard+1, s.Shards), s.Shards)
	if s.Problem != nil {
		text += "; " + s.Problem.String()
	}
	if text == f.told {
		return
	}
	f.told, f.Status.Since = text, workflow.Now(ctx)
	_ = workflow.UpsertMemo(ctx, map[string]any{memoKey: text}) // it fails only if the value is not JSON
}
