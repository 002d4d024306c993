package hogtemporal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/hogapi/hogapi"
)

// month is an import in virtual time: each shard takes a while, and sends a number of events.
type month struct {
	t      *testing.T
	params ImportParams
	each   time.Duration // how long a shard takes
	events int64         // of a shard
	now    func() time.Time

	outage, over time.Time
	sent         []int          // the shards, in the order in which they ended
	state        map[int]string // of an interrupted shard, as the activity got it
	tries        int            // failed ones
	runs         map[int]bool   // the numbers of the attempts
}

func (m *month) down() bool { return !m.now().Before(m.outage) && m.now().Before(m.over) }

// takes returns how long a try of a shard lasts. While the service is down, the core gives up after 15 minutes.
func (m *month) takes() time.Duration {
	if m.down() {
		return 15 * time.Minute
	}
	return m.each
}

func (m *month) send(_ context.Context, in sendInput) (hogapi.Receipt, error) {
	assert.False(m.t, m.runs[in.Run], "a run is given out once")
	m.runs[in.Run] = true
	assert.Equal(m.t, fmt.Sprint("print ", in.Number), in.Print)
	if want := m.state[in.Number]; want != "" {
		assert.JSONEq(m.t, want, string(in.State), "another worker takes up the state")
	}
	if m.down() {
		m.tries++
		m.state[in.Number] = fmt.Sprintf(`{"tries":%d}`, m.tries)
		stop := &hogapi.StopError{Reason: hogapi.StopNoProgress}
		return hogapi.Receipt{}, problem(stop).failure(Beat{State: json.RawMessage(m.state[in.Number])})
	}
	m.sent = append(m.sent, in.Number)
	return hogapi.Receipt{ID: in.Import.ID, Read: m.events, Acknowledged: m.events, Finished: true, Digest: fmt.Sprintf("%032x", in.Number+1)}, nil
}

func (m *month) check(_ context.Context, in checkInput) (checked, error) {
	return checked{Events: m.events, Print: fmt.Sprint("print ", in.Number)}, nil
}

// changedWorkflow is a later release: it does more at its start, and marks the change with a version, so that running imports continue as
// before.
func changedWorkflow(ctx workflow.Context, p ImportParams, before *memory) (*Outcome, error) {
	if workflow.GetVersion(ctx, "more-at-the-start", workflow.DefaultVersion, 1) == 1 {
		if err := workflow.Sleep(ctx, time.Second); err != nil {
			return nil, err
		}
	}
	return importWorkflow(ctx, p, before)
}

// An import takes a month, with an outage of two days, and continues as new each week in a changed release.
func TestAMonth(t *testing.T) {
	start := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	m := &month{
		t: t, each: 18 * time.Hour, events: 250_000_000, state: map[int]string{}, runs: map[int]bool{},
		outage: start.AddDate(0, 0, 10), over: start.AddDate(0, 0, 12),
		params: ImportParams{ID: "month", NoVerify: true}.withDefaults(),
	}
	for i := range 40 {
		m.params.Shards = append(m.params.Shards, Shard{Path: fmt.Sprintf("/shared/events-%02d.jsonl", i)})
	}
	var suite testsuite.WorkflowTestSuite
	var carried *memory
	releases := 0
	for now := start; ; releases++ {
		env := suite.NewTestWorkflowEnvironment()
		env.SetStartTime(now)
		env.SetTestTimeout(time.Minute)
		m.now = env.Now
		register(env, &activities{})
		env.RegisterWorkflowWithOptions(changedWorkflow, workflow.RegisterOptions{Name: "changed"})
		env.OnActivity(activityCheck, mock.Anything, mock.Anything).Return(m.check)
		env.OnActivity(activitySend, mock.Anything, mock.Anything).Return(m.send).AfterFn(m.takes)
		env.RegisterDelayedCallback(func() { env.SetContinueAsNewSuggested(true) }, 7*24*time.Hour)
		env.ExecuteWorkflow([]string{WorkflowType, "changed"}[releases%2], m.params, carried)
		require.True(t, env.IsWorkflowCompleted())
		now = env.Now()
		var renewed *workflow.ContinueAsNewError
		err := env.GetWorkflowError()
		if !errors.As(err, &renewed) {
			require.NoError(t, err)
			var out Outcome
			require.NoError(t, env.GetWorkflowResult(&out))
			assert.EqualValues(t, 40*m.events, out.Receipt.Acknowledged)
			assert.Equal(t, fmt.Sprintf("%032x", 40*41/2), out.Receipt.Digest)
			assert.True(t, out.Receipt.Finished)
			assert.InDelta(t, 32, now.Sub(start).Hours()/24, 2)
			break
		}
		var p ImportParams
		carried = new(memory)
		require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(renewed.Input, &p, carried))
		assert.Equal(t, m.params, p)
	}
	assert.GreaterOrEqual(t, releases, 4)
	assert.Greater(t, m.tries, 100, "the outage")
	require.Len(t, m.sent, 40)
	for i, shard := range m.sent {
		assert.Equal(t, i, shard, "in order")
	}
}

func testEnv(t *testing.T) (*testsuite.TestWorkflowEnvironment, ImportParams) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)
	register(env, &activities{})
	env.OnActivity(activityCheck, mock.Anything, mock.Anything).Return(checked{Events: 10, Print: "p"}, nil)
	t.Cleanup(func() { env.AssertExpectations(t) })
	return env, ImportParams{ID: "i", NoVerify: true, Shards: []Shard{{Path: "/1"}, {Path: "/2"}}}.withDefaults()
}

func statusOf(t *testing.T, env *testsuite.TestWorkflowEnvironment) (s Status) {
	value, err := env.QueryWorkflow(queryStatus)
	require.NoError(t, err)
	require.NoError(t, value.Get(&s))
	return s
}

// A failure that needs a person stops the import until it is resumed. Pausing a stopped import has no effect.
func TestStoppedUntilResumed(t *testing.T) {
	env, p := testEnv(t)
	fixed := false
	env.OnActivity(activitySend, mock.Anything, mock.Anything).Return(func(context.Context, sendInput) (hogapi.Receipt, error) {
		if !fixed {
			return hogapi.Receipt{}, problem(&hogapi.StopError{Reason: hogapi.StopWrongKey}).failure(Beat{})
		}
		return hogapi.Receipt{Acknowledged: 5, Finished: true}, nil
	})
	env.RegisterDelayedCallback(func() {
		s := statusOf(t, env)
		assert.Equal(t, StateStopped, s.State)
		assert.Equal(t, "wrong_key", s.Problem.Type)
		assert.Contains(t, s.String(), "resume i")
		env.SignalWorkflow(signalControl, control{Do: doPause}) // changes nothing
		env.SignalWorkflow(signalControl, control{Do: doRate, Rate: 50})
	}, time.Hour)
	env.RegisterDelayedCallback(func() {
		assert.Equal(t, StateStopped, statusOf(t, env).State)
		fixed = true
		env.SignalWorkflow(signalControl, control{Do: doResume})
	}, 24*time.Hour)
	env.ExecuteWorkflow(WorkflowType, p, (*memory)(nil))
	require.NoError(t, env.GetWorkflowError())
	s := statusOf(t, env)
	assert.Equal(t, StateComplete, s.State)
	assert.EqualValues(t, 10, s.Acknowledged)
	assert.Equal(t, 50, s.Rate)
	assert.Nil(t, s.Problem)
}

// The last state of a silent worker goes to the next one, at once.
func TestSilentWorker(t *testing.T) {
	env, p := testEnv(t)
	calls := 0
	env.OnActivity(activitySend, mock.Anything, mock.Anything).Return(func(_ context.Context, in sendInput) (hogapi.Receipt, error) {
		if calls++; calls == 1 {
			return hogapi.Receipt{}, temporal.NewHeartbeatTimeoutError(Beat{State: json.RawMessage(`{"at":7}`)})
		}
		if calls == 2 {
			assert.JSONEq(t, `{"at":7}`, string(in.State))
		} else {
			assert.Nil(t, in.State, "of another shard")
		}
		return hogapi.Receipt{Acknowledged: 5, Finished: true}, nil
	})
	env.ExecuteWorkflow(WorkflowType, p, (*memory)(nil))
	require.NoError(t, env.GetWorkflowError())
	assert.Equal(t, 3, calls)
}

func TestCanceledWhilePaused(t *testing.T) {
	env, p := testEnv(t)
	env.OnActivity(activitySend, mock.Anything, mock.Anything).Return(hogapi.Receipt{Finished: true}, nil).After(time.Hour)
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(signalControl, control{Do: doPause}) }, time.Minute)
	env.RegisterDelayedCallback(func() { assert.Equal(t, StatePaused, statusOf(t, env).State) }, 12*time.Hour)
	env.RegisterDelayedCallback(env.CancelWorkflow, 24*time.Hour)
	env.ExecuteWorkflow(WorkflowType, p, (*memory)(nil))
	var canceled *temporal.CanceledError
	require.ErrorAs(t, env.GetWorkflowError(), &canceled)
	assert.Equal(t, StateCanceled, statusOf(t, env).State)
}

// The pauses between tries that fail at once grow.
func TestTriesAreSpread(t *testing.T) {
	env, p := testEnv(t)
	start := env.Now()
	var at []time.Duration
	env.OnActivity(activitySend, mock.Anything, mock.Anything).Return(func(context.Context, sendInput) (hogapi.Receipt, error) {
		if at = append(at, env.Now().Sub(start)); len(at) < 10 {
			return hogapi.Receipt{}, problem(&hogapi.StopError{Reason: hogapi.StopCheckpoint}).failure(Beat{})
		}
		return hogapi.Receipt{Finished: true}, nil
	})
	env.ExecuteWorkflow(WorkflowType, p, (*memory)(nil))
	require.NoError(t, env.GetWorkflowError())
	var waits []time.Duration
	for i := range 9 {
		waits = append(waits, (at[i+1] - at[i]).Round(time.Second))
	}
	assert.Equal(t, []time.Duration{1e9, 2e9, 4e9, 8e9, 16e9, 32e9, 60e9, 60e9, 60e9}, waits)
}
