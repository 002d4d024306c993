package hogapi

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An error names the thing that the caller asked for, in the caller's words.
func TestTextsNameWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	id, run, at := uuid.UUID{1}, uuid.UUID{2}, time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	missing := func() *Client {
		return newFakeClient(t, newScript(answers(404, `{"code":"not_found","detail":"Not found."}`)))
	}
	good := []Option{WithPersonalAPIKey(testPersonalKey), WithProject("1")}
	for says, call := range map[string]func(ctx context.Context) error{
		"asked for " + id.String(): func(ctx context.Context) error {
			_, err := missing().BatchExports.Get(ctx, id)
			return err
		},
		"asked for " + id.String() + ", " + run.String() + ": are they swapped": func(ctx context.Context) error {
			_, err := missing().Runs.Get(ctx, id, run)
			return err
		},
		"paths begin below the project": func(ctx context.Context) error {
			return missing().Do(ctx, Request{Method: "GET", Path: "/api/projects/1/insights/"}, nil)
		},
		"below the project, such as": func(ctx context.Context) error {
			return missing().Do(ctx, Request{Method: "GET", Path: "api/environments/1/insights/"}, nil)
		},
		"https://us.posthog.com: app.posthog.com": func(context.Context) error {
			_, err := NewClient(append(good, WithBaseURL("https://app.posthog.com"))...)
			return err
		},
		"https://eu.posthog.com: eu.i.posthog.com": func(context.Context) error {
			_, err := NewClient(append(good, WithBaseURL("https://eu.i.posthog.com"))...)
			return err
		},
		`Before "2024-05-01T12:00:00Z": want later than After`: func(ctx context.Context) error {
			_, err := missing().Runs.List(ctx, id, &RunListOptions{After: at.Add(time.Hour), Before: at})
			return err
		},
		"hogapi: capture: Rate": func(context.Context) error {
			_, err := missing().NewCapture(&CaptureOptions{Rate: -2})
			return err
		},
		"hogapi: the retry of run " + run.String() + " of export " + id.String() + ": no run began": func(context.Context) error {
			return (&BackfillState{}).judge(&BackfillTicket{ExportID: id, RetriedRun: run})
		},
		"hogapi: 3 events are unsettled, 1 of them never sent: context canceled; send them again with the same uuids": func(context.Context) error {
			return &UnsettledError{Count: 3, NeverSent: 1, Err: &StopError{Reason: StopCanceled, Err: context.Canceled}}
		},
		": 9 of 10 records were rejected; correct the source": func(context.Context) error {
			return &StopError{Reason: StopTooManyRejects, Err: errors.New("9 of 10 records were rejected")}
		},
	} {
		err := call(t.Context())
		require.Error(t, err, says)
		assert.ErrorContains(t, err, says)
	}
}
