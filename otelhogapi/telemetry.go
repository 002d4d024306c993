package otelhogapi

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/hogapi/hogapi"
)

// Name is the instrumentation scope of all spans and metrics.
const Name = "github.com/hogapi/hogapi/otelhogapi"

// Options configure a [Telemetry]. Zero fields take the default.
type Options struct {
	TracerProvider trace.TracerProvider // default otel.GetTracerProvider()
	MeterProvider  metric.MeterProvider // default otel.GetMeterProvider()

	// Server is the host, or host:port, of the API, and CaptureServer is the host of the endpoint that takes events.
	// They become the attributes server.address and server.port, which hooks do not know. By default the attributes are
	// absent.
	Server        string
	CaptureServer string
}

// Telemetry writes the spans and metrics of a client. It is safe for concurrent use.
type Telemetry struct {
	tracer trace.Tracer

	server, captureServer []attribute.KeyValue

	requestDuration, callDuration, retryWait, checkpointDuration metric.Float64Histogram

	batchEvents, batchSize, batchWireSize metric.Int64Counter

	events, total, resent, inFlight, memory, permits, rejects metric.Int64Gauge

	throttled, failing metric.Float64Gauge
}

// New returns a Telemetry; nil options are the defaults. It returns an error if the meter provider refuses an
// instrument.
func New(options *Options) (*Telemetry, error) {
	var o Options
	if options != nil {
		o = *options
	}
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	t := &Telemetry{
		tracer: o.TracerProvider.Tracer(Name, trace.WithSchemaURL(semconv.SchemaURL)),
		server: serverOf(o.Server), captureServer: serverOf(o.CaptureServer),
	}
	m := maker{meter: o.MeterProvider.Meter(Name, metric.WithSchemaURL(semconv.SchemaURL))}
	t.requestDuration = m.seconds("http.client.request.duration", "Duration of HTTP client requests.", requestBounds)
	t.callDuration = m.seconds("hogapi.call.duration", "Duration of calls with all their tries and waits.", callBounds)
	t.retryWait = m.seconds("hogapi.call.retry.wait", "Waits before another try of a call.", callBounds)
	t.checkpointDuration = m.seconds("hogapi.import.checkpoint.duration", "Duration of saving a checkpoint.", requestBounds)
	t.batchEvents = m.counter("hogapi.import.batch.events", "{event}", "Events in requests of an import.")
	t.batchSize = m.counter("hogapi.import.batch.size", "By", "Bytes of requests of an import before compression.")
	t.batchWireSize = m.counter("hogapi.import.batch.wire_size", "By", "Bytes of requests of an import as sent.")
	t.events = m.gauge("hogapi.import.events", "{event}", "Events of an import by state, over all its runs.")
	t.total = m.gauge("hogapi.import.total", "{event}", "Events that the source of an import has.")
	t.resent = m.gauge("hogapi.import.resent", "{event}", "Events in requests that repeat another one.")
	t.inFlight = m.gauge("hogapi.import.in_flight", "{event}", "Events read and not yet committed.")
	t.memory = m.gauge("hogapi.import.memory", "By", "Bytes of events held.")
	t.permits = m.gauge("hogapi.import.permits", "{request}", "Requests that may be under way at once.")
	t.rejects = m.gauge("hogapi.import.rejects", "{event}", "Rejects of an import by reason, when it ends.")
	t.throttled = m.secondsGauge("hogapi.import.throttled", "Time spent waiting because the service asked for it.")
	t.failing = m.secondsGauge("hogapi.import.failing", "How long no event gets through.")
	if m.err != nil {
		return nil, m.err
	}
	return t, nil
}

// Hooks returns the hooks for hogapi.WithHooks. The spans of batches are linked to the span in ctx, if it has one.
// To add hooks of your own, wrap the functions of the result.
func (t *Telemetry) Hooks(ctx context.Context) hogapi.Hooks {
	ctx = context.WithoutCancel(ctx)
	link := trace.LinkFromContext(ctx)
	return hogapi.Hooks{
		OnCall:       t.call,
		OnBatch:      func(b hogapi.BatchInfo) { t.batch(ctx, link, b) },
		OnCheckpoint: func(c hogapi.CheckpointInfo) { t.checkpointDuration.Record(ctx, c.Duration.Seconds()) },
	}
}

// Bounds of histograms in seconds: the bounds of the semantic conventions, and longer ones for calls that wait.
var (
	requestBounds = []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60}
	callBounds    = []float64{0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900}
)

type maker struct {
	meter metric.Meter
	err   error
}

func (m *maker) seconds(name, text string, bounds []float64) metric.Float64Histogram {
	h, err := m.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(text),
		metric.WithExplicitBucketBoundaries(bounds...))
	m.err = errors.Join(m.err, err)
	return h
}

func (m *maker) counter(name, unit, text string) metric.Int64Counter {
	c, err := m.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(text))
	m.err = errors.Join(m.err, err)
	return c
}

func (m *maker) gauge(name, unit, text string) metric.Int64Gauge {
	g, err := m.meter.Int64Gauge(name, metric.WithUnit(unit), metric.WithDescription(text))
	m.err = errors.Join(m.err, err)
	return g
}

func (m *maker) secondsGauge(name, text string) metric.Float64Gauge {
	g, err := m.meter.Float64Gauge(name, metric.WithUnit("s"), metric.WithDescription(text))
	m.err = errors.Join(m.err, err)
	return g
}
