package proof_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
	"github.com/hogapi/hogapi/ops"
)

// bulkyEvent returns an event that compresses badly: a batch of such events takes several chunks.
func bulkyEvent(i int) hogapi.Event {
	noise := make([]byte, 1500)
	_, _ = rand.NewChaCha8([32]byte{byte(i), byte(i >> 8)}).Read(noise) // never fails
	ev := testevents.Event(i)
	ev.Properties["noise"] = base64.StdEncoding.EncodeToString(noise)
	return ev
}

// hesitant forwards each request at once. It reads the body of the original request seconds later, while other requests are made, and
// then closes it. It closes every second body at once and still tries to read it.
type hesitant struct {
	http.RoundTripper

	t       *testing.T
	n       atomic.Int64
	reading sync.WaitGroup
}

func (h *hesitant) RoundTrip(r *http.Request) (*http.Response, error) {
	again, err := r.GetBody()
	require.NoError(h.t, err)
	want, err := io.ReadAll(again)
	require.NoError(h.t, err)
	require.NoError(h.t, again.Close())
	late := r.Body
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(want))
	early := h.n.Add(1)%2 == 0
	if early {
		require.NoError(h.t, late.Close())
	}
	h.reading.Go(func() {
		time.Sleep(time.Duration(rand.IntN(3000)) * time.Millisecond)
		got, err := io.ReadAll(late)
		if early {
			assert.Error(h.t, err)
			assert.Zero(h.t, len(got), "a body that is closed gives nothing more")
		} else {
			assert.NoError(h.t, err)
			assert.True(h.t, bytes.Equal(want, got), "a body must stay as it was until it is closed")
		}
		assert.NoError(h.t, late.Close())
	})
	return h.RoundTripper.RoundTrip(r)
}

// Transports may read a body after the answer has come. Batches are split after their plain bodies were released: every event still
// arrives, or is rejected, unchanged.
func TestBuffersAreUsedAgainOnlyWhenNobodyReads(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge} {
		for _, plain := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d plain=%t", status, plain), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { testBuffers(t, status, plain) })
			})
		}
	}
}

func testBuffers(t *testing.T, status int, plain bool) {
	const n, poison = 500, 41
	server := hogapitest.New()
	transport := &hesitant{RoundTripper: server.Transport(), t: t}
	client := server.Client(t, hogapi.WithHTTPClient(&http.Client{Transport: transport}))
	refused := map[string]bool{}
	for i := poison; i <= n; i += poison {
		refused[testevents.ID(i).String()] = true
	}
	server.RejectEvents(func(raw json.RawMessage) int {
		_, rest, _ := bytes.Cut(raw, []byte(`"uuid":"`))
		if refused[string(rest[:36])] {
			return status
		}
		return 0
	})
	server.Chaos(ops.Capture, 1, 0.1, hogapitest.Status(500), hogapitest.CutAfter(), hogapitest.CutBefore())
	wires := map[uuid.UUID]json.RawMessage{}
	source := testevents.Altered(testevents.Source(n), func(ev *hogapi.Event) { *ev = bulkyEvent(int(ev.Position.Offset)) })
	receipt, err := history.Import(t.Context(), client, source, &history.Options{
		ID: "buffers", MaxRejectShare: -1, Rate: hogapi.RateUnlimited, Delivery: hogapi.DeliveryOptions{Protocol: hogapi.ProtocolBatch, Compression: map[bool]hogapi.Compression{true: hogapi.CompressionNone}[plain], Tuning: hogapi.Tuning{MaxBatchEvents: 50, MaxBytes: 2 << 20}},
		Rejects: hogapi.RejectFunc(func(_ context.Context, r hogapi.Reject) error {
			wires[r.UUID] = r.Event
			return nil
		}),
	})
	require.NoError(t, err)
	transport.reading.Wait()
	require.EqualValues(t, n/poison, receipt.Rejected)
	require.Len(t, wires, n/poison)
	require.Empty(t, server.Ledger().Changed())
	for stored := range server.Ledger().Last() {
		wires[stored.UUID] = stored.Raw
	}
	require.Len(t, wires, n)
	for i := 1; i <= n; i++ {
		var got struct {
			Event, Timestamp string
			Properties       struct {
				N     int
				Noise string
			}
		}
		require.NoError(t, json.Unmarshal(wires[testevents.ID(i)], &got))
		require.Equal(t, "order placed", got.Event)
		require.Equal(t, i, got.Properties.N)
		require.Equal(t, bulkyEvent(i).Properties["noise"], got.Properties.Noise)
	}
}
