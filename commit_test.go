package hogapi

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What waits for a commit decides when the disk is spared no longer. Rejects of the gate count as the others do.
func TestNothingIsUncommittedInTheEnd(t *testing.T) {
	client := newFakeClient(t, newScript(answers(200, `{"status":"Ok"}`)))
	capture, err := client.NewCapture(CaptureOptions{ID: "x", Rejects: RejectFunc(func(context.Context, Reject) error { return nil })})
	require.NoError(t, err)
	for i := range 10 {
		ev := Event{Position: Position{Offset: int64(i + 1)}}
		require.NoError(t, capture.acceptReject(t.Context(), &ev, &EventError{Reason: ReasonNoName}))
	}
	receipt, err := capture.Close(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 10, receipt.Rejected)
	assert.Zero(t, capture.uncommitted)
}
