package hogapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// StopReason says why an import stopped. Each leaves a state from which it can be resumed once the cause is gone.
type StopReason string

// Reasons of a stop.
const (
	StopUnauthorized StopReason = "unauthorized"      // 401: the project key
	StopQuota        StopReason = "quota"             // 402, or an answer that lists a quota
	StopForbidden    StopReason = "forbidden"         // 403
	StopNotFound     StopReason = "not_found"         // 404: the capture URL
	StopRedirect     StopReason = "redirect"          // 3xx: the capture URL
	StopRefused      StopReason = "refused"           // another 4xx, 501, or a failed certificate
	StopNotService   StopReason = "not_the_service"   // a success that the service does not send
	StopNoProgress   StopReason = "no_progress"       // failures lasted longer than the limit
	StopRejected     StopReason = "rejected_event"    // an event was rejected and there is no handler
	StopHandler      StopReason = "handler_failed"    // the reject handler failed, or a function of the caller ended its goroutine
	StopCheckpoint   StopReason = "checkpoint_failed" // the checkpoint could not be saved
	StopSource       StopReason = "source_failed"     // the source ended with an error
	StopWrongKey     StopReason = "wrong_key"         // the preflight: no project has this key
	StopCanceled     StopReason = "canceled"          // the context ended
	StopInternal     StopReason = "internal"          // a fault of this package
)

// StopError is why an import, or a Capture, has stopped. What was not acknowledged can be sent again.
type StopError struct {
	Reason     StopReason
	Status     int           // of the answer, where one was the reason
	RetryAfter time.Duration // where the service asked for a longer wait than the limit allows
	Err        error         // may be nil
}

// Error says why and what to do.
func (e *StopError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "hogapi: stopped: %s", e.Reason)
	if e.Status != 0 {
		fmt.Fprintf(&b, " (status %d)", e.Status)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if hint := stopHints[e.Reason]; hint != "" {
		b.WriteString("; " + hint)
	}
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, "; the service asks to wait %v", e.RetryAfter)
	}
	return b.String()
}

var stopHints = map[StopReason]string{
	StopUnauthorized: "check the project API key (phc_…) and run again",
	StopWrongKey:     "no project has this key: copy the project API key (phc_…) of the right project and region",
	StopQuota:        "the plan's limit is reached, and the events of the last answers may have been dropped: compare (Receipt.HogQL), and run again when it is raised",
	StopForbidden:    "check the project API key (phc_…), the region and what stands between here and the service",
	StopNotFound:     "check the region or the capture URL",
	StopRedirect:     "check the capture URL: keys are not sent elsewhere",
	StopRefused:      "check the region or the capture URL, and what stands between here and the service",
	StopNotService:   "something between here and the service answered: check the capture URL and proxies",
	StopNoProgress:   "run again when the service answers",
	StopRejected:     "set a reject handler to go on past such events, or mend the event",
	StopHandler:      "mend the handler's cause, such as a full disk or a reject file that was edited, and run again",
	StopCheckpoint:   "mend the cause, such as a full disk, and run again",
	StopSource:       "mend the source and run again",
	StopCanceled:     "run again: with a checkpoint an import goes on where it stopped",
	StopInternal:     "run again, and report it with this text",
}

// Unwrap returns the cause.
func (e *StopError) Unwrap() error { return e.Err }

// Is matches the sentinels that fit the reason.
func (e *StopError) Is(target error) bool {
	switch target {
	case ErrUnauthorized:
		return e.Reason == StopUnauthorized || e.Reason == StopWrongKey
	case ErrForbidden:
		return e.Reason == StopForbidden
	case ErrNotFound:
		return e.Reason == StopNotFound
	case ErrQuota:
		return e.Reason == StopQuota
	}
	return false
}

// answerVerdict is what an answer means for the events of its request.
type answerVerdict uint8

const (
	answerWait    answerVerdict = iota // may pass: send the same again
	answerSettled                      // taken
	answerSplit                        // something in it is refused
	answerStop                         // every later request would fare the same
)

// answer is the outcome of one request.
type captureAnswer struct {
	verdict    answerVerdict
	reason     StopReason
	status     int
	retryAfter time.Duration
	err        error
	duration   time.Duration
}

// judge is the whole policy for capture answers; it does no I/O.
func judge(status int, body []byte, err error) (answerVerdict, StopReason) {
	switch {
	case err != nil && isPermanent(err) && !isLostName(err):
		return answerStop, StopRefused
	case err != nil:
		return answerWait, ""
	case isSuccess(status):
		return judgeSuccess(status, body)
	case status >= 300 && status < 400:
		return answerStop, StopRedirect
	case status == http.StatusBadRequest, status == http.StatusRequestEntityTooLarge:
		return answerSplit, ""
	case isTransientStatus(status), status >= 500 && status != http.StatusNotImplemented:
		return answerWait, ""
	}
	switch status {
	case http.StatusUnauthorized:
		return answerStop, StopUnauthorized
	case http.StatusPaymentRequired:
		return answerStop, StopQuota
	case http.StatusForbidden:
		return answerStop, StopForbidden
	case http.StatusNotFound:
		return answerStop, StopNotFound
	}
	return answerStop, StopRefused
}

// isLostName reports a name that cannot be resolved: laptops lose their DNS for a while.
func isLostName(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns)
}

// judgeSuccess accepts only the service's own words: "Ok" of current servers, 1 of old ones, nothing with 204. A key that is
// there twice is none of them: of two answers in one nobody knows which counts.
func judgeSuccess(status int, body []byte) (answerVerdict, StopReason) {
	if status == http.StatusNoContent && len(bytes.TrimSpace(body)) == 0 {
		return answerSettled, ""
	}
	if cutJSON(body) {
		return answerWait, "" // its end is lost: the same events may be sent again
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
		return answerStop, StopNotService
	case len(limited) > 0:
		return answerStop, StopQuota
	case word == `"ok"`, word == "1":
		return answerSettled, ""
	}
	return answerStop, StopNotService
}

// cause is the answer as an error: the transport's, or the service's words.
func (a captureAnswer) cause() error {
	if a.err != nil {
		return a.err
	}
	return fmt.Errorf("the service answered %d", a.status)
}

func (a captureAnswer) stopError() error {
	return &StopError{Reason: a.reason, Status: a.status, Err: a.err}
}
