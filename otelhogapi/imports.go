package otelhogapi

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/hogapi/hogapi"
)

func (t *Telemetry) batch(ctx context.Context, link trace.Link, b hogapi.BatchInfo) {
	attributes := make([]attribute.KeyValue, 0, 12)
	attributes = append(attributes, semconv.HTTPRequestMethodKey.String(http.MethodPost))
	attributes = append(attributes, t.captureServer...)
	attributes = outcomeAttributes(attributes, b.StatusCode, b.Err)
	set := metric.WithAttributeSet(attribute.NewSet(attributes...))
	t.requestDuration.Record(ctx, b.Duration.Seconds(), set)
	t.batchEvents.Add(ctx, int64(b.Events), set)
	t.batchSize.Add(ctx, int64(b.Bytes), set)
	t.batchWireSize.Add(ctx, int64(b.WireBytes), set)

	attributes = append(attributes, laneKey.Int(b.Lane), attribute.Int("hogapi.import.batch.events", b.Events),
		attribute.Int("hogapi.import.batch.size", b.Bytes), attribute.Int("hogapi.import.batch.wire_size", b.WireBytes))
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindClient), trace.WithNewRoot()}
	if link.SpanContext.IsValid() {
		options = append(options, trace.WithLinks(link))
	}
	t.past(ctx, "hogapi import batch", b.Duration, b.Try, attributes, options...)
}

// Progress returns the function for history.Options.OnProgress of the import with this ID. It records the counts of the
// whole import, including earlier runs if it was resumed.
func (t *Telemetry) Progress(ctx context.Context, id string) func(hogapi.Stats) {
	of := metric.WithAttributeSet(attribute.NewSet(importIDKey.String(id)))
	state := func(name string) metric.MeasurementOption {
		return metric.WithAttributeSet(attribute.NewSet(importIDKey.String(id), eventStateKey.String(name)))
	}
	acknowledged, rejected, unconfirmed := state("acknowledged"), state("rejected"), state("unconfirmed")
	skipped, pending := state("skipped"), state("pending")
	ctx = context.WithoutCancel(ctx)
	return func(s hogapi.Stats) {
		t.events.Record(ctx, s.Acknowledged, acknowledged)
		t.events.Record(ctx, s.Rejected, rejected)
		t.events.Record(ctx, s.Unconfirmed, unconfirmed)
		t.events.Record(ctx, s.Skipped, skipped)
		t.events.Record(ctx, s.Pending, pending)
		if s.Total > 0 {
			t.total.Record(ctx, s.Total, of)
		}
		t.resent.Record(ctx, s.Resent, of)
		t.inFlight.Record(ctx, int64(s.InFlight), of)
		t.memory.Record(ctx, int64(s.Bytes), of)
		t.permits.Record(ctx, int64(s.Permits), of)
		t.throttled.Record(ctx, s.Throttled.Seconds(), of)
		failing := time.Duration(0)
		if !s.FailingSince.IsZero() {
			failing = time.Since(s.FailingSince)
		}
		t.failing.Record(ctx, failing.Seconds(), of)
	}
}

// Receipt records the rejects of an import by reason. Call it after the import has ended.
func (t *Telemetry) Receipt(ctx context.Context, receipt hogapi.Receipt) {
	for reason, n := range receipt.Rejects {
		t.rejects.Record(ctx, n, metric.WithAttributes(
			importIDKey.String(receipt.ID), rejectReasonKey.String(string(reason))))
	}
}
