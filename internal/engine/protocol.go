package engine

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// Endpoint is one way to send events. It makes requests and judges answers.
type Endpoint interface {
	terms() terms
	Around(begun time.Time) (prefix, suffix []byte) // of the events in a body
	Header(h http.Header, of *delivery.Request)     // adds the headers of the request

	// success judges a 2xx. With a reason, the import stops.
	success(r httptry.Try, of *delivery.Request) (delivery.Answer, event.StopReason)
	// isAboutRequest reports whether a 400 of the service refuses the request regardless of its events.
	isAboutRequest(r httptry.Try) bool
}

// terms are what is the same for all requests to an endpoint.
type terms struct {
	name        event.Protocol
	path        string
	encoding    string // the only one of bodies; empty: any
	answerBytes int64  // at most so many for each event of a request, and maxAnswer
}

// maxAnswer is the size of an answer without the fates of events. Each lane may hold an answer.
const maxAnswer = 64 << 10

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

// BatchPath is the path of the endpoint /batch/.
const BatchPath = "/batch/"

// batch sends events to /batch/, which answers a request with one word for all its events. The body has the
// key. The struct has no key, because fmt would print it at any depth.
type batch struct{ who Client }

func (batch) terms() terms {
	return terms{name: event.ProtocolBatch, path: BatchPath, encoding: delivery.Gzip}
}

func (batch) Header(http.Header, *delivery.Request) {}

func (b batch) Around(time.Time) (prefix, suffix []byte) {
	return []byte(`{"api_key":` + strconv.Quote(b.who.Key()) + `,"historical_migration":true,"batch":[`), []byte("]}")
}

func (batch) isAboutRequest(httptry.Try) bool { return false }

// success accepts only the service's own words: "Ok" of current servers, 1 of old ones. It refuses an
// answer with a repeated key, because it cannot know which value counts.
func (batch) success(r httptry.Try, _ *delivery.Request) (a delivery.Answer, stop event.StopReason) {
	if httptry.IsCut(r.Body) {
		a.Err = errAnswerCut
		return a, "" // its end is lost: the same events may be sent again
	}
	var word, quota string
	err := jsonb.Object(r.Body, func(key, value []byte) {
		switch string(key) {
		case "status":
			word = strings.ToLower(string(value))
		case "quota_limited":
			quota = string(value)
		}
	})
	var limited []string
	if quota != "" && err == nil {
		err = json.Unmarshal([]byte(quota), &limited)
	}
	switch {
	case err != nil:
		return a, event.StopNotService
	case len(limited) > 0:
		return a, event.StopQuota
	case word == `"ok"`, word == "1":
		a.Verdict = delivery.Settled
		return a, ""
	}
	return a, event.StopNotService
}
