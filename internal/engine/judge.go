package engine

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/mask"
)

var errAnswerCut = errors.New("the end of the answer is missing")

// maxRefusal is the most bytes of a refusal of the service, which is a short text.
const maxRefusal = 4 << 10

// Host is what is known of the host before an answer.
type Host struct {
	Answered bool // it has answered
	IsGood   bool // it has accepted events
}

// Judge says by the rules what an answer to a request with events means. With the verdict [delivery.Stop], it returns
// the reason too.
func Judge(r httptry.Try, how Protocol, of *delivery.Request, host Host) (delivery.Answer, event.StopReason) {
	x := answer{Try: r, how: how, host: host, failure: Unreachable(r.Err)}
	a := delivery.Answer{Status: r.Status, Err: r.Err, Unsent: r.Err != nil && r.Unsent, Stale: r.Err != nil && r.Stale}
	rule := rules[slices.IndexFunc(rules, func(row rule) bool { return row.fits(x) })]
	a.Verdict, a.TooLarge, a.Suspect = rule.verdict, r.Status == http.StatusRequestEntityTooLarge, r.Status == http.StatusInternalServerError
	reason := rule.reason
	switch {
	case rule.verdict == delivery.Settled:
		var said delivery.Answer
		said, reason = how.success(r, of)
		a.Verdict, a.Fates, a.Err = said.Verdict, said.Fates, said.Err
		if reason != "" {
			a.Verdict, a.Err = delivery.Stop, cmp.Or(a.Err, Words(r))
		}
	case r.Err == nil:
		a.Err = Words(r)
		if r.Status == http.StatusNotFound && how.Name() == NameV1 {
			a.Err = fmt.Errorf("%w: there is no capture v1 at this URL. An import that began with it does not change to /batch/: "+
				"where the server has changed for good, use a new checkpoint; events keep their uuids", a.Err)
		}
	}
	if reason == failed {
		reason = x.failure
	}
	if reason == event.StopNotService && host.IsGood && !errors.Is(r.Err, httptry.ErrForeignOrigin) {
		a.Verdict, reason = delivery.Wait, "" // the host was the service's before: this is an outage
	}
	return a, reason
}

// rule is what an answer means, and what is done with the batch.
type rule struct {
	fits    func(x answer) bool
	verdict delivery.Verdict
	reason  event.StopReason // of a stop
}

// answer is an answer to be judged.
type answer struct {
	httptry.Try

	how     Protocol
	host    Host
	failure event.StopReason // why no repetition can fix a failure; empty: one can
}

// failed stands for the reason of a failure.
const failed event.StopReason = "failed"

// rules are the whole policy. The first that fits decides. An answer that the service cannot have written, which has the
// reason event.StopNotService, stops the sending only as long as the host has accepted nothing. Before the first answer, a failure
// that no repetition can fix stops it.
var rules = []rule{
	{func(x answer) bool { return errors.Is(x.Err, httptry.ErrForeignOrigin) }, delivery.Stop, event.StopNotService},
	{func(x answer) bool { return errors.Is(x.Err, httptry.ErrTooBig) }, delivery.Stop, event.StopNotService},
	{func(x answer) bool { return x.failure != "" && !x.host.Answered }, delivery.Stop, failed},
	{func(x answer) bool { return x.Err != nil }, delivery.Wait, ""},
	{func(x answer) bool { return httptry.IsSuccess(x.Status) }, delivery.Settled, ""}, // or as the body says
	{is(http.StatusRequestEntityTooLarge), delivery.Split, ""},
	{func(x answer) bool { return x.host.IsGood && x.isForeign() }, delivery.Stop, event.StopNotService},
	{func(x answer) bool { return x.Status < http.StatusBadRequest }, delivery.Stop, event.StopRedirect},
	{func(x answer) bool { return x.Status == http.StatusBadRequest && x.isForeign() }, delivery.Stop, event.StopNotService},
	{func(x answer) bool { return x.Status == http.StatusBadRequest && x.how.isAboutRequest(x.Try) }, delivery.Stop, event.StopRefused},
	{is(http.StatusBadRequest), delivery.Split, ""},
	{func(x answer) bool { return x.Status == http.StatusTooManyRequests && parseV1Error(x.Body).isQuota() }, delivery.Stop, event.StopQuota},
	{is(http.StatusNotImplemented), delivery.Stop, event.StopRefused},
	{func(x answer) bool { return x.Status >= 500 || httptry.IsTransientStatus(x.Status) }, delivery.Wait, ""},
	{is(http.StatusUnauthorized), delivery.Stop, event.StopUnauthorized},
	{is(http.StatusPaymentRequired), delivery.Stop, event.StopQuota},
	{is(http.StatusForbidden), delivery.Stop, event.StopForbidden},
	{is(http.StatusNotFound), delivery.Stop, event.StopNotFound},
	{func(answer) bool { return true }, delivery.Stop, event.StopRefused},
}

func is(status int) func(answer) bool { return func(x answer) bool { return x.Status == status } }

// isForeign reports a refusal that the service cannot have written.
func (x answer) isForeign() bool {
	return len(x.Body) > maxRefusal || httptry.IsPage(x.Header.Get("Content-Type"), bytes.TrimSpace(x.Body))
}

// Unreachable returns the reason for an error that shows a wrong URL or a wrong set-up, or "".
func Unreachable(err error) event.StopReason {
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

// Words returns an answer as an error: the status, and the beginning of its text without keys. Of JSON it
// shows only the service's own explanation, because the rest may repeat the events.
func Words(r httptry.Try) error {
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
