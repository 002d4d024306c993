package flows_test

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
)

const verifiedID = "hogapi-verified"

// spread are n events of three names on days that are 19 hours apart, without uuids of their own.
func spread(n int) history.Source {
	return altered(numbered(n), func(ev *hogapi.Event) {
		i := int(ev.Position.Offset)
		ev.UUID, ev.Position.Key = uuid.Nil, "n"
		ev.Name = []string{"signup", "it's {one_event}", "order"}[i%3]
		ev.Timestamp = time.Date(1997, 11, 28, 22, 30, 0, 0, time.UTC).Add(time.Duration(i) * 19 * time.Hour)
	})
}

// with changes some events of a source on their way to a service that does not treat all as it promised.
func with(source history.Source, change func(n int64, ev *hogapi.Event) error) history.Source {
	return history.Map(source, func(ev hogapi.Event) ([]hogapi.Event, error) {
		if err := change(ev.Position.Offset, &ev); err != nil {
			return nil, err
		}
		return []hogapi.Event{ev}, nil
	})
}

// importInto imports a source and returns the receipt.
func importInto(t *testing.T, client *hogapi.Client, source history.Source) hogapi.Receipt {
	t.Helper()
	return imported(t, client, source, &history.Options{ID: verifiedID, Rate: hogapi.RateUnlimited})
}

// verified returns the result of one Verify.
func verified(t *testing.T, client *hogapi.Client, receipt hogapi.Receipt, o *history.VerifyOptions) history.Verification {
	t.Helper()
	v, err := history.Verify(t.Context(), client, receipt, o)
	require.NoError(t, err)
	return v
}

// receiptOf is the receipt of an import of all events of a source.
func receiptOf(t *testing.T, source history.Source) hogapi.Receipt {
	t.Helper()
	return importInto(t, hogapitest.New().Client(t), source)
}

// uuidOf is the uuid of the n-th event of a source of numbers.
func uuidOf(n int64) uuid.UUID {
	return uuidAt(hogapi.Position{Key: "n", Offset: n}, verifiedID)
}

// later is a clock that is ahead of the time of the test.
func later(d time.Duration) hogapi.Option {
	return hogapi.WithClock(func() time.Time { return time.Now().Add(d) })
}

// An import is complete after one look, whoever ran it and however often a request was sent.
func TestVerifyComplete(t *testing.T) {
	t.Parallel()
	const n = 200
	for _, era := range []hogapitest.Era{hogapitest.E1, hogapitest.E4} {
		server := hogapitest.New(hogapitest.WithEra(era))
		client := server.Client(t)
		importInto(t, client, spread(n))
		v, err := history.Verify(t.Context(), client, importInto(t, client, spread(n)), nil)
		require.NoError(t, err)
		assert.True(t, v.Complete(), "%v: %v", era, v)
		assert.EqualValues(t, n, v.Seen)
		assert.EqualValues(t, 2*n, v.Copies, "they are not merged yet")
		assert.Len(t, v.Cells, n)
		assert.Empty(t, v.Outside)
		assert.Equal(t, 2*n, server.Ledger().Len(), "nothing was sent")
	}
}

// In virtual time, with Wait: late events are complete, and events that never come are missing, but not before a day has passed.
func TestVerifyWaits(t *testing.T) {
	const n = 40
	lose := map[int64]bool{3: true, 17: true, 18: true}
	for name, comes := range map[string]time.Duration{"never": 0, "after hours": 7 * time.Hour} {
		t.Run(name, bubble(func(t *testing.T) {
			receipt := receiptOf(t, spread(n))
			_, client := fake(t)
			importInto(t, client, with(spread(n), func(i int64, _ *hogapi.Event) error {
				if lose[i] {
					return history.Skip("lost")
				}
				return nil
			}))
			if comes > 0 {
				time.AfterFunc(comes, func() { importInto(t, client, spread(n)) })
			}
			begin, looks := time.Now(), []time.Time{}
			v, err := history.Verify(t.Context(), client, receipt, &history.VerifyOptions{Wait: true, Source: spread(n), OnProgress: func(p history.VerifyProgress) {
				if p.Step == "wait" {
					looks = append(looks, time.Now())
				}
			}})
			require.NoError(t, err)
			require.Greater(t, len(looks), 2)
			for i := range looks[1:] {
				pause := looks[i+1].Sub(looks[i])
				assert.GreaterOrEqual(t, pause, time.Minute)
				assert.LessOrEqual(t, pause, 30*time.Minute)
			}
			assert.Equal(t, time.Minute, looks[1].Sub(looks[0]))
			if comes > 0 {
				assert.True(t, v.Complete(), "%v", v)
				assert.Empty(t, v.MissingIDs)
				assert.Less(t, time.Since(begin), comes+time.Hour)
				return
			}
			assert.Equal(t, history.VerificationMissing, v.State)
			assert.False(t, v.Complete())
			assert.Equal(t, sortedIDs(uuidOf(3), uuidOf(17), uuidOf(18)), v.MissingIDs)
			assert.EqualValues(t, 3, v.MissingEvents)
			assert.GreaterOrEqual(t, time.Since(begin), 24*time.Hour, "not before a day has passed")
			assert.Less(t, time.Since(begin), 25*time.Hour)
		}))
	}
}

func sortedIDs(ids ...uuid.UUID) []uuid.UUID {
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	return ids
}

// One look right after the import never says that something is missing, and says how to get to know.
func TestOneLookIsNotEnough(t *testing.T) {
	t.Parallel()
	receipt := receiptOf(t, spread(5))
	server := hogapitest.New()
	v := verified(t, server.Client(t), receipt, nil)
	assert.Equal(t, history.VerificationStillArriving, v.State)
	assert.Contains(t, v.String(), "events may take 24h0m0s")
	v = verified(t, server.Client(t, later(25*time.Hour)), receipt, nil)
	assert.Equal(t, history.VerificationStillArriving, v.State, "an import that has not been looked at before may be slow")
	assert.Contains(t, v.String(), "it takes 3 looks over 1h0m0s")
}

// looksOver makes three looks over an hour with one folder, a day after the import.
func looksOver(t *testing.T, server *hogapitest.Server, receipt hogapi.Receipt, o history.VerifyOptions) history.Verification {
	t.Helper()
	o.Dir = t.TempDir()
	var v history.Verification
	for i := range 3 {
		v = verified(t, server.Client(t, later(25*time.Hour+time.Duration(i)*30*time.Minute)), receipt, &o)
		require.Equal(t, i+1, v.Looks)
	}
	return v
}

// Verify derives the events of the source by the rules of the protocol that the import used, not of the newest one: /batch/
// takes an event with a name of over 200 bytes, which capture v1 does not.
func TestVerifyByTheProtocolOfTheImport(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 150)
	source := altered(spread(9), func(ev *hogapi.Event) {
		if ev.Position.Offset == 4 {
			ev.Name = long
		}
	})
	for protocol, want := range map[hogapi.Protocol][]uuid.UUID{hogapi.ProtocolBatch: {uuidOf(4)}, hogapi.ProtocolV1: nil} {
		server := hogapitest.New()
		receipt := imported(t, server.Client(t), source, &history.Options{
			ID: verifiedID, Rate: hogapi.RateUnlimited, Rejects: ignoreRejects, MaxRejectShare: -1, Delivery: hogapi.DeliveryOptions{Protocol: protocol},
		})
		require.EqualValues(t, 8+len(want), receipt.Acknowledged, protocol)
		server.Project(hogapitest.DefaultProject).LoseEvents(verifiedID, 9)
		v := looksOver(t, server, receipt, history.VerifyOptions{Source: source})
		assert.Len(t, v.MissingIDs, int(receipt.Acknowledged), protocol)
		assert.Equal(t, len(want) == 1, slices.Contains(v.MissingIDs, uuidOf(4)), protocol)
	}
}

// A source that was sorted without a reject file, or with another one, is sorted again: the rejects of the service are not in it.
func TestVerifySortsAgainForOtherRejects(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	rejects := filepath.Join(t.TempDir(), "rejects.jsonl")
	refused := uuidOf(4).String()
	server.RejectEvents(func(raw json.RawMessage) int {
		if bytes.Contains(raw, []byte(refused)) {
			return 413
		}
		return 0
	})
	source := spread(9)
	receipt := imported(t, server.Client(t), source, &history.Options{ID: verifiedID, Rate: hogapi.RateUnlimited, Rejects: history.RejectFile(rejects), MaxRejectShare: -1})
	require.EqualValues(t, 8, receipt.Acknowledged)
	ctx, cancel := context.WithCancel(t.Context())
	o := history.VerifyOptions{Source: source, Dir: t.TempDir(), EveryUUID: true, Rejects: []string{rejects}, OnProgress: func(p history.VerifyProgress) {
		if p.Step == "compare uuids" { // they are sorted
			cancel()
		}
	}}
	_, err := history.Verify(ctx, server.Client(t), receipt, &o)
	require.ErrorIs(t, err, context.Canceled)
	o.Rejects, o.OnProgress = nil, nil
	v := verified(t, server.Client(t), receipt, &o)
	assert.Contains(t, v.String(), "1 events of the source are of days and names that the receipt does not have", "they were sorted again")
}

// The import is complete once the missing events have been sent again.
func TestVerifySendAgain(t *testing.T) {
	t.Parallel()
	const n = 100
	receipt := receiptOf(t, spread(n))
	server, client := fake(t)
	importInto(t, client, with(spread(n), func(i int64, _ *hogapi.Event) error {
		if i%25 == 7 {
			return history.Skip("lost")
		}
		return nil
	}))
	unnamed := looksOver(t, server, receipt, history.VerifyOptions{})
	assert.Equal(t, history.VerificationMissing, unnamed.State)
	assert.EqualValues(t, 4, unnamed.MissingEvents)
	assert.Empty(t, unnamed.MissingIDs)
	assert.Contains(t, unnamed.String(), "without VerifyOptions.Source the missing events cannot be named")

	v := looksOver(t, server, receipt, history.VerifyOptions{Source: spread(n)})
	assert.Equal(t, sortedIDs(uuidOf(7), uuidOf(32), uuidOf(57), uuidOf(82)), v.MissingIDs)
	importInto(t, client, v.Missing(spread(n)))
	v = verified(t, client, receipt, nil)
	assert.True(t, v.Complete(), "%v", v)
}

// A Verify that was ended continues, and counts no event twice.
func TestVerifyContinues(t *testing.T) {
	t.Parallel()
	const n = 400 // 11 months
	receipt := receiptOf(t, spread(n))
	server := hogapitest.New()
	importInto(t, server.Client(t), with(spread(n), func(i int64, ev *hogapi.Event) error {
		if i%50 == 0 {
			return history.Skip("lost")
		}
		if i == 77 {
			ev.Timestamp = time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)
		}
		return nil
	}))
	o := history.VerifyOptions{Source: spread(n), Dir: t.TempDir()}
	var v history.Verification
	ends := 0
	for look := 0; look < 3; {
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		o.OnProgress = func(history.VerifyProgress) {
			if calls++; calls == 4+ends/5 {
				cancel()
			}
		}
		var err error
		v, err = history.Verify(ctx, server.Client(t, later(25*time.Hour+time.Duration(look)*30*time.Minute)), receipt, &o)
		cancel()
		if err == nil {
			look++
			continue
		}
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "continues with the same Dir")
		require.Zero(t, v)
		ends++
		require.Less(t, ends, 500, "it gets on")
	}
	assert.Equal(t, 3, v.Looks)
	assert.Greater(t, ends, 5)
	want := []uuid.UUID{}
	for i := int64(50); i <= n; i += 50 {
		want = append(want, uuidOf(i))
	}
	assert.Equal(t, sortedIDs(want...), v.MissingIDs, "%v", v)
	assert.Equal(t, []uuid.UUID{uuidOf(77)}, v.MovedIDs)
	assert.Empty(t, v.Outside, "it was found by its uuid")
	assert.EqualValues(t, n, v.Seen+v.MissingEvents+v.MovedEvents, "what was counted is not counted twice")
	left, err := filepath.Glob(filepath.Join(o.Dir, "*"))
	require.NoError(t, err)
	left = slices.DeleteFunc(left, func(name string) bool { return filepath.Base(name) == "verify.lock" })
	assert.Equal(t, []string{filepath.Join(o.Dir, "verify.json")}, left)
}

// A folder has one owner.
func TestVerifyDir(t *testing.T) {
	t.Parallel()
	_, client := fake(t)
	receipt, dir := importInto(t, client, spread(5)), t.TempDir()
	_, err := history.Verify(t.Context(), client, receipt, &history.VerifyOptions{Dir: dir, OnProgress: func(history.VerifyProgress) {
		_, err := history.Verify(t.Context(), client, receipt, &history.VerifyOptions{Dir: dir})
		assert.ErrorIs(t, err, hogapi.ErrHeld)
	}})
	require.NoError(t, err)
}

// An import without events is complete if the project has no event of its ID, and Verify asks to find out.
func TestVerifyOfNothing(t *testing.T) {
	t.Parallel()
	_, client := fake(t)
	nothing := hogapi.Receipt{ID: verifiedID, Finished: true}
	v := verified(t, client, nothing, nil)
	assert.True(t, v.Complete(), "%v", v)
	importInto(t, client, spread(90))
	v = verified(t, client, nothing, nil)
	assert.Equal(t, history.VerificationTooMany, v.State, "%v", v)
	assert.EqualValues(t, 90, v.ForeignEvents)
}
