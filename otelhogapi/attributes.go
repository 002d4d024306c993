package otelhogapi

import (
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/ops"
)

// The names of our own attributes.
const (
	opKey           = attribute.Key("hogapi.op")
	importIDKey     = attribute.Key("hogapi.import.id")
	laneKey         = attribute.Key("hogapi.import.lane")
	retryReasonKey  = attribute.Key("hogapi.retry.reason")
	eventStateKey   = attribute.Key("hogapi.event.state")
	rejectReasonKey = attribute.Key("hogapi.reject.reason")
	triesKey        = attribute.Key("hogapi.call.tries")
)

func serverOf(server string) []attribute.KeyValue {
	if server == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(server)
	if err != nil {
		return []attribute.KeyValue{semconv.ServerAddress(server)}
	}
	attributes := []attribute.KeyValue{semconv.ServerAddress(host)}
	if n, err := strconv.Atoi(port); err == nil {
		attributes = append(attributes, semconv.ServerPort(n))
	}
	return attributes
}

// callAttributes returns the attributes of a call. It omits the path of Client.Do, which the caller chose and which
// may hold ids.
func callAttributes(i hogapi.CallInfo) []attribute.KeyValue {
	attributes := make([]attribute.KeyValue, 0, 8)
	attributes = append(attributes, opKey.String(string(i.Op)), semconv.HTTPRequestMethodKey.String(i.Method))
	if i.Op != ops.Do {
		attributes = append(attributes, semconv.URLTemplate(i.Route))
	}
	return attributes
}

func outcomeAttributes(attributes []attribute.KeyValue, status int, err error) []attribute.KeyValue {
	if status != 0 {
		attributes = append(attributes, semconv.HTTPResponseStatusCode(status))
	}
	if kind := errorType(status, err); kind != "" {
		attributes = append(attributes, semconv.ErrorTypeKey.String(kind))
	}
	return attributes
}

// errorType returns the class of a failure, never its text; empty for a success.
func errorType(status int, err error) string {
	var network net.Error
	switch {
	case status >= 400:
		return strconv.Itoa(status)
	case err == nil:
		return ""
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "timeout"
	}
	return semconv.ErrorTypeOther.Value.AsString()
}

func (t *Telemetry) call(ctx context.Context, i hogapi.CallRecord) {
	if i.Ended {
		t.result(ctx, i)
		return
	}
	attributes := outcomeAttributes(append(callAttributes(i.CallInfo), t.server...), i.StatusCode, i.Err)
	t.requestDuration.Record(ctx, i.Duration.Seconds(), metric.WithAttributes(attributes...))
	name := i.Method
	if i.Op != ops.Do {
		name += " " + i.Route
	}
	t.past(ctx, name, i.Duration, i.Tries, attributes, trace.WithSpanKind(trace.SpanKindClient))
	if i.Retry != "" {
		t.retryWait.Record(ctx, i.Wait.Seconds(), metric.WithAttributes(opKey.String(string(i.Op)), retryReasonKey.String(i.Retry)))
	}
}

func (t *Telemetry) result(ctx context.Context, i hogapi.CallRecord) {
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
