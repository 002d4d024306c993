package flows_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
)

func TestCheckCountsAndSendsNothing(t *testing.T) {
	report, err := history.Check(t.Context(), numbered(25_000), &history.Options{ID: "check"})
	require.NoError(t, err)
	assert.EqualValues(t, 25_000, report.Read)
	assert.EqualValues(t, 25_000, report.Good)
	assert.Zero(t, report.Rejected)
	assert.InDelta(t, 17, report.Persons, 1, "an estimate")
	assert.Equal(t, []history.CheckCount{{Day: "1998-01-01", Event: "order placed", Events: 25_000}}, report.Days)
	assert.Equal(t, longAgo.Add(time.Second), report.Oldest)
	assert.Equal(t, longAgo.Add(25_000*time.Second), report.Newest)
	assert.Zero(t, report.DoubleUUIDs.Count)
	assert.Zero(t, report.Backwards.Count)
	assert.Zero(t, report.WideSpans)
}

func TestCheckFinds(t *testing.T) {
	source := altered(numbered(7), func(e *hogapi.Event) {
		switch e.Position.Offset {
		case 1:
			*e = numberedEvent(100_000)
		case 2:
			e.UUID = numberedUUID(100_000) // double, and backwards by over a day
		case 3:
			e.Name = ""
		case 4:
			e.DistinctID = "null"
		case 5:
			e.UUID, e.Position = uuid.Nil, hogapi.Position{}
		case 6:
			e.Timestamp = time.Now()
		case 7:
			*e = event.Bad(e.Position, []byte("{"), errors.New("line 7 is no JSON"))
		}
	})
	report, err := history.Check(t.Context(), source, &history.Options{ID: "check"})
	assert.Equal(t, hogapi.StopTooManyRejects, stopOf(t, err).Reason)
	require.ErrorContains(t, err, "hogapi: check: too_many_rejects: 4 of 7 records were rejected, more than MaxRejectShare (0.01); the first: ")
	assert.EqualValues(t, 7, report.Read)
	assert.EqualValues(t, 3, report.Good)
	assert.EqualValues(t, 4, report.Rejected)
	for reason, offset := range map[hogapi.Reason]int64{event.ReasonNoName: 3, event.ReasonNoIdentity: 0, event.ReasonTooYoung: 6, event.ReasonBadRecord: 7} {
		require.Len(t, report.Reasons[reason].Examples, 1, reason)
		assert.Equal(t, offset, report.Reasons[reason].Examples[0].Position.Offset)
		assert.EqualValues(t, 1, report.Reasons[reason].Count)
	}
	assert.EqualValues(t, 1, report.Warnings[event.WarningSuspectID].Count)
	assert.EqualValues(t, 1, report.DoubleUUIDs.Count)
	assert.EqualValues(t, 1, report.Backwards.Count)
	assert.Equal(t, 99_998*time.Second, report.LargestJump)
	assert.EqualValues(t, 1, report.WideSpans)
	text := report.String()
	for _, want := range []string{"read 7 = good 3 + rejected 4", "no_name", "line 7 is no JSON", "suspect_distinct_id"} {
		assert.Contains(t, text, want)
	}
}

func TestCheckRefusesBadOptions(t *testing.T) {
	for name, o := range map[string]history.Options{
		"no id":        {},
		"blank id":     {ID: "a b"},
		"a set policy": {ID: "x", Gate: hogapi.GateOptions{PersonPolicy: 9}},
	} {
		_, err := history.Check(t.Context(), numbered(1), &o)
		require.ErrorAs(t, err, new(*hogapi.InputError), name)
	}
	_, err := history.Check(t.Context(), nil, &history.Options{ID: "x"})
	require.ErrorIs(t, err, hogapi.ErrInvalid)
}

func TestCheckReportsAsFarAsItCame(t *testing.T) {
	report, err := history.Check(t.Context(), broken(numbered(2), 1), &history.Options{ID: "x"})
	require.ErrorIs(t, err, errPulledOut)
	assert.EqualValues(t, 1, report.Good)
}

// A source may end silently when its context does: its events are then not all events.
func TestCheckDoesNotTakeACancelledSourceForAWhole(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	source := history.Func("quiet", func(context.Context, hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(func(hogapi.Event, error) bool) { cancel(enough) }
	})
	_, err := history.Check(ctx, source, &history.Options{ID: "x"})
	require.ErrorIs(t, err, enough)
	_, err = history.Check(ctx, history.JSONLines(writeFile(t, "e.jsonl", "{}\n")), &history.Options{ID: "x"})
	require.ErrorIs(t, err, enough)
	assert.NotContains(t, err.Error(), "source failed")
}

// A clock that was ahead, and is put right, leaves no door open: each event is judged by the clock of its moment.
func TestAClockThatWasAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ahead time.Duration
		clock := func() time.Time { return time.Now().Add(ahead) }
		source := altered(numbered(5), func(ev *hogapi.Event) {
			ahead = []time.Duration{0, 365 * 24 * time.Hour, 0, -365 * 24 * time.Hour, 0}[ev.Position.Offset-1]
			ev.Timestamp = time.Now().Add(-time.Hour)
		})
		var refused []hogapi.Reason
		server := hogapitest.New()
		imported(t, server.Client(t, hogapi.WithClock(clock)), source, &history.Options{
			ID: "clock", MaxRejectShare: -1, Rejects: hogapi.RejectFunc(func(_ context.Context, r hogapi.Reject) error {
				refused = append(refused, r.Err.Reason)
				return nil
			}),
		})
		assert.Equal(t, []hogapi.Reason{event.ReasonTooYoung, event.ReasonTooYoung, event.ReasonFuture, event.ReasonTooYoung}, refused)
		assert.Equal(t, 1, server.Ledger().Unique(), "while it was ahead")
	})
}
