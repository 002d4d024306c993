package engine

import (
	"net/http"
	"time"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/httptry"
)

// Endpoint is one way to send events. It makes requests and judges answers.
type Endpoint interface {
	Name() event.Protocol
	Path() string
	Encoding(asked string) string                   // of bodies
	Around(begun time.Time) (prefix, suffix []byte) // of the events in a body
	Header(h http.Header, of *delivery.Request)     // adds the headers of the request
	MaxBytes(events int) int64                      // of an answer

	// success judges a 2xx. With a reason, the import stops.
	success(r httptry.Try, of *delivery.Request) (delivery.Answer, event.StopReason)
	// isAboutRequest reports whether a 400 of the service refuses the request regardless of its events.
	isAboutRequest(r httptry.Try) bool
}

// named returns the endpoint of a protocol, or nil.
func named(name event.Protocol, who Client) Endpoint {
	switch name {
	case event.ProtocolV1:
		return v1{who}
	case event.ProtocolBatch:
		return batch{who}
	default:
		return nil
	}
}

// offer returns the endpoint that a server has, by its answer to a request of capture v1 without
// events: capture v1 refuses the request with its own error, and a server without capture v1 does not know
// the path. isClear reports whether the answer is one of the two.
func offer(r httptry.Try, who Client) (how Endpoint, isClear bool) {
	switch {
	case r.Status == http.StatusBadRequest && parseV1Error(r.Body).isEmptyBatch():
		return v1{who}, true
	case r.Status == http.StatusNotFound, r.Status == http.StatusMethodNotAllowed:
		return batch{who}, true
	}
	return batch{who}, false
}
