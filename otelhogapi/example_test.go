package otelhogapi_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/otelhogapi"
)

func ExampleNew() {
	ctx := context.Background()
	exporter := tracetest.NewInMemoryExporter() // yours: otlptracehttp.New(ctx)
	telemetry, err := otelhogapi.New(&otelhogapi.Options{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)),
		MeterProvider:  sdkmetric.NewMeterProvider(), // yours: with a reader
		Server:         "eu.posthog.com",
	})
	if err != nil {
		panic(err)
	}
	options := hogapitest.New().ClientOptions(hogapitest.DefaultProject) // yours: hogapi.FromEnv()
	client, err := hogapi.NewClient(append(options, hogapi.WithHooks(telemetry.Hooks(ctx)))...)
	if err != nil {
		panic(err)
	}
	if _, err := client.BatchExports.List(ctx, nil); err != nil {
		panic(err)
	}
	for _, span := range exporter.GetSpans() {
		fmt.Println(span.SpanKind, span.Name)
	}
	// Output:
	// client GET /batch_exports/
	// internal hogapi batch_exports.list
}

func ExampleTelemetry_Progress() {
	ctx := context.Background()
	reader := sdkmetric.NewManualReader() // yours: the reader of your exporter
	telemetry, err := otelhogapi.New(&otelhogapi.Options{
		MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)),
	})
	if err != nil {
		panic(err)
	}
	options := &history.Options{ID: "history", OnProgress: telemetry.Progress(ctx, "history")}
	fmt.Println(options.OnProgress != nil)
	// client.Import(ctx, source, options), and then telemetry.Receipt(ctx, receipt)

	// Output:
	// true
}

// A service takes past events from a queue, for months. It waits out every outage, logs, and measures its work. At a signal it takes no
// more events, sends the events that it holds, and lists the unsent ones: the queue delivers these again.
func Example_service() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
	telemetry, err := otelhogapi.New(nil) // the global providers
	if err != nil {
		panic(err)
	}
	background := context.WithoutCancel(ctx)                                     // measure events after the signal too
	options := append(hogapitest.New().ClientOptions(hogapitest.DefaultProject), // yours: hogapi.FromEnv()
		hogapi.WithLogger(logger), hogapi.WithHooks(telemetry.Hooks(background)))
	client, err := hogapi.NewClient(options...)
	if err != nil {
		panic(err)
	}
	capture, err := client.NewCapture(&hogapi.CaptureOptions{
		ID: "orders",
		Rejects: hogapi.RejectFunc(func(ctx context.Context, r hogapi.Reject) error {
			logger.WarnContext(ctx, "rejected", "position", r.Position, "reason", r.Err.Reason) // yours: keep r too
			return nil
		}),
		OnSettled: func(_ context.Context, p hogapi.Position) { // yours: commit the offset
			if p.Offset == 3 {
				stop() // like the signal
			}
		},
		Delivery: hogapi.DeliveryOptions{GiveUpAfter: -1},
	})
	if err != nil {
		panic(err)
	}
	measure := time.NewTicker(10 * time.Second)
	defer measure.Stop()
	progress, queue := telemetry.Progress(background, "orders"), orders()
	for err == nil && ctx.Err() == nil {
		select {
		case event := <-queue:
			err = capture.Enqueue(ctx, event) // waits while there is an outage and no room
		case <-measure.C:
			progress(capture.Stats())
		case <-ctx.Done():
		}
	}
	if err != nil && ctx.Err() == nil { // a *StopError, which waiting does not fix
		logger.Error("nothing is taken any more", "error", err)
	}
	closing, cancel := context.WithTimeout(background, 20*time.Second) // less than the platform's grace period
	defer cancel()
	receipt, err := capture.Close(closing)
	if unsettled, ok := errors.AsType[*event.UnsettledError](err); ok {
		logger.Error("not settled", "events", unsettled.Count, "from", unsettled.First, "error", unsettled)
	}
	telemetry.Receipt(background, receipt)
	logger.Info("closed", "acknowledged", receipt.Acknowledged, "pending", receipt.Pending)
	// Output:
	// level=INFO msg=closed acknowledged=3 pending=0
}

func orders() <-chan hogapi.Event {
	queue := make(chan hogapi.Event, 3)
	for n := range int64(3) {
		queue <- hogapi.Event{
			Name: "ordered", DistinctID: "customer-7", Timestamp: time.Date(2024, 5, 1, 12, int(n), 0, 0, time.UTC),
			Position: hogapi.Position{Key: "partition-0", Offset: n + 1},
		}
	}
	return queue
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
