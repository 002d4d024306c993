package engine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/jsonb"
	"github.com/hogapi/hogapi/internal/wire"
)

// V1Path is the path of the endpoint capture v1.
const V1Path = "/i/v1/analytics/events"

// v1 sends events to capture v1, which answers with the fate of each event.
type v1 struct{ who Client }

// The service's own answers have about 60 bytes for each event, and 150 with details.
func (v1) terms() terms {
	return terms{name: event.ProtocolV1, path: V1Path, answerBytes: 512}
}

func (v1) Around(begun time.Time) (prefix, suffix []byte) {
	prefix = begun.UTC().AppendFormat([]byte(`{"created_at":"`), "2006-01-02T15:04:05.000Z")
	return append(prefix, `","historical_migration":true,"batch":[`...), []byte("]}")
}

// Header names the sender, the request and the try. The time is the time of the try, in nanoseconds,
// because one try can follow another at once.
func (v v1) Header(h http.Header, of *delivery.Request) {
	h.Set("Authorization", "Bearer "+v.who.Key())
	h.Set("PostHog-Sdk-Info", v.who.SDK())
	h.Set("PostHog-Attempt", strconv.Itoa(of.Try))
	h.Set("PostHog-Request-Id", of.ID.String())
	h.Set("PostHog-Request-Timestamp", v.who.Now().UTC().Format("2006-01-02T15:04:05.000000000Z"))
}

func (v1) success(r httptry.Try, of *delivery.Request) (a delivery.Answer, stop event.StopReason) {
	ids := make([][]byte, 0, of.Len())
	for _, item := range of.Items {
		ids = append(ids, wire.ID(item))
	}
	if allOK(r.Body, ids) {
		a.Verdict = delivery.Settled
		return a, ""
	}
	if httptry.IsCut(r.Body) {
		a.Err = errAnswerCut
		return a, "" // the same events may be sent again
	}
	fates, err := readFates(r.Body, ids)
	if err != nil {
		a.Err = fmt.Errorf("the answer does not say what became of the events: %w", err)
		return a, event.StopNotService
	}
	a.Verdict, a.Fates = delivery.Each, fates
	a.Err = errors.New("the service has stored none of the events of a request, and asks for them again")
	return a, ""
}

func (v1) isAboutRequest(r httptry.Try) bool { return parseV1Error(r.Body).isAboutRequest() }

// Errors of an answer of capture v1 that cannot be trusted.
var (
	errNoResults = errors.New("the answer has no results")
	errForeign   = errors.New("the answer names an event that was not sent")
)

// allOK reports whether an answer is, byte for byte, the service's usual one: it has taken all events and
// has no details about them.
func allOK(body []byte, ids [][]byte) bool {
	rest, ok := bytes.CutPrefix(body, []byte(`{"results":{`))
	for i, id := range ids {
		ok = ok && len(rest) > len(id)+2 && rest[0] == '"' && bytes.Equal(rest[1:1+len(id)], id)
		if !ok {
			return false
		}
		if rest, ok = bytes.CutPrefix(rest[1+len(id):], []byte(`":{"result":"ok"}`)); ok && i < len(ids)-1 {
			rest, ok = bytes.CutPrefix(rest, []byte(","))
		}
	}
	return ok && string(rest) == "}}"
}

// readFates reads the fate of each event from a success. The ids are of the sent events, in the order of the
// request, as canonical text in lower case.
func readFates(body []byte, ids [][]byte) ([]delivery.Fate, error) {
	r := v1Results{ids: ids, fates: make([]delivery.Fate, len(ids))}
	found := false
	within, err := jsonb.ObjectWithin(body, func(key, value []byte) {
		found = found || string(key) == "results" && value[0] == '{'
	}, "results", r.take)
	switch {
	case err != nil:
		return nil, err
	case within != nil:
		return nil, within
	case !found:
		return nil, errNoResults
	case r.isForeign:
		return nil, errForeign
	}
	return r.fates, nil
}

// v1Results are read into the fates of the sent events.
type v1Results struct {
	ids       [][]byte
	fates     []delivery.Fate
	next      int            // the service answers in the order of the request
	places    map[string]int // made for an answer in another order
	isForeign bool
}

func (r *v1Results) take(id, value []byte) {
	i := r.next
	if i >= len(r.ids) || !bytes.Equal(r.ids[i], id) {
		if r.places == nil {
			r.places = make(map[string]int, len(r.ids))
			for place, id := range r.ids {
				r.places[string(id)] = place
			}
		}
		var sent bool
		if i, sent = r.places[string(id)]; !sent {
			r.isForeign = true
			return
		}
	}
	r.next = i + 1
	r.fates[i] = fateOf(value)
}

var plainOK = []byte(`{"result":"ok"}`)

// fateOf reads one result. An unknown word makes the fate unconfirmed.
func fateOf(value []byte) delivery.Fate {
	if bytes.Equal(value, plainOK) {
		return delivery.Fate{Outcome: delivery.Accepted}
	}
	var said struct{ Result, Details string }
	err := jsonb.Object(value, func(key, value []byte) {
		switch string(key) {
		case "result":
			said.Result = textOf(value)
		case "details":
			said.Details = textOf(value)
		}
	})
	switch {
	case err != nil || said.Result == "":
		return delivery.Fate{Outcome: delivery.Unconfirmed, Reason: "a result that says nothing"}
	case said.Result == "ok":
		return delivery.Fate{Outcome: delivery.Accepted, Reason: said.Details}
	case said.Result == "warning":
		return delivery.Fate{Outcome: delivery.Accepted, Reason: cmp.Or(said.Details, "warning")}
	case said.Result == "drop":
		return delivery.Fate{Outcome: delivery.Rejected, Reason: cmp.Or(said.Details, "no_reason")}
	case said.Result == "retry":
		return delivery.Fate{Outcome: delivery.Again, Reason: said.Details}
	}
	return delivery.Fate{Outcome: delivery.Unconfirmed, Reason: said.Result}
}

func textOf(value []byte) (s string) {
	_ = json.Unmarshal(value, &s) // another type is no word
	return s
}

// v1Error is the endpoint's answer to a request that it refuses as a whole.
type v1Error struct {
	Tag         string `json:"error"` // empty: the answer is not of this endpoint
	Description string `json:"error_description"`
}

func parseV1Error(body []byte) (e v1Error) {
	if json.Unmarshal(body, &e) != nil {
		return v1Error{}
	}
	return e
}

// isEmptyBatch reports whether the endpoint has answered a request without events. No other endpoint gives
// this answer.
func (e v1Error) isEmptyBatch() bool { return e.Tag == "empty_batch" }

// isAboutRequest reports whether the service refuses the request regardless of its events. Other refusals
// can be about one event.
func (e v1Error) isAboutRequest() bool {
	switch e.Tag {
	case "missing_required_headers", "invalid_header_value", "invalid_query_param", "missing_query_params",
		"empty_body", "empty_batch", "invalid_batch", "request_decoding_error":
		return true
	}
	return false
}

// isQuota reports whether the plan's limit is reached.
func (e v1Error) isQuota() bool { return e.Tag == "billing_limit_exceeded" }
