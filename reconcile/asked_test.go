package reconcile

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
	"github.com/hogapi/hogapi/ops"
)

// askers are all that ask queries, each with its result in words.
var askers = map[string]func(ctx context.Context, client *hogapi.Client, r hogapi.Receipt) (string, error){
	"verify": func(ctx context.Context, client *hogapi.Client, r hogapi.Receipt) (string, error) {
		v, err := history.Verify(ctx, client, r, nil)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s, %d seen", v.State, v.Seen), nil
	},
	"reconcile": func(ctx context.Context, client *hogapi.Client, r hogapi.Receipt) (string, error) {
		report, err := Compare(ctx, PostHog(client, nil), PostHog(client, nil), &Options{From: r.Oldest.Truncate(24 * time.Hour), now: func() time.Time { return modelEnd }})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s, %d days", report.Verdict, len(report.Days)), nil
	},
	"check": func(ctx context.Context, client *hogapi.Client, r hogapi.Receipt) (string, error) {
		held, err := formats.Held(ctx, client, history.CheckReport{Good: 200, Oldest: r.Oldest, Newest: r.Newest})
		var n int64
		for _, d := range held {
			n += d.Project
		}
		return fmt.Sprintf("%d events on %d days", n, len(held)), err
	},
}

func TestAnswersOfTheService(t *testing.T) {
	for name, ask := range askers {
		t.Run(name, func(t *testing.T) { testevents.RequireSameAnswers(t, modelEnd, ask) })
	}
}

// The report says what it misses without MD5, and the service's name of a query is cut.
func TestOlderServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []any
		server := hogapitest.New(hogapitest.WithOldService(), hogapitest.WithTime(modelEnd))
		client := server.Client(t)
		report, err := Compare(t.Context(), PostHog(client, nil), PostHog(client, nil), &Options{From: modelEnd.AddDate(0, 0, -2), now: func() time.Time { return modelEnd }})
		require.NoError(t, err)
		assert.NotContains(t, strings.Join(report.Notes, " "), "hash texts", "nothing was compared")
		server.Project(hogapitest.DefaultProject).AddEvent(hogapitest.StoredEvent{UUID: uuid.New(), Event: "e", DistinctID: "d", Time: modelEnd.AddDate(0, 0, -1)})
		report, err = Compare(t.Context(), PostHog(client, nil), PostHog(client, nil), &Options{From: modelEnd.AddDate(0, 0, -2), now: func() time.Time { return modelEnd }})
		require.NoError(t, err)
		assert.Contains(t, strings.Join(report.Notes, " "), "does not hash texts")

		_, err = history.Verify(t.Context(), client, hogapi.Receipt{ID: strings.Repeat("i", 200), Finished: true}, nil)
		require.NoError(t, err)
		for _, call := range server.Calls(ops.Query) {
			var body struct{ Name string }
			require.NoError(t, json.Unmarshal(call.Body, &body))
			require.Equal(t, http.MethodPost, call.Method)
			names = append(names, body.Name)
			assert.LessOrEqual(t, len(body.Name), 128)
		}
		assert.NotEmpty(t, names)
	})
}
