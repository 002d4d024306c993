package hogapi_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

var andBackfill = &hogapi.UnpauseOptions{Backfill: true, AcceptRowsByTimestamp: true} // of an old server too

// What an unpause exports can be followed as any other backfill.
func TestUnpauseWithABackfillIsFollowed(t *testing.T) {
	flow(t, func(t *testing.T, s *hogapitest.Server, _ hogapitest.Era) {
		client, project := s.Client(t), defaultProject(s)
		export := project.AddExport(hogapitest.Export{Paused: true, LastPaused: time.Now().Add(-190*time.Minute - 123456789)})
		project.NextRuns(hogapitest.Outcome{}, hogapitest.Outcome{Status: "Failed", Error: "bucket is gone"})
		ticket, err := client.BatchExports.Unpause(t.Context(), export, andBackfill)
		require.NoError(t, err)
		text, err := json.Marshal(ticket)
		require.NoError(t, err)
		var again hogapi.BackfillTicket
		require.NoError(t, json.Unmarshal(text, &again))

		state, err := client.Backfills.Wait(t.Context(), &again, nil)
		require.ErrorContains(t, err, "bucket is gone")
		require.ErrorIs(t, err, hogapi.ErrRunFailed)
		require.Len(t, state.Runs, 3, "whole hours only")
		require.Equal(t, 2, state.Completed)
		require.False(t, project.Exports()[0].Paused)

		ticket, err = client.BatchExports.Unpause(t.Context(), export, andBackfill)
		require.NoError(t, err)
		require.Nil(t, ticket, "it was not paused: nothing is exported")
		ticket, err = client.BatchExports.Unpause(t.Context(), export, nil)
		require.NoError(t, err)
		require.Nil(t, ticket)
	}, hogapitest.WithRunDelay(time.Second))
}

func TestUnpauseOfUnknownOutcome(t *testing.T) {
	for name, c := range map[string]struct {
		fault   hogapitest.Fault
		happens bool
	}{"cut after the act": {hogapitest.CutAfter(), true}, "cut before the act": {hogapitest.CutBefore(), false}} {
		t.Run(name, func(t *testing.T) {
			flow(t, func(t *testing.T, s *hogapitest.Server, _ hogapitest.Era) {
				client, project := s.Client(t), defaultProject(s)
				export := project.AddExport(hogapitest.Export{Paused: true, LastPaused: time.Now().Add(-2 * time.Hour)})
				s.Script(ops.BatchExportsUnpause, c.fault)
				ticket, err := client.BatchExports.Unpause(t.Context(), export, andBackfill)
				require.ErrorIs(t, err, hogapi.ErrOutcomeUnknown)
				state, err := client.Backfills.Wait(t.Context(), ticket, nil)
				if c.happens {
					require.NoError(t, err)
					require.Equal(t, 2, state.Completed)
					return
				}
				require.ErrorIs(t, err, hogapi.ErrOutcomeUnknown)
			})
		})
	}
}

func TestUnpauseAfterAShortPause(t *testing.T) {
	flow(t, func(t *testing.T, s *hogapitest.Server, _ hogapitest.Era) {
		client, project := s.Client(t), defaultProject(s)
		export := project.AddExport(hogapitest.Export{Paused: true, LastPaused: time.Now().Add(-10 * time.Minute)})
		ticket, err := client.BatchExports.Unpause(t.Context(), export, andBackfill)
		require.NoError(t, err)
		_, err = client.Backfills.Wait(t.Context(), ticket, nil)
		require.ErrorIs(t, err, hogapi.ErrNoRuns)
	})
}

// The end of the pause is read before it is lost.
func TestUnpauseReadsFirst(t *testing.T) {
	for _, op := range []hogapi.Op{ops.BatchExportsGet, ops.BackfillsList} {
		s := hogapitest.New()
		client := s.Client(t, hogapi.WithRetryPolicy(hogapi.RetryPolicy{MaxTries: 1}))
		export := defaultProject(s).AddExport(hogapitest.Export{Paused: true})
		s.Script(op, hogapitest.Status(500))
		ticket, err := client.BatchExports.Unpause(t.Context(), export, andBackfill)
		require.ErrorIs(t, err, hogapi.ErrServer)
		require.ErrorContains(t, err, "nothing was sent")
		require.Nil(t, ticket)
		require.Empty(t, s.Calls(ops.BatchExportsUnpause))
	}
}
