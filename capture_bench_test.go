package hogapi_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
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

// mixedFile is a file of lines of about 450 bytes with eleven properties of mixed types.
func mixedFile(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"event":"order placed","distinct_id":"user-%d","timestamp":"2023-05-%02dT12:%02d:%02d.%03d+02:00",`+
			`"uuid":"0190f5f4-35a0-7c3e-8d3f-%012x","properties":{"$current_url":"https://shop.example.com/checkout/step/2?coupon=SPRING",`+
			`"$browser":"Firefox","$os":"Linux","price":129.95,"quantity":%d,"currency":"EUR","is_first":%t,"category":"books & music",`+
			`"sku":"SKU-%08d","discount":0.15,"referrer":"https://www.example.org/search?q=go"}}`+"\n",
			i%997, 1+i%28, i/60%60, i%60, i%1000, i, i%7, i%2 == 0, i)
	}
	return b.String()
}

// BenchmarkJSONLines measures reading and parsing, an event an operation.
func BenchmarkJSONLines(b *testing.B) {
	const n = 50_000
	content := mixedFile(n)
	for name, text := range map[string]string{"plain.jsonl": content, "packed.jsonl.gz": zipped(content)} {
		path := writeFile(b, name, text)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(content) / n))
			b.ReportAllocs()
			left := b.N
			for left > 0 {
				for _, err := range hogapi.JSONLinesFile(path).Events(context.Background(), hogapi.Position{}) {
					if err != nil {
						b.Fatal(err)
					}
					if left--; left <= 0 {
						break
					}
				}
			}
		})
	}
}

// BenchmarkImportOfAFile measures everything but the network, checkpoints included, an event an operation.
func BenchmarkImportOfAFile(b *testing.B) {
	path := writeFile(b, "plain.jsonl", mixedFile(max(b.N, 1)))
	info, err := os.Stat(path)
	require.NoError(b, err)
	client, err := hogapi.NewClient(hogapi.WithBaseURL("http://localhost:1"), hogapi.WithProjectAPIKey("phc_benchmark"),
		hogapi.WithHTTPClient(&http.Client{Transport: nowhere{}}))
	require.NoError(b, err)
	b.SetBytes(info.Size() / int64(max(b.N, 1)))
	b.ReportAllocs()
	b.ResetTimer()
	receipt, err := client.Import(context.Background(), hogapi.JSONLinesFile(path), &hogapi.ImportOptions{
		ID: "bench", Rate: hogapi.Unpaced, Checkpoint: hogapi.FileCheckpoint(path + ".ckpt"),
	})
	require.NoError(b, err)
	require.EqualValues(b, b.N, receipt.Acknowledged)
}
