package hogapi_test

import (
	"encoding/base64"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// Capture v1 takes 10 MiB as sent and 50 MiB unpacked. Larger requests than that are never sent plain,
// whatever the options allow for /batch/; what does not compress is halved, and arrives too.
func TestSizesOfCaptureV1(t *testing.T) {
	t.Parallel()
	const n, each = 20, 800_000
	source := altered(numbered(n), func(ev *hogapi.Event) {
		noise := make([]byte, each/4*3)
		_, _ = rand.NewChaCha8([32]byte{byte(ev.Position.Offset)}).Read(noise)
		ev.Properties = map[string]any{"n": ev.Position.Offset, "noise": base64.StdEncoding.EncodeToString(noise)}
	})
	for name, test := range map[string]struct {
		delivery hogapi.DeliveryOptions
		refused  bool // a request is
	}{
		"plain": {delivery: hogapi.DeliveryOptions{NoCompression: true}},
		"gzip":  {refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			server, largest, refused := hogapitest.New(), 0, 0
			client := server.Client(t, hogapi.WithHooks(hogapi.Hooks{OnBatch: func(b hogapi.BatchInfo) {
				if b.StatusCode == 413 {
					refused++
					return
				}
				largest = max(largest, b.WireBytes)
			}}))
			test.delivery.Lanes, test.delivery.MaxBytes, test.delivery.MaxBatchBytes = 1, 64<<20, 18<<20
			test.delivery.Linger = time.Hour // a batch is full, however slow the machine
			receipt, err := client.Import(t.Context(), source, &hogapi.ImportOptions{ID: "sizes", Rate: hogapi.Unpaced, Delivery: test.delivery})
			require.NoError(t, err)
			assert.EqualValues(t, n, receipt.Acknowledged)
			assert.Equal(t, hogapi.ProtocolV1, receipt.Protocol)
			assert.Equal(t, n, server.Ledger().Unique())
			assert.Equal(t, test.refused, refused > 0)
			assert.LessOrEqual(t, largest, 10<<20)
			assert.Greater(t, largest, 5<<20)
		})
	}
}
