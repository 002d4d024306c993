package hogapi

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/hogapi/hogapi/internal/capturev1"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/ops"
)

var captureV1Operation = operation{ops.Capture, http.MethodPost, capturev1.Path, "", ReplayIdempotent}

// protocolOperation asks whether the server has capture v1.
var protocolOperation = operation{ops.Protocol, http.MethodPost, capturev1.Path, "", ReplaySafe}

// captureV1 sends events to the endpoint whose answer names the fate of each.
type captureV1 struct{ core *core }

func (captureV1) name() Protocol                                 { return ProtocolV1 }
func (captureV1) rules() wire.Protocol                           { return wire.ProtocolV1 }
func (captureV1) operation() operation                           { return captureV1Operation }
func (captureV1) around(begun time.Time) (prefix, suffix []byte) { return capturev1.Around(begun) }
func (captureV1) mostBytes(events int) int64                     { return capturev1.MostBytes(events) }

// header says who sends, and which try of which request this is. The time is that of the try, down to
// the nanosecond: a try can follow another one at once.
func (v captureV1) header(h http.Header, of *delivery.Request) {
	h.Set("Authorization", "Bearer "+v.core.projectKey())
	h.Set("PostHog-Sdk-Info", libraryName+"/"+libraryVersion())
	h.Set("PostHog-Attempt", strconv.Itoa(of.Try))
	h.Set("PostHog-Request-Id", of.ID.String())
	h.Set("PostHog-Request-Timestamp", v.core.now().UTC().Format("2006-01-02T15:04:05.000000000Z"))
}

// success reads the fate of each event.
func (captureV1) success(r captureAnswer, of *delivery.Request) (a delivery.Answer, stop StopReason) {
	ids := make([][]byte, 0, of.Len())
	for _, item := range of.Items {
		ids = append(ids, wire.ID(item))
	}
	if capturev1.AllOK(r.Body, ids) {
		a.Verdict = delivery.Settled
		return a, ""
	}
	if httptry.IsCut(r.Body) {
		a.Err = errAnswerCut
		return a, "" // the same events may be sent again
	}
	fates, err := capturev1.Fates(r.Body, ids)
	if err != nil {
		a.Err = fmt.Errorf("the answer does not say what became of the events: %w", err)
		return a, StopNotService
	}
	a.Verdict, a.Fates = delivery.Each, fates
	a.Err = errors.New("the service has stored none of the events of a request, and asks for them again")
	return a, ""
}

// refusal is why a request that is wrong as a whole stops the import.
func (captureV1) refusal(r captureAnswer) StopReason {
	if capturev1.ParseError(r.Body).IsAboutRequest() {
		return StopRefused
	}
	return ""
}
