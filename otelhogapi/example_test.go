package otelhogapi_test

import (
	"context"
	"fmt"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/hogapi/hogapi"
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
	options := &hogapi.ImportOptions{ID: "history", OnProgress: telemetry.Progress(ctx, "history")}
	fmt.Println(options.OnProgress != nil)
	// client.Import(ctx, source, options), and then telemetry.Receipt(ctx, receipt)

	// Output:
	// true
}
