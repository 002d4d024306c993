package ingest

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/mask"
)

var errAnswerCut = errors.New("the end of the answer is missing")

// longestRefusal is the most bytes of a 400 or 413 of the service, which is a short text.
const longestRefusal = 4 << 10

// Judge is the whole policy for answers to a request with events. With the verdict [delivery.Stop], it
// returns the reason too. answered says whether the host has answered before: until then, a failure that no
// repetition can fix stops at once.
func Judge(r httptry.Answer, how Protocol, of *delivery.Request, answered bool) (delivery.Answer, Reason) {
	a := delivery.Answer{Status: r.Status, Err: r.Err, Unsent: r.Err != nil && r.Unsent, Stale: r.Err != nil && r.Stale}
	stop := func(reason Reason) (delivery.Answer, Reason) {
		a.Verdict = delivery.Stop
		return a, reason
	}
	if r.Err != nil {
		reason := Unreachable(r.Err)
		switch {
		case errors.Is(r.Err, httptry.ErrForeignOrigin), errors.Is(r.Err, httptry.ErrTooBig):
			return stop(NotService)
		case reason != "" && !answered:
			return stop(reason)
		}
		return a, "" // waits
	}
	if httptry.IsSuccess(r.Status) {
		said, reason := how.success(r, of)
		a.Verdict, a.Fates, a.Err = said.Verdict, said.Fates, said.Err
		if reason != "" {
			a.Err = cmp.Or(a.Err, Words(r))
			return stop(reason)
		}
		return a, ""
	}
	a.Err = Words(r)
	switch {
	case r.Status >= 300 && r.Status < 400:
		return stop(Redirect)
	case r.Status == http.StatusBadRequest, r.Status == http.StatusRequestEntityTooLarge:
		if isForeign(r) {
			if r.Status == http.StatusRequestEntityTooLarge {
				a.Err = fmt.Errorf("%w; if a proxy takes smaller requests only, set DeliveryOptions.MaxBatchBytes", a.Err)
			}
			return stop(NotService)
		}
		if reason := how.refusal(r); reason != "" {
			return stop(reason)
		}
		a.Verdict, a.TooLarge = delivery.Split, r.Status == http.StatusRequestEntityTooLarge
		return a, ""
	case r.Status == http.StatusTooManyRequests && parseV1Error(r.Body).isQuota():
		return stop(Quota)
	case httptry.IsTransientStatus(r.Status), r.Status >= 500 && r.Status != http.StatusNotImplemented:
		return a, "" // waits
	}
	switch r.Status {
	case http.StatusUnauthorized:
		return stop(Unauthorized)
	case http.StatusPaymentRequired:
		return stop(Quota)
	case http.StatusForbidden:
		return stop(Forbidden)
	case http.StatusNotFound:
		if how.Name() == NameV1 {
			a.Err = fmt.Errorf("%w: there is no capture v1 at this URL. An import that began with it does not change to /batch/: "+
				"where the server has changed for good, use a new checkpoint; events keep their uuids", a.Err)
		}
		return stop(NotFound)
	}
	return stop(Refused)
}

// isForeign reports a refusal that the service cannot have written.
func isForeign(r httptry.Answer) bool {
	return len(r.Body) > longestRefusal || httptry.IsPage(r.Header.Get("Content-Type"), bytes.TrimSpace(r.Body))
}

// Unreachable returns the reason for an error that shows a wrong URL or a wrong set-up, or "".
func Unreachable(err error) Reason {
	var (
		badRecord tls.RecordHeaderError
		alert     tls.AlertError
		lostName  *net.DNSError
	)
	switch {
	case err == nil, errors.As(err, &lostName):
		return ""
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &badRecord):
		return WrongScheme
	case httptry.IsPermanent(err):
		return Certificate
	case errors.As(err, &alert), strings.Contains(err.Error(), "tls: "):
		return TLS
	}
	return ""
}

// Words returns an answer as an error: the status, and the beginning of its text without keys. Of JSON it
// shows only the service's own explanation, because the rest may repeat the events.
func Words(r httptry.Answer) error {
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
	if text[0] == '{' || text[0] == '[' {
		return fmt.Errorf("the server answered %d with %d bytes of JSON", r.Status, len(body))
	}
	said := mask.Keys(text)
	return fmt.Errorf("the server answered %d: %s", r.Status, mask.Clean(said[:min(len(said), most)]))
}
