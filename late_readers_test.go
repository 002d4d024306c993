package hogapi_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// lateReader is a transport that answers when it has read a piece of a request's body, and reads the rest much later, as
// transports may: http.RoundTripper allows it until the body is closed.
type lateReader struct {
	status func(request int) int

	mu       sync.Mutex
	statuses []int
	bodies   [][]byte
	reading  sync.WaitGroup
}

func (l *lateReader) RoundTrip(r *http.Request) (*http.Response, error) {
	piece := make([]byte, 16)
	n, err := r.Body.Read(piece)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	number := len(l.bodies)
	l.statuses, l.bodies = append(l.statuses, l.status(number)), append(l.bodies, nil)
	l.reading.Go(func() {
		time.Sleep(5 * time.Second) // virtual
		rest, _ := io.ReadAll(r.Body)
		_ = r.Body.Close()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.bodies[number] = append(piece[:n], rest...)
	})
	return &http.Response{
		StatusCode: l.statuses[number], ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Request: r,
		Body: io.NopCloser(strings.NewReader(`{"status":"Ok"}`)),
	}, nil
}

// unzipped is a request's body without compression.
func unzipped(body []byte) ([]byte, error) {
	if !bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		return body, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// uuids are those of a request's events.
func (l *lateReader) uuids(t *testing.T, number int) (ids []uuid.UUID) {
	t.Helper()
	plain, err := unzipped(l.bodies[number])
	require.NoError(t, err, "request %d", number)
	var sent struct{ Batch []struct{ UUID uuid.UUID } }
	require.NoError(t, json.Unmarshal(plain, &sent), "request %d", number)
	for _, e := range sent.Batch {
		ids = append(ids, e.UUID)
	}
	return ids
}

// A body that is read after its answer is still the request's own, whatever has been sent since: as a whole, in halves, with and
// without compression.
func TestLateReaders(t *testing.T) {
	const n = 600
	for _, plain := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			late := &lateReader{status: func(request int) int {
				if request%7 == 0 {
					return http.StatusBadRequest
				}
				return http.StatusOK
			}}
			client, err := hogapi.NewClient(append(hogapitest.New().ClientOptions("1"), hogapi.WithHTTPClient(&http.Client{Transport: late}))...)
			require.NoError(t, err)
			receipt, err := client.Import(t.Context(), numbered(n), &hogapi.ImportOptions{
				ID: "late", Rate: hogapi.Unpaced, Rejects: ignoreRejects,
				Delivery: hogapi.DeliveryOptions{NoPreflight: true, Protocol: hogapi.ProtocolBatch, Lanes: 3, MaxBatchEvents: 16, NoCompression: plain},
			})
			require.NoError(t, err)
			late.reading.Wait()
			taken := map[uuid.UUID]bool{}
			for number, status := range late.statuses {
				ids := late.uuids(t, number)
				require.NotEmpty(t, ids)
				for _, id := range ids {
					require.False(t, taken[id], "the events of another request")
					taken[id] = status == http.StatusOK
				}
			}
			acknowledged := 0
			for _, ok := range taken {
				if ok {
					acknowledged++
				}
			}
			assert.EqualValues(t, receipt.Acknowledged, acknowledged)
			assert.Len(t, taken, n)
		})
	}
}
