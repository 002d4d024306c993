package engine

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/mask"
)

var errAnswerCut = errors.New("the end of the answer is missing")

// maxRefusal is the most bytes of a refusal of the service, which is a short text.
const maxRefusal = 4 << 10

// judge interprets an answer to a request with events. With the verdict [delivery.Stop], it returns the reason too.
// Before the answer, the host may have answered already, or have even accepted events.
func judge(r httptry.Try, how Endpoint, of *delivery.Request, answered, isGood bool) (delivery.Answer, event.StopReason) {
	verdict, reason := answer{Try: r, how: how, answered: answered, isGood: isGood, failure: unreachable(r.Err)}.meaning()
	a := delivery.Answer{Verdict: verdict, Status: r.Status, Err: r.Err, Unsent: r.Err != nil && r.Unsent, Stale: r.Err != nil && r.Stale}
	a.TooLarge, a.Suspect = r.Status == http.StatusRequestEntityTooLarge, r.Status == http.StatusInternalServerError
	switch {
	case verdict == delivery.Settled:
		var said delivery.Answer
		said, reason = how.success(r, of)
		a.Verdict, a.Fates, a.Err = said.Verdict, said.Fates, said.Err
		if reason != "" {
			a.Verdict, a.Err = delivery.Stop, cmp.Or(a.Err, words(r))
		}
	case r.Err == nil:
		a.Err = words(r)
		if r.Status == http.StatusNotFound && how.Name() == event.ProtocolV1 {
			a.Err = fmt.Errorf("%w: there is no capture v1 at this URL. An import that began with it does not change to /batch/: "+
				"where the server has changed for good, use a new checkpoint; events keep their uuids", a.Err)
		}
	}
	if reason == event.StopNotService && isGood && !errors.Is(r.Err, httptry.ErrForeignOrigin) {
		a.Verdict, reason = delivery.Wait, "" // the host was the service's before: this is an outage
	}
	return a, reason
}

// answer is an answer to be judged.
type answer struct {
	httptry.Try

	how              Endpoint
	answered, isGood bool
	failure          event.StopReason // why no repetition can fix a failure; empty: one can
}

// meaning is the whole policy: the verdict for an answer, and the reason for a stop. An answer that the service cannot
// have written, which has the reason event.StopNotService, stops the sending only as long as the host has accepted
// nothing. Before the first answer, a failure that no repetition can fix stops it.
func (x answer) meaning() (delivery.Verdict, event.StopReason) {
	switch status := x.Status; {
	case errors.Is(x.Err, httptry.ErrForeignOrigin), errors.Is(x.Err, httptry.ErrTooBig):
		return delivery.Stop, event.StopNotService
	case x.failure != "" && !x.answered:
		return delivery.Stop, x.failure
	case x.Err != nil:
		return delivery.Wait, ""
	case httptry.IsSuccess(status):
		return delivery.Settled, "" // or as the body says
	case status == http.StatusRequestEntityTooLarge:
		return delivery.Split, ""
	case x.isGood && x.isForeign():
		return delivery.Stop, event.StopNotService
	case status < http.StatusBadRequest:
		return delivery.Stop, event.StopRedirect
	case status == http.StatusBadRequest && x.isForeign():
		return delivery.Stop, event.StopNotService
	case status == http.StatusBadRequest && x.how.isAboutRequest(x.Try):
		return delivery.Stop, event.StopRefused
	case status == http.StatusBadRequest:
		return delivery.Split, ""
	case status == http.StatusTooManyRequests && parseV1Error(x.Body).isQuota():
		return delivery.Stop, event.StopQuota
	case status == http.StatusNotImplemented:
		return delivery.Stop, event.StopRefused
	case status >= 500 || httptry.IsTransientStatus(status):
		return delivery.Wait, ""
	case status == http.StatusUnauthorized:
		return delivery.Stop, event.StopUnauthorized
	case status == http.StatusPaymentRequired:
		return delivery.Stop, event.StopQuota
	case status == http.StatusForbidden:
		return delivery.Stop, event.StopForbidden
	case status == http.StatusNotFound:
		return delivery.Stop, event.StopNotFound
	}
	return delivery.Stop, event.StopRefused
}

// isForeign reports a refusal that the service cannot have written.
func (x answer) isForeign() bool {
	return len(x.Body) > maxRefusal || httptry.IsPage(x.Header.Get("Content-Type"), bytes.TrimSpace(x.Body))
}

// unreachable returns the reason for an error that shows a wrong URL or a wrong set-up, or "".
func unreachable(err error) event.StopReason {
	var (
		badRecord tls.RecordHeaderError
		alert     tls.AlertError
		lostName  *net.DNSError
	)
	switch {
	case err == nil, errors.As(err, &lostName):
		return ""
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &badRecord):
		return event.StopWrongScheme
	case httptry.IsPermanent(err):
		return event.StopCertificate
	case errors.As(err, &alert), strings.Contains(err.Error(), "tls: "):
		return event.StopTLS
	}
	return ""
}

// words returns an answer as an error: the status, and the beginning of its text without keys. Of JSON it
// shows only the service's own explanation, because the rest may repeat the events.
func words(r httptry.Try) error {
	const most = 200
	body, contentType := bytes.TrimSpace(r.Body), r.Header.Get("Content-Type")
	text := string(body)
	switch explained, tagged := httptry.ParseErrorBody(contentType, body), parseV1Error(body); {
	case text == "":
		return fmt.Errorf("the server answered %d without a text", r.Status)
	case httptry.IsPage(contentType, body):
		return fmt.Errorf("the server answered %d with a page of HTML", r.Status)
	case tagged.Tag != "":
		text = strings.TrimSuffix(tagged.Tag+": "+tagged.Description, ": ")
	case explained.Detail != "":
		text = explained.Detail
	}
	if text[0] == '{' || text[0] == '[' && !strings.HasPrefix(text, mask.Redacted) {
		return fmt.Errorf("the server answered %d with %d bytes of JSON", r.Status, len(body))
	}
	said := mask.Keys(text)
	return fmt.Errorf("the server answered %d: %s", r.Status, mask.Clean(said[:min(len(said), most)]))
}
