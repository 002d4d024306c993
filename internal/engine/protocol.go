// Package ingest knows the two endpoints that take events: how to make a request to each, and how to read
// an answer about its events. It makes no calls.
package engine

import (
	"net/http"
	"time"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/wire"
)

// Names of the protocols.
const (
	NameV1    = "v1"
	NameBatch = "batch"
)

// Protocol is one way to send events. It makes requests and judges answers.
type Protocol interface {
	Name() string
	Rules() wire.Protocol // for the gate and the form of events
	Path() string
	Around(begun time.Time) (prefix, suffix []byte) // of the events in a body
	Header(h http.Header, of *delivery.Request)     // adds the headers of the request
	MostBytes(events int) int64                     // of an answer

	// success judges a 2xx. With a reason, the import stops.
	success(r httptry.Try, of *delivery.Request) (delivery.Answer, event.StopReason)
	// isAboutRequest reports whether a 400 of the service refuses the request regardless of its events.
	isAboutRequest(r httptry.Try) bool
}

// Sender identifies the sender in requests.
type Sender struct {
	Key func() string // the project's
	SDK string        // name and version of the library
	Now func() time.Time
}

// Named returns the protocol with a name, or nil.
func Named(name string, who Sender) Protocol {
	switch name {
	case NameV1:
		return v1{who}
	case NameBatch:
		return batch{who}
	default:
		return nil
	}
}

// Offer returns the protocol that a server supports, by its answer to a request of capture v1 without
// events: capture v1 refuses the request with its own error, and a server without capture v1 does not know
// the path. isClear reports whether the answer is one of the two.
func Offer(r httptry.Try, who Sender) (how Protocol, isClear bool) {
	switch {
	case r.Status == http.StatusBadRequest && parseV1Error(r.Body).isEmptyBatch():
		return v1{who}, true
	case r.Status == http.StatusNotFound, r.Status == http.StatusMethodNotAllowed:
		return batch{who}, true
	}
	return batch{who}, false
}
