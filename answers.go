package hogapi

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/jsonb"
	"github.com/hogapi/hogapi/internal/wire"
)

// longestRefusal is the most bytes of a 400 or 413 of the service, which is a short text.
const longestRefusal = 4 << 10

// judge is the whole policy for capture answers; it does no I/O. answered says whether the host has
// answered before: until then, what no repetition can fix stops at once.
func (r captureReply) judge(answered bool) delivery.Answer {
	a := delivery.Answer{Status: r.status, Err: r.err, Unsent: r.err != nil && r.unsent, Stale: r.err != nil && r.stale}
	stop := func(reason StopReason) delivery.Answer {
		a.Verdict = delivery.Stop
		a.Stop = &StopError{Reason: reason, Status: r.status, Err: a.Err}
		return a
	}
	if r.err != nil {
		reason := unreachable(r.err)
		switch {
		case errors.Is(r.err, errForeignOrigin), errors.Is(r.err, errAnswerTooBig):
			return stop(StopNotService)
		case reason != "" && !answered:
			return stop(reason)
		}
		return a // waits
	}
	if isSuccess(r.status) {
		var reason StopReason
		if a.Verdict, reason = judgeSuccess(r.body); a.Verdict == delivery.Stop {
			a.Err = r.words()
			return stop(reason)
		}
		return a
	}
	a.Err = r.words()
	switch {
	case r.status >= 300 && r.status < 400:
		return stop(StopRedirect)
	case r.status == http.StatusBadRequest, r.status == http.StatusRequestEntityTooLarge:
		if r.isForeign() {
			if r.status == http.StatusRequestEntityTooLarge {
				a.Err = fmt.Errorf("%w; if a proxy takes smaller requests only, set DeliveryOptions.MaxBatchBytes", a.Err)
			}
			return stop(StopNotService)
		}
		a.Verdict, a.TooLarge = delivery.Split, r.status == http.StatusRequestEntityTooLarge
		return a
	case isTransientStatus(r.status), r.status >= 500 && r.status != http.StatusNotImplemented:
		return a // waits
	}
	switch r.status {
	case http.StatusUnauthorized:
		return stop(StopUnauthorized)
	case http.StatusPaymentRequired:
		return stop(StopQuota)
	case http.StatusForbidden:
		return stop(StopForbidden)
	case http.StatusNotFound:
		return stop(StopNotFound)
	}
	return stop(StopRefused)
}

// isForeign reports a refusal that the service cannot have written.
func (r captureReply) isForeign() bool {
	return len(r.body) > longestRefusal || isPage(r.header.Get("Content-Type"), bytes.TrimSpace(r.body))
}

// unreachable is the reason for an error that shows a wrong URL or a wrong set-up, or "".
func unreachable(err error) StopReason {
	var (
		badRecord tls.RecordHeaderError
		alert     tls.AlertError
		lostName  *net.DNSError
	)
	switch {
	case err == nil, errors.As(err, &lostName):
		return ""
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &badRecord):
		return StopWrongScheme
	case isPermanent(err):
		return StopCertificate
	case errors.As(err, &alert), strings.Contains(err.Error(), "tls: "):
		return StopTLS
	}
	return ""
}

// judgeSuccess accepts only the service's own words: "Ok" of current servers, 1 of old ones. A key
// that is there twice is neither: of two answers in one nobody knows which one counts.
func judgeSuccess(body []byte) (delivery.Verdict, StopReason) {
	if cutJSON(body) {
		return delivery.Wait, "" // its end is lost: the same events may be sent again
	}
	var word, quota string
	err := jsonb.Object(body, func(key, value []byte) {
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
		return delivery.Stop, StopNotService
	case len(limited) > 0:
		return delivery.Stop, StopQuota
	case word == `"ok"`, word == "1":
		return delivery.Settled, ""
	}
	return delivery.Stop, StopNotService
}

// words is an answer as an error: the status, and the beginning of its text without keys. Of JSON only
// the service's own explanation is shown: the rest may repeat the events.
func (r captureReply) words() error {
	const most = 200
	text, contentType := bytes.TrimSpace(r.body), r.header.Get("Content-Type")
	switch said := parseErrorBody(contentType, text); {
	case len(text) == 0:
		return fmt.Errorf("the server answered %d without a text", r.status)
	case isPage(contentType, text):
		return fmt.Errorf("the server answered %d with a page of HTML", r.status)
	case said.Detail != "":
		text = []byte(said.Detail)
	case text[0] == '{' || text[0] == '[':
		return fmt.Errorf("the server answered %d with %d bytes of JSON", r.status, len(text))
	}
	said := wire.HideKeys(string(text))
	return fmt.Errorf("the server answered %d: %s", r.status, clean(said[:min(len(said), most)]))
}
