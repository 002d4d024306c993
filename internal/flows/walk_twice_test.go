package flows_test

import (
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// A sequence can be walked again: the second walk begins at its first page, also after a walk that was left early.
func TestEachSequenceCanBeWalkedAgain(t *testing.T) {
	bubble(func(t *testing.T) {
		server := hogapitest.New()
		client, project := server.Client(t), defaultProject(server)
		export := project.AddExport(hogapitest.Export{})
		for i := range 250 {
			project.AddRun(export, hogapitest.Run{Status: "Failed", Start: december.Add(time.Duration(i) * time.Hour), End: december.Add(time.Duration(i+1) * time.Hour)})
		}
		for range 3 {
			project.AddExport(hogapitest.Export{})
		}
		for i := range 5 {
			project.AddLog(export, hogapitest.LogEntry{Time: time.Now().Add(-time.Duration(i+1) * time.Minute), Message: "a line"})
		}
		ctx, two := t.Context(), hogapi.ListOptions{Limit: 2}
		again(t, "exports", 4, client.BatchExports.All(ctx, &two), func(e hogapi.BatchExport) any { return e.ID })
		again(t, "runs", 250, client.Runs.All(ctx, export, nil), func(r hogapi.Run) any { return r.ID })
		again(t, "failed runs", 250, client.Runs.LatestFailed(ctx, export, nil), func(r hogapi.Run) any { return r.ID })
		ticket, err := client.BatchExports.Backfill(t.Context(), export, anHour(), anyAge)
		require.NoError(t, err)
		again(t, "backfills", 1, client.Backfills.All(ctx, export, nil), func(b hogapi.Backfill) any { return b.ID })
		_, err = client.Backfills.Wait(ctx, ticket, nil)
		require.NoError(t, err)
		again(t, "a watch that is over", 1, client.Backfills.Watch(ctx, ticket, nil), func(s *hogapi.BackfillState) any { return s.Done })
		again(t, "log", 6, client.BatchExports.AllLogs(ctx, export, &hogapi.LogOptions{Limit: 2}), func(e hogapi.LogEntry) any { return e })
	})(t)
}

// again walks a sequence to its first item, then twice to its end.
func again[T any](t *testing.T, name string, want int, seq iter.Seq2[T, error], id func(T) any) {
	t.Helper()
	for range seq {
		break
	}
	var walks [2][]any
	for i := range walks {
		for item, err := range seq {
			require.NoError(t, err, name)
			walks[i] = append(walks[i], id(item))
		}
	}
	assert.Equal(t, walks[0], walks[1], name)
	assert.Len(t, walks[0], want, name)
}
