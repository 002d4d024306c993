package flows_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
)

// keyless are n events at positions without a key, from the fourth on without a uuid of their own. Where stop is
// above 0, the source ends with an error before that event.
func keyless(n, stop int) history.Source {
	return history.Func("keyless", func(_ context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(yield func(hogapi.Event, error) bool) {
			for i := int(after.Offset) + 1; i <= n; i++ {
				if i == stop {
					yield(hogapi.Event{}, errors.New("the table is locked"))
					return
				}
				ev := numberedEvent(i)
				if ev.Position = (hogapi.Position{Offset: int64(i)}); i > 3 {
					ev.UUID = uuid.Nil
				}
				if !yield(ev, nil) {
					return
				}
			}
		}
	})
}

// A uuid is derived only from a position with a key, and a reject without an identity does not get one from its reject
// file.
func TestPositionsNeedAKey(t *testing.T) {
	t.Parallel()
	server, client := fake(t)
	_, err := history.Import(t.Context(), client, keyless(6, 0), &history.Options{ID: "x", Rate: hogapi.RateUnlimited})
	refused := as[*event.Error](t, err)
	assert.Equal(t, event.ReasonNoIdentity, refused.Reason)
	assert.Contains(t, refused.Want, "Position with a Key")

	path := t.TempDir() + "/rejects.jsonl"
	receipt, err := history.Import(t.Context(), client, keyless(6, 0), &history.Options{ID: "x", Rate: hogapi.RateUnlimited, MaxRejectShare: -1, Rejects: history.RejectFile(path)})
	require.NoError(t, err)
	assert.Equal(t, map[hogapi.Reason]int64{event.ReasonNoIdentity: 3}, receipt.Rejects)
	for ev, err := range history.Rejected(path, nil).Events(t.Context(), hogapi.Position{}) {
		require.NoError(t, err)
		assert.Equal(t, uuid.Nil, ev.UUID)
	}
	requireWhole(t, server, 3)
}

// An import that an older release has begun with such positions continues, and Verify knows its events.
func TestOldImportsWithoutKeys(t *testing.T) {
	t.Parallel()
	for name, isOld := range map[string]bool{"old": true, "new": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := hogapitest.New()
			client, saved := server.Client(t), &testevents.Checkpoint{}
			options := &history.Options{ID: "x", Rate: hogapi.RateUnlimited, Checkpoint: saved}
			_, err := history.Import(t.Context(), client, keyless(6, 4), options)
			require.ErrorContains(t, err, "locked")
			if isOld {
				require.Contains(t, string(saved.State), `"keyed":true,`)
				saved.State = bytes.Replace(saved.State, []byte(`"keyed":true,`), nil, 1)
			}
			_, err = history.Import(t.Context(), client, keyless(6, 6), options)
			if !isOld {
				assert.Equal(t, event.ReasonNoIdentity, as[*event.Error](t, err).Reason)
				assert.Equal(t, 3, server.Ledger().Unique())
				return
			}
			require.ErrorContains(t, err, "locked")
			receipt, err := history.Import(t.Context(), client, keyless(6, 0), options)
			require.NoError(t, err, "a second resume is one of an old import too")
			assert.EqualValues(t, 6, receipt.Acknowledged)
			assert.Equal(t, 6, server.Ledger().Unique())

			v, err := history.Verify(t.Context(), client, receipt, &history.VerifyOptions{Source: keyless(6, 0), EveryUUID: true})
			require.NoError(t, err)
			assert.True(t, v.Complete(), "%v", v)
		})
	}
}
