package otelhogapi

import (
	"context"
	"errors"
	"net"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

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
