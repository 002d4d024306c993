package hogapitest

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Result is the answer of capture v1 for one event. The zero value is the service's own result.
type Result struct {
	Result  string // "ok", "warning", "drop", "retry", or any other word
	Details string
	Absent  bool // left out of the answer
	Stored  bool // although Result or Absent says otherwise: only ok and warning are stored anyway
}

type eventResult struct {
	uuid uuid.UUID
	Result
}

// Results calls a function for the answer about each event of a request to capture v1; i is the index of the
// event in the batch. Events that the service drops by its own rules stay dropped. The function must not call
// the server, which is locked meanwhile. It gets the event before the event is stored, so Commit and Request
// are 0. Other operations, and /batch/, are served as usual.
func Results(of func(i int, e StoredEvent) Result) Fault {
	f := fault("Results")
	f.results = of
	return f
}

func (s *Server) captureV1(v *visit) answer {
	r := v.v1
	if r.refusal != nil {
		return *r.refusal
	}
	if s.maxBatchEvents > 0 && len(r.events) > s.maxBatchEvents {
		refuseV1(http.StatusRequestEntityTooLarge, "payload_too_large", "the batch holds too many events")
	}
	for i := range r.events {
		s.culprit(&r.events[i].event, protocolV1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keyCheck && s.projectOf(r.token) == nil {
		return usual(http.StatusUnauthorized, protocolV1)
	}
	isGood := func(e v1Event) bool { return e.dropped == "" }
	if s.quota != QuotaFree && slices.ContainsFunc(r.events, isGood) { // the quota is looked at after the events
		refuseV1(http.StatusPaymentRequired, "billing_limit_exceeded", "the billing limit is reached")
	}
	v.results = s.storeV1(v, r)
	return answerResults(v.results)
}

func (s *Server) storeV1(v *visit, r *v1Request) []eventResult {
	project, unknown := s.projectOf(r.token), ""
	if project == nil {
		unknown = "unknown key"
	}
	s.ledger.begin(v, CaptureRequest{Historical: r.historical, Gzip: r.encoding == "gzip", Events: len(r.events)}, project)
	keep := v.fault.stored(len(r.events))
	list := make([]eventResult, 0, len(r.events))
	for i := range r.events {
		e := &r.events[i]
		result := v.resultOf(i, e)
		switch {
		case result.Result != "ok" && result.Result != "warning" && !result.Stored || result.Absent && !result.Stored:
			if result.Result == "drop" {
				s.keep(v, &e.event, nil, or(result.Details, "drop"))
			}
		case i >= keep, e.name == "$$heatmap", e.name == "$$client_ingestion_warning": // not stored, or not as events
		default:
			s.keep(v, &e.event, project, unknown)
		}
		if !result.Absent {
			list = append(list, eventResult{e.uuid, result})
		}
	}
	return list
}

// resultOf is the service's judgement of an event, or the script's.
func (v *visit) resultOf(i int, e *v1Event) Result {
	own := Result{Result: "ok"}
	switch {
	case e.dropped != "":
		return Result{Result: "drop", Details: e.dropped}
	case e.tooBig:
		return Result{Result: "drop", Details: "event_too_big"}
	case illegalIDs[strings.ToLower(e.distinctID)]:
		own.Details = "person_processing_disabled"
	}
	if v.fault.results == nil {
		return own
	}
	scripted := v.fault.results(i, e.stored())
	if scripted.Result == "" {
		scripted.Result, scripted.Details = own.Result, own.Details
	}
	return scripted
}

// answerResults writes the results in their order. Retry-After is there only where one says retry.
func answerResults(list []eventResult) answer {
	var b bytes.Buffer
	header := http.Header{"Content-Type": {"application/json"}}
	b.WriteString(`{"results":{`)
	for i, r := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"%s":{"result":%s`, r.uuid, toJSON(r.Result.Result))
		if r.Details != "" {
			fmt.Fprintf(&b, `,"details":%s`, toJSON(r.Details))
		}
		b.WriteByte('}')
		if r.Result.Result == "retry" {
			header.Set("Retry-After", "1")
		}
	}
	b.WriteString(`}}`)
	return answer{http.StatusOK, header, b.Bytes()}
}
