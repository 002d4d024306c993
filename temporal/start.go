package hogtemporal

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/hogapi/hogapi"
)

// Errors of calls.
var (
	// ErrStarted is returned if an import of this ID is running or complete.
	ErrStarted = errors.New("hogtemporal: an import of this ID was started already")
	// ErrNotFound is returned if Temporal does not know the import, or no longer knows it.
	ErrNotFound = errors.New("hogtemporal: Temporal knows no import of this ID")
	// ErrOver is returned if the import has ended, so it takes no request.
	ErrOver = errors.New("hogtemporal: the import has ended")
)

// WorkflowID returns the id of an import's workflow. Temporal runs at most one workflow of an id.
func WorkflowID(importID string) string { return "hogapi-import-" + importID }

// Start starts an import; workers then carry it out. If an import of the same ID is running or complete, the
// error is ErrStarted and names the remedy. An import that was canceled or terminated can be started again:
// with a store it continues, without one it sends all events again, with the same uuids. If the parameters are
// wrong, the error is an *hogapi.InputError and nothing is sent to Temporal.
func Start(ctx context.Context, c client.Client, p ImportParams) error {
	if err := p.check(); err != nil {
		return err
	}
	_, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                                       WorkflowID(p.ID),
		TaskQueue:                                TaskQueue,
		WorkflowIDReusePolicy:                    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		WorkflowIDConflictPolicy:                 enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		Memo:                                     map[string]any{memoKey: "waiting for a worker"},
		StaticSummary:                            fmt.Sprintf("import of %d shards", len(p.Shards)),
	}, WorkflowType, p.withDefaults(), (*memory)(nil))
	if temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		return fmt.Errorf("%w: %q; it was not started twice: GetStatus (hogworker status %[2]s) says how far it is; other data needs another ID", ErrStarted, p.ID)
	}
	if err != nil {
		return fmt.Errorf("hogtemporal: starting %q: %w", p.ID, err)
	}
	return nil
}

// Pause pauses an import, which stops sending within seconds. Events in flight are settled, or sent again later
// with the same uuids. A pause may last forever.
func Pause(ctx context.Context, c client.Client, importID string) error {
	return ask(ctx, c, importID, control{Do: doPause})
}

// Resume continues an import that is paused or stopped.
func Resume(ctx context.Context, c client.Client, importID string) error {
	return ask(ctx, c, importID, control{Do: doResume})
}

// SetRate changes the largest number of events per second; [hogapi.RateUnlimited] removes the limit. Events in flight
// may be sent again, with the same uuids.
func SetRate(ctx context.Context, c client.Client, importID string, rate int) error {
	if rate == 0 || rate < hogapi.RateUnlimited {
		return &hogapi.InputError{Field: "rate", Value: strconv.Itoa(rate), Want: "events a second, or -1 for no limit"}
	}
	return ask(ctx, c, importID, control{Do: doRate, Rate: rate})
}

func ask(ctx context.Context, c client.Client, importID string, what control) error {
	return callError(importID, c.SignalWorkflow(ctx, WorkflowID(importID), "", signalControl, what))
}

// Cancel ends an import. Events that were sent stay in the project.
func Cancel(ctx context.Context, c client.Client, importID string) error {
	return callError(importID, c.CancelWorkflow(ctx, WorkflowID(importID), ""))
}

// GetStatus returns the progress of an import. It needs a worker: without one, its error says that no worker
// answers, and has the state that Temporal has noted.
func GetStatus(ctx context.Context, c client.Client, importID string) (Status, error) {
	described, err := c.DescribeWorkflowExecution(ctx, WorkflowID(importID), "")
	if err != nil {
		return Status{}, callError(importID, err)
	}
	s := Status{ID: importID}
	if err := query(ctx, c, importID, queryStatus, &s); err != nil {
		return s, fmt.Errorf("hogtemporal: no worker answers (is one running?); Temporal has noted %q: %w", memoOf(described), err)
	}
	switch status := described.GetWorkflowExecutionInfo().GetStatus(); status {
	case enums.WORKFLOW_EXECUTION_STATUS_RUNNING:
		s.addPending(described)
	case enums.WORKFLOW_EXECUTION_STATUS_COMPLETED, enums.WORKFLOW_EXECUTION_STATUS_CANCELED, enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
	default:
		s.State = StateEnded
		s.Problem = &Problem{status.String(), "the workflow was ended from outside", "start it again with the same parameters"}
	}
	return s, nil
}

func (s *Status) addPending(d *workflowservice.DescribeWorkflowExecutionResponse) {
	for _, p := range d.GetPendingActivities() {
		var beat Beat
		if converter.GetDefaultDataConverter().FromPayloads(p.GetHeartbeatDetails(), &beat) != nil {
			continue // there is no heartbeat yet
		}
		beat.State = nil // it is large, and only workers need it
		s.Beat = &beat
		if s.Stage == StageSend && s.Shard == beat.Shard { // otherwise the shard is done and counted, or not begun
			s.Read, s.Acknowledged, s.Rejected = s.Read+beat.Read, s.Acknowledged+beat.Acknowledged, s.Rejected+beat.Rejected
		}
	}
}

func memoOf(d *workflowservice.DescribeWorkflowExecutionResponse) (text string) {
	_ = converter.GetDefaultDataConverter().FromPayload(d.GetWorkflowExecutionInfo().GetMemo().GetFields()[memoKey], &text)
	return text
}

// GetReceipt returns the receipt of all shards that are done. If Days has more than 1,000 rows, it is rolled up to
// months, and then to names.
func GetReceipt(ctx context.Context, c client.Client, importID string) (r hogapi.Receipt, err error) {
	return r, query(ctx, c, importID, queryReceipt, &r)
}

// GetRejects returns the number of rejects and the files that hold them.
func GetRejects(ctx context.Context, c client.Client, importID string) (r Rejects, err error) {
	return r, query(ctx, c, importID, queryRejects, &r)
}

func query(ctx context.Context, c client.Client, importID, name string, into any) error {
	value, err := c.QueryWorkflow(ctx, WorkflowID(importID), "", name)
	if err != nil {
		return callError(importID, err)
	}
	return value.Get(into)
}

// Wait waits until an import has ended, and returns its result. A canceled workflow is an error.
func Wait(ctx context.Context, c client.Client, importID string) (*Outcome, error) {
	var out Outcome
	if err := c.GetWorkflow(ctx, WorkflowID(importID), "").Get(ctx, &out); err != nil {
		return nil, callError(importID, err)
	}
	return &out, nil
}

func callError(importID string, err error) error {
	if err == nil {
		return nil
	}
	if missing, ok := errors.AsType[*serviceerror.NotFound](err); ok {
		if missing.Error() == "workflow execution already completed" {
			return fmt.Errorf("%w: %q: %w", ErrOver, importID, err)
		}
		return fmt.Errorf("%w: %q: %w", ErrNotFound, importID, err)
	}
	return fmt.Errorf("hogtemporal: import %q: %w", importID, err)
}
