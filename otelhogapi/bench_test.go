package otelhogapi_test

import (
	"context"
	"testing"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/ops"
	"github.com/hogapi/hogapi/otelhogapi"
)

type nowhere struct{}

func (nowhere) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (nowhere) Shutdown(context.Context) error                             { return nil }

// BenchmarkHooks measures one call of a hook. A batch has up to 1,000 events.
func BenchmarkHooks(b *testing.B) {
	telemetry, err := otelhogapi.New(&otelhogapi.Options{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithBatcher(nowhere{})),
		MeterProvider:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())),
		Server:         "eu.posthog.com", CaptureServer: "eu.i.posthog.com",
	})
	if err != nil {
		b.Fatal(err)
	}
	hooks := telemetry.Hooks(b.Context())
	call := hogapi.CallInfo{Op: ops.BatchExportsGet, Method: "GET", Route: "/batch_exports/{id}/", Tries: 1}
	b.Run("try", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			hooks.OnTry(b.Context(), hogapi.TryInfo{CallInfo: call, StatusCode: 200, Duration: time.Millisecond})
		}
	})
	b.Run("batch", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			hooks.OnBatch(hogapi.BatchInfo{Lane: 1, Events: 1000, Bytes: 1 << 20, WireBytes: 1 << 17, StatusCode: 200, Try: 1})
		}
	})
	progress := telemetry.Progress(b.Context(), "history")
	b.Run("progress", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			progress(hogapi.Stats{Read: 1000, Acknowledged: 900, Pending: 100})
		}
	})
}
