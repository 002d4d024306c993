package flows_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
)

// A large import is verified within a small budget, beside another program that asks once a minute: it finds the budget
// spent at most once.
func TestVerifyBesideAnotherProgram(t *testing.T) {
	days, perDay := 30, testevents.Sized(1_000, 33_334)
	b := newBudgeted(days, perDay)
	synctest.Test(t, func(t *testing.T) {
		began, start := time.Now(), b.now
		perHour := int64(100 * days * perDay) // 100 MB for 1,000,000 events
		b.server = hogapitest.New(hogapitest.WithClock(func() time.Time { return start.Add(time.Since(began)) }), hogapitest.WithReadBudget(perHour, 1_000))
		b.project = b.server.Project(hogapitest.DefaultProject)
		b.arrive(0, days, nil)
		b.project.SpendReadBudget(24*perHour - perHour/4) // half of what the proof reads is left
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
		defer cancel()
		var others sync.WaitGroup
		refused, asked := 0, 0
		client := b.server.Client(t)
		others.Go(func() {
			for ctx.Err() == nil {
				body := map[string]any{"query": history.Query{HogQL: "SELECT uniqExact(uuid) AS n FROM events WHERE timestamp >= toDateTime('2024-01-30T00:00:00Z')"}, "refresh": "force_blocking"}
				err := client.Do(ctx, hogapi.Request{Method: http.MethodPost, Path: "/query/", Replay: hogapi.ReplaySafe, Body: body}, nil)
				if asked++; errors.Is(err, hogapi.ErrRateLimited) {
					refused++
				}
				select {
				case <-ctx.Done():
				case <-time.After(time.Minute):
				}
			}
		})
		var waits []time.Time
		v, err := history.Verify(t.Context(), b.server.Client(t), b.receipt, &history.VerifyOptions{Wait: true, OnProgress: func(p history.VerifyProgress) {
			if p.Step == "wait for the read budget" {
				waits = append(waits, p.NextLook)
			}
		}})
		others.Wait()
		require.NoError(t, err)
		assert.True(t, v.Complete(), "%v", v)
		assert.Greater(t, asked, 170)
		assert.NotEmpty(t, waits)
		assert.LessOrEqual(t, refused, 1)
		assert.EqualValues(t, days*perDay*44, v.BytesRead, "each event once")
		require.NotNil(t, v.BudgetLeft)
	})
}

// MaxBytesRead ends a verification before the query that would pass it; another run continues where it was.
func TestVerifyReadsNoMoreThanItMay(t *testing.T) {
	t.Parallel()
	b := newBudgeted(60, 100) // two months
	b.arrive(0, 60, nil)
	client, dir := b.server.Client(t), t.TempDir()
	limit := int64(40 * 100 * 44)
	v, err := history.Verify(t.Context(), client, b.receipt, &history.VerifyOptions{Dir: dir, MaxBytesRead: limit})
	require.ErrorIs(t, err, history.ErrMaxBytesRead)
	require.ErrorContains(t, err, "run again with the same Dir to continue")
	assert.Zero(t, v)
	first := b.project.ReadBytes()
	assert.LessOrEqual(t, first, limit)
	v, err = history.Verify(t.Context(), client, b.receipt, &history.VerifyOptions{Dir: dir, MaxBytesRead: limit})
	require.NoError(t, err)
	assert.True(t, v.Complete())
	assert.EqualValues(t, 60*100*44, first+v.BytesRead, "nothing is read twice")
	_, err = history.Verify(t.Context(), client, b.receipt, &history.VerifyOptions{MaxBytesRead: -1})
	require.ErrorIs(t, err, hogapi.ErrInvalid)
}

// Hooks see the bytes that a query has read, and the rest of the budget.
func TestHooksSeeTheCost(t *testing.T) {
	t.Parallel()
	b := newBudgeted(2, 10)
	b.arrive(0, 2, nil)
	var costs []hogapi.QueryCost
	client := b.server.Client(t, hogapi.WithHooks(hogapi.Hooks{OnCall: func(_ context.Context, r hogapi.CallRecord) {
		if !r.Ended {
			costs = append(costs, r.Cost)
		}
	}}))
	v, err := history.Verify(t.Context(), client, b.receipt, nil)
	require.NoError(t, err)
	require.True(t, v.Complete())
	require.Len(t, costs, 1)
	assert.Equal(t, hogapi.QueryCost{BytesRead: 20 * 44, BudgetLeft: *v.BudgetLeft, IsKnown: true}, costs[0])
}
