package hogtemporal

import (
	"errors"
	"io/fs"
	"strings"

	"go.temporal.io/sdk/temporal"

	"github.com/hogapi/hogapi"
)

// Problem is the reason why an import has stopped, or why a try failed.
type Problem struct {
	// Type is a [hogapi.StopReason], or one of "input", "in_use", "shard_missing", "shard_changed",
	// "lease_ended", "worker_ended", "no_key", "verify" and "timeout".
	Type    string `json:"type"`
	Message string `json:"message"`
	Next    string `json:"next"` // the remedy
}

// Final reports whether the import waits for [Resume]. If not, it retries by itself.
func (p Problem) Final() bool { return finals[p.Type] }

func (p Problem) String() string { return p.Type + ": " + p.Message + "; next: " + p.Next }

// finals are the types of problems that need a person. All others can pass, or another worker may succeed.
var finals = map[string]bool{
	string(hogapi.StopUnauthorized): true, string(hogapi.StopWrongKey): true, string(hogapi.StopForbidden): true,
	string(hogapi.StopQuota): true, string(hogapi.StopNotFound): true, string(hogapi.StopRedirect): true,
	string(hogapi.StopRefused): true, string(hogapi.StopNotService): true, string(hogapi.StopCertificate): true,
	string(hogapi.StopWrongScheme): true, string(hogapi.StopTLS): true, string(hogapi.StopTooManyRejects): true,
	string(hogapi.StopRejected): true, string(hogapi.StopInternal): true,
	typeInput: true, typeMissing: true, typeChanged: true, typeNoKey: true, typeVerify: true,
}

const (
	typeInput   = "input"
	typeInUse   = "in_use"
	typeMissing = "shard_missing"
	typeChanged = "shard_changed"
	typeLease   = "lease_ended"
	typeWorker  = "worker_ended"
	typeNoKey   = "no_key"
	typeVerify  = "verify"
	typeTimeout = "timeout"
)

const (
	nextResume = "fix the cause, then resume: hogworker resume ID"
	nextWait   = "nothing: it is tried again by itself; if it lasts, fix the cause"
)

var nexts = map[string]string{
	string(hogapi.StopHandler):        "make room, or fix the store's folder: it is tried again by itself",
	string(hogapi.StopCheckpoint):     "make room, or fix the store's folder: it is tried again by itself",
	string(hogapi.StopSource):         "see that every worker can read the shard: it is tried again by itself",
	string(hogapi.StopTooManyRejects): "look at the rejects in the store's folder; cancel, and start with a corrected format or a higher MaxRejectShare",
	string(hogapi.StopRejected):       "give the workers a store (hogworker worker --store FOLDER), which keeps rejects, then resume: hogworker resume ID",
	string(hogapi.StopWrongKey):       "give all workers the right POSTHOG_PROJECT_API_KEY and restart them, then resume: hogworker resume ID",
	string(hogapi.StopUnauthorized):   "give all workers the right POSTHOG_PROJECT_API_KEY and restart them, then resume: hogworker resume ID",
	typeMissing:                       "put the shard where all workers find it, then resume: hogworker resume ID",
	typeChanged:                       "put the shard back as it was when it was checked, then resume: hogworker resume ID; other data is another import",
	typeNoKey:                         "give all workers POSTHOG_PERSONAL_API_KEY and POSTHOG_PROJECT_ID, then resume: hogworker resume ID; or start with NoVerify",
}

// errNoKey is the error of a worker without a personal API key, which the comparison with the project needs.
var (
	errNoKey   = errors.New("comparing with the project needs a personal API key")
	errChanged = errors.New("the shard is not the one that was checked")
)

// problem returns the problem that an error of a check, an import or a verification causes.
func problem(err error) Problem {
	kind := kindOf(err)
	p := Problem{Type: kind, Message: scrub(err.Error()), Next: nexts[kind]}
	if p.Next == "" {
		p.Next = nextWait
		if p.Final() {
			p.Next = nextResume
		}
	}
	return p
}

func kindOf(err error) string {
	_, isInput := errors.AsType[*hogapi.InputError](err)
	stop, isStop := errors.AsType[*hogapi.StopError](err)
	switch {
	case errors.Is(err, errLease), errors.Is(err, errGone):
		return typeLease
	case errors.Is(err, errStopping), errors.Is(err, errCanceled):
		return typeWorker
	case errors.Is(err, errChanged):
		return typeChanged
	case errors.Is(err, errNoKey):
		return typeNoKey
	case errors.Is(err, hogapi.ErrHeld):
		return typeInUse
	case isStop && stop.Reason == hogapi.StopSource && errors.Is(err, fs.ErrNotExist), !isStop && errors.Is(err, fs.ErrNotExist):
		return typeMissing
	case isStop:
		return string(stop.Reason)
	case isInput:
		return typeInput
	case errors.Is(err, hogapi.ErrUnauthorized):
		return string(hogapi.StopUnauthorized)
	case errors.Is(err, hogapi.ErrForbidden):
		return string(hogapi.StopForbidden)
	}
	return "failed"
}

// failure returns the problem as an error that Temporal stores. Its details are a [Beat], for the state of the shard.
// No cause is attached, because only the message is searched for keys.
func (p Problem) failure(last Beat) error {
	return temporal.NewApplicationErrorWithOptions(p.Message+"; next: "+p.Next, p.Type,
		temporal.ApplicationErrorOptions{NonRetryable: p.Final(), Details: []any{last}})
}

// problemOf reads an error made by failure, or an error that Temporal made for an activity.
func problemOf(err error) (p Problem, last Beat) {
	var app *temporal.ApplicationError
	var timeout *temporal.TimeoutError
	var canceled *temporal.CanceledError
	switch {
	case errors.As(err, &app):
		p = Problem{Type: app.Type()}
		p.Message, p.Next, _ = strings.Cut(app.Message(), "; next: ")
		_ = app.Details(&last) // an older release may have written something else
	case errors.As(err, &timeout):
		p = Problem{Type: typeTimeout, Message: "a worker has gone silent", Next: nextWait}
		if timeout.HasLastHeartbeatDetails() {
			_ = timeout.LastHeartbeatDetails(&last)
		}
	case errors.As(err, &canceled):
		p = Problem{Type: string(hogapi.StopCanceled), Message: "stopped on request", Next: nextResume}
		if canceled.HasDetails() {
			_ = canceled.Details(&last)
		}
	default:
		p = Problem{Type: "failed", Message: scrub(err.Error()), Next: nextResume}
	}
	return p, last
}

// scrub replaces every text that looks like a key. The core has removed the keys that it knows.
func scrub(text string) string { return keyLike.ReplaceAllString(text, "[key]") }
