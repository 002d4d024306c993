package hogapi_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
)

// nowhere answers every request at once, reading its body.
type nowhere struct{}

func (nowhere) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	_ = r.Body.Close()
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{}, ContentLength: 15, Request: r,
		Body: io.NopCloser(strings.NewReader(`{"status":"Ok"}`)),
	}, nil
}

// mixedEvents is a ring of events with eleven properties of mixed types, about 450 bytes each.
func mixedEvents(n int, withUUID bool) []hogapi.Event {
	events := make([]hogapi.Event, n)
	for i := range events {
		events[i] = hogapi.Event{
			Name: "order placed", DistinctID: fmt.Sprintf("user-%d", i%997),
			Timestamp: time.Date(2023, 5, 1, 0, 0, i%86400, 1e6*(i%1000), time.UTC),
			Position:  hogapi.Position{Offset: int64(i + 1)},
			Properties: map[string]any{
				"$current_url": "https://shop.example.com/checkout/step/2?coupon=SPRING", "$browser": "Firefox", "$os": "Linux",
				"price": 129.95, "quantity": i % 7, "currency": "EUR", "is_first": i%2 == 0, "category": "books & music",
				"sku": fmt.Sprintf("SKU-%08d", i), "discount": 0.15, "referrer": "https://www.example.org/search?q=go",
			},
		}
		if withUUID {
			events[i].UUID = uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, i))
		}
	}
	return events
}

// BenchmarkCapture measures everything but the network: gate, encoding, batches, gzip, settling.
func BenchmarkCapture(b *testing.B) {
	for _, zipped := range []bool{false, true} {
		for _, withUUID := range []bool{true, false} {
			b.Run(fmt.Sprintf("gzip=%t/uuid=%t", zipped, withUUID), func(b *testing.B) {
				client, err := hogapi.NewClient(hogapi.WithBaseURL("http://localhost:1"), hogapi.WithProjectAPIKey("phc_benchmark"),
					hogapi.WithHTTPClient(&http.Client{Transport: nowhere{}}))
				require.NoError(b, err)
				capture, err := client.NewCapture(&hogapi.CaptureOptions{ID: "bench", Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{NoCompression: !zipped}})
				require.NoError(b, err)
				events := mixedEvents(8192, withUUID)
				b.ReportAllocs()
				b.ResetTimer()
				for i := range b.N {
					if err := capture.Enqueue(context.Background(), events[i%len(events)]); err != nil {
						b.Fatal(err)
					}
				}
				_, err = capture.Close(context.Background())
				require.NoError(b, err)
			})
		}
	}
}
