package ingest

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/wire"
)

// V1Path is the path of the endpoint capture v1.
const V1Path = "/i/v1/analytics/events"

// v1 sends events to capture v1, which answers with the fate of each event.
type v1 struct{ who Sender }

func (v1) Name() string         { return NameV1 }
func (v1) Rules() wire.Protocol { return wire.ProtocolV1 }
func (v1) Path() string         { return V1Path }

// MostBytes is the most bytes of an answer about this many events. The service's own answers have about 60
// bytes for each event, and 150 with details.
func (v1) MostBytes(events int) int64 { return 64<<10 + 512*int64(events) }

func (v1) Around(begun time.Time) (prefix, suffix []byte) {
	prefix = begun.UTC().AppendFormat([]byte(`{"created_at":"`), "2006-01-02T15:04:05.000Z")
	return append(prefix, `","historical_migration":true,"batch":[`...), []byte("]}")
}

// Header names the sender, the request and the try. The time is the time of the try, in nanoseconds,
// because one try can follow another at once.
func (v v1) Header(h http.Header, of *delivery.Request) {
	h.Set("Authorization", "Bearer "+v.who.Key())
	h.Set("PostHog-Sdk-Info", v.who.SDK)
	h.Set("PostHog-Attempt", strconv.Itoa(of.Try))
	h.Set("PostHog-Request-Id", of.ID.String())
	h.Set("PostHog-Request-Timestamp", v.who.Now().UTC().Format("2006-01-02T15:04:05.000000000Z"))
}

// success reads the fate of each event.
func (v1) success(r answer, of *delivery.Request) (a delivery.Answer, stop Reason) {
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
		return a, NotService
	}
	a.Verdict, a.Fates = delivery.Each, fates
	a.Err = errors.New("the service has stored none of the events of a request, and asks for them again")
	return a, ""
}

// refusal returns the reason to stop the import if the request as a whole is wrong.
func (v1) refusal(r answer) Reason {
	if parseV1Error(r.Body).isAboutRequest() {
		return Refused
	}
	return ""
}
