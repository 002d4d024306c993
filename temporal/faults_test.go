package hogtemporal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

func TestProblems(t *testing.T) {
	stop := func(r hogapi.StopReason, err error) error { return &hogapi.StopError{Reason: r, Err: err} }
	for _, c := range []struct {
		err   error
		kind  string
		final bool
	}{
		{stop(hogapi.StopWrongKey, nil), "wrong_key", true},
		{stop(hogapi.StopQuota, nil), "quota", true},
		{stop(hogapi.StopTooManyRejects, nil), "too_many_rejects", true},
		{stop(hogapi.StopRejected, nil), "rejected_event", true},
		{stop(hogapi.StopNoProgress, nil), "no_progress", false},
		{stop(hogapi.StopUnreachable, nil), "unreachable", false},
		{stop(hogapi.StopCheckpoint, errors.New("no space left on device")), "checkpoint_failed", false},
		{stop(hogapi.StopSource, errors.New("input/output error")), "source_failed", false},
		{stop(hogapi.StopSource, fs.ErrNotExist), "shard_missing", true},
		{fmt.Errorf("x: %w", errChanged), "shard_changed", true},
		{&hogapi.InputError{Field: "checkpoint: state"}, "input", true},
		{fmt.Errorf("x: %w", hogapi.ErrHeld), "in_use", false},
		{errLease, "lease_ended", false},
		{errGone, "lease_ended", false},
		{errStopping, "worker_ended", false},
		{errNoKey, "no_key", true},
		{context.DeadlineExceeded, "failed", false},
	} {
		p := problem(c.err)
		assert.Equal(t, c.kind, p.Type)
		assert.Equal(t, c.final, p.Final(), c.kind)
		assert.NotEmpty(t, p.Next, c.kind)

		err := p.failure(Beat{State: []byte(`{"a":1}`)})
		var app *temporal.ApplicationError
		require.ErrorAs(t, err, &app)
		assert.Equal(t, c.final, app.NonRetryable())
		read, beat := problemOf(err)
		assert.Equal(t, p, read)
		assert.JSONEq(t, `{"a":1}`, string(beat.State))
	}
	p := problem(errors.New("answer: " + hogapitest.DefaultProjectKey))
	assert.Equal(t, "answer: [key]", p.Message)
}
