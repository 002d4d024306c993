// Package capturev1 reads the answers of the endpoint capture v1: the fate of each event of a request, or
// the tag of an error. It does no I/O.
package capturev1

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"time"

	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// Path is the path of the endpoint.
const Path = "/i/v1/analytics/events"

// MostBytes is the most bytes of an answer about this many events. The service's own answers have about 60
// bytes for each event, and 150 with details.
func MostBytes(events int) int64 { return 64<<10 + 512*int64(events) }

// Around returns the bytes before and after the events of a request. begun is when the request was made.
func Around(begun time.Time) (prefix, suffix []byte) {
	prefix = begun.UTC().AppendFormat([]byte(`{"created_at":"`), "2006-01-02T15:04:05.000Z")
	return append(prefix, `","historical_migration":true,"batch":[`...), []byte("]}")
}

// Errors of an answer that cannot be trusted.
var (
	ErrNoResults = errors.New("the answer has no results")
	ErrForeign   = errors.New("the answer names an event that was not sent")
)

// AllOK reports whether an answer is, byte for byte, the service's usual one: it has taken all events and
// has no details about them.
func AllOK(body []byte, ids [][]byte) bool {
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

// Fates reads the fate of each event from a success. The ids are of the sent events, in the order of the
// request, as canonical text in lower case.
func Fates(body []byte, ids [][]byte) ([]delivery.Fate, error) {
	r := results{ids: ids, fates: make([]delivery.Fate, len(ids))}
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
		return nil, ErrNoResults
	case r.isForeign:
		return nil, ErrForeign
	}
	return r.fates, nil
}

type results struct {
	ids       [][]byte
	fates     []delivery.Fate
	next      int            // the service answers in the order of the request
	places    map[string]int // made for an answer in another order
	isForeign bool
}

// take reads the result of one event.
func (r *results) take(id, value []byte) {
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
	r.fates[i] = fate(value)
}

var plainOK = []byte(`{"result":"ok"}`)

// fate reads one result. An unknown word makes the fate unsure.
func fate(value []byte) delivery.Fate {
	if bytes.Equal(value, plainOK) {
		return delivery.Fate{Outcome: delivery.Accepted}
	}
	var said struct{ Result, Details string }
	err := jsonb.Object(value, func(key, value []byte) {
		switch string(key) {
		case "result":
			said.Result = text(value)
		case "details":
			said.Details = text(value)
		}
	})
	switch {
	case err != nil || said.Result == "":
		return delivery.Fate{Outcome: delivery.Unsure, Reason: "a result that says nothing"}
	case said.Result == "ok":
		return delivery.Fate{Outcome: delivery.Accepted, Reason: said.Details}
	case said.Result == "warning":
		return delivery.Fate{Outcome: delivery.Accepted, Reason: cmp.Or(said.Details, "warning")}
	case said.Result == "drop":
		return delivery.Fate{Outcome: delivery.Refused, Reason: cmp.Or(said.Details, "no_reason")}
	case said.Result == "retry":
		return delivery.Fate{Outcome: delivery.Again, Reason: said.Details}
	}
	return delivery.Fate{Outcome: delivery.Unsure, Reason: said.Result}
}

func text(value []byte) (s string) {
	_ = json.Unmarshal(value, &s) // another type is no word
	return s
}

// Error is the endpoint's answer to a request that it refuses as a whole.
type Error struct {
	Tag         string `json:"error"` // empty: the answer is not of this endpoint
	Description string `json:"error_description"`
}

// ParseError reads an error.
func ParseError(body []byte) (e Error) {
	if json.Unmarshal(body, &e) != nil {
		return Error{}
	}
	return e
}

// IsEmptyBatch reports whether the endpoint has answered a request without events. No other endpoint gives
// this answer.
func (e Error) IsEmptyBatch() bool { return e.Tag == "empty_batch" }

// IsAboutRequest reports whether the service refuses the request regardless of its events. Other refusals
// can be about one event.
func (e Error) IsAboutRequest() bool {
	switch e.Tag {
	case "missing_required_headers", "invalid_header_value", "invalid_query_param", "missing_query_params",
		"empty_body", "empty_batch", "invalid_batch", "request_decoding_error":
		return true
	}
	return false
}

// IsQuota reports whether the plan's limit is reached.
func (e Error) IsQuota() bool { return e.Tag == "billing_limit_exceeded" }
