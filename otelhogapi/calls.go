package otelhogapi

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/ops"
)

func (t *Telemetry) try(ctx context.Context, i hogapi.TryInfo) {
	attributes := outcomeAttributes(append(callAttributes(i.CallInfo), t.server...), i.StatusCode, i.Err)
	t.requestDuration.Record(ctx, i.Duration.Seconds(), metric.WithAttributes(attributes...))
	name := i.Method
	if i.Op != ops.Do {
		name += " " + i.Route
	}
	t.past(ctx, name, i.Duration, i.Tries, attributes, trace.WithSpanKind(trace.SpanKindClient))
}

func (t *Telemetry) retry(ctx context.Context, i hogapi.RetryInfo) {
	t.retryWait.Record(ctx, i.Wait.Seconds(), metric.WithAttributes(
		opKey.String(string(i.Op)), retryReasonKey.String(i.Reason)))
}

func (t *Telemetry) result(ctx context.Context, i hogapi.ResultInfo) {
	attributes := outcomeAttributes(callAttributes(i.CallInfo), i.StatusCode, i.Err)
	t.callDuration.Record(ctx, i.Duration.Seconds(), metric.WithAttributes(attributes...))
	attributes = append(attributes, triesKey.Int(i.Tries))
	t.past(ctx, "hogapi "+string(i.Op), i.Duration, 1, attributes, trace.WithSpanKind(trace.SpanKindInternal))
}

// past writes a span that ends now. It may append to attributes, so the caller must not use them afterwards.
func (t *Telemetry) past(
	ctx context.Context, name string, took time.Duration, try int, attributes []attribute.KeyValue, options ...trace.SpanStartOption,
) {
	if try > 1 {
		attributes = append(attributes, semconv.HTTPRequestResendCount(try-1))
	}
	end := time.Now()
	options = append(options, trace.WithTimestamp(end.Add(-took)), trace.WithAttributes(attributes...))
	_, span := t.tracer.Start(ctx, name, options...)
	for _, a := range attributes {
		if a.Key == semconv.ErrorTypeKey {
			span.SetStatus(codes.Error, "")
		}
	}
	span.End(trace.WithTimestamp(end))
}
