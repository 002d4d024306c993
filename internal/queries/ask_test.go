package queries

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var errBusy = errors.New("busy")

func TestABusyServiceIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		busy int
		wait time.Duration
		took time.Duration
		err  error
	}{
		"ten seconds, doubling":    {3, 0, 70 * time.Second, nil},
		"as long as it asks":       {2, time.Minute, 2 * time.Minute, nil},
		"for an hour":              {1, time.Hour, time.Hour, nil},
		"not for longer than that": {1, time.Hour + 1, 0, errBusy},
		"not forever":              {99, 0, (10 + 20 + 40 + 80 + 160 + 5*300) * time.Second, errBusy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := 0
				a := &Asker{Server: &Server{}, Send: func(context.Context, any, Decoder) Reply {
					if n++; n <= tt.busy {
						return Reply{Err: errBusy, Status: 503, RetryAfter: tt.wait}
					}
					return Reply{}
				}}
				begin := time.Now()
				_, err := Ask[int](t.Context(), a, Query{}, 10)
				require.ErrorIs(t, err, tt.err)
				assert.Equal(t, tt.took, time.Since(begin))
			})
		})
	}
}

func TestWholeAnswers(t *testing.T) {
	t.Parallel()
	a := Answer[int]{Rows: make([]int, 3)}
	require.NoError(t, a.whole(4))
	require.ErrorIs(t, a.whole(3), ErrFull)
	a.HasMore = true
	require.NoError(t, a.whole(4), "a full page has a next one")
	require.ErrorIs(t, a.whole(5), ErrFull, "more exist than this page, which is not full")
	a.IsCached = true
	require.ErrorIs(t, a.whole(4), errCached)
}

func TestQueryForms(t *testing.T) {
	t.Parallel()
	q := Query{"SELECT {a}, {b}", map[string]any{"a": `it's \ {b}`, "b": 5}}
	assert.Equal(t, `SELECT 'it\'s \\ {b}', '5'`, q.String(), "a value is not read for placeholders")
	text, err := json.Marshal(q)
	require.NoError(t, err)
	assert.JSONEq(t, `{"kind":"HogQLQuery","query":"SELECT {a}, {b}","values":{"a":"it's \\ {b}","b":5}}`, string(text))
}
