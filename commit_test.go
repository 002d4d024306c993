package hogapi

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
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

// A save that fails stops the sending while its events still fill the window: were there room before, more than the window holds
// would be sent again.
func TestFailedSaveStopsBeforeThereIsRoom(t *testing.T) {
	const n = 10
	var capture *Capture
	var filled []int
	failure := askedError(func() { filled = append(filled, capture.entries.Len()) })
	client := newFakeClient(t, newScript(answers(200, `{"status":"Ok"}`)))
	capture, err := client.newCapture(CaptureOptions{ID: "x", Rate: Unpaced, Delivery: DeliveryOptions{Lanes: 1, MaxInFlight: n, Linger: time.Hour}}, nil, failingSaver{failure})
	require.NoError(t, err)
	for i := range n {
		ev := testEvent()
		ev.UUID, ev.Position = uuid.New(), Position{Offset: int64(i + 1)}
		require.NoError(t, capture.Enqueue(t.Context(), ev))
	}
	_, err = capture.Close(t.Context())
	var stop *StopError
	require.ErrorAs(t, err, &stop)
	assert.Equal(t, StopCheckpoint, stop.Reason)
	require.NotEmpty(t, filled)
	assert.Equal(t, n, filled[0], "events in the window when the sending stopped")
}

// askedError calls itself when it is asked what it is, as whoever stops the sending does first.
type askedError func()

func (askedError) Error() string { return "no space left on device" }

func (e askedError) Is(error) bool {
	e()
	return false
}

type failingSaver struct{ err error }

func (s failingSaver) save(context.Context, settledPlace, Receipt) error { return s.err }
