package hogapi_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// The service shows Cancelled at once; the run ends later, perhaps in another way, or never.
func TestCancelWaitsForTheEndOfTheRun(t *testing.T) {
	for effect, tt := range map[hogapitest.CancelEffect]struct {
		matches error
		status  hogapi.RunStatus
		text    string
	}{
		hogapitest.CancelEnds:        {nil, "Cancelled", ""},
		hogapitest.CancelIsTooLate:   {hogapi.ErrNotCancelled, "Completed", "ended as Completed"},
		hogapitest.CancelHasNoEffect: {hogapi.ErrOutcomeUnknown, "Running", "is not over after 2m0s; its status is Running"},
	} {
		synctest.Test(t, func(t *testing.T) {
			client, project, export := exported(t, hogapitest.New(hogapitest.WithPolls(1)))
			project.NextRuns(hogapitest.Outcome{OnCancel: effect})
			id := project.AddRun(export, hogapitest.Run{Status: "Running"})
			began := time.Now()
			err := client.Runs.Cancel(t.Context(), export, id)
			require.LessOrEqual(t, time.Since(began), 3*time.Minute)
			require.Equal(t, tt.status, project.Runs(export)[0].Status)
			require.Equal(t, effect == hogapitest.CancelHasNoEffect, project.Runs(export)[0].Finished.IsZero())
			if tt.matches == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, tt.matches)
			require.ErrorContains(t, err, tt.text)
		})
	}
}
