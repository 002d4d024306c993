package coverage

import "time"

// Outcome is the status of a run, as far as the state of an interval depends on it.
type Outcome uint8

// Outcomes.
const (
	Unclear Outcome = iota // a status that this package does not know
	Open
	Completed
	RecordsFailed // completed, without some of its records
	Failed
	FailedBilling
	Cancelled
)

// OutcomeOf returns the outcome of a run by its status, and by the number of its records that failed.
func OutcomeOf[T ~string](status T, failed *int64) Outcome {
	outcome := Outcomes[string(status)]
	if outcome == Completed && failed != nil && *failed > 0 {
		return RecordsFailed
	}
	return outcome
}

// Outcomes are the outcomes of the statuses that this package knows.
var Outcomes = map[string]Outcome{
	"Starting": Open, "Running": Open, "ContinuedAsNew": Open,
	"Completed": Completed, "FailedBilling": FailedBilling, "Cancelled": Cancelled,
	"Failed": Failed, "FailedRetryable": Failed, "Terminated": Failed, "TimedOut": Failed,
}

// PauseAfter is the number of failed runs, among the newest of PauseWindow, after which the service pauses
// an export.
const PauseAfter = 3

// PauseWindow returns how many of the newest runs the service looks at before it pauses an export.
func PauseWindow(interval string) int {
	step, _ := Step(interval)
	switch {
	case step >= 7*day:
		return 4
	case step >= day:
		return 7
	case step >= time.Hour || step <= 0:
		return 24
	}
	return int(time.Hour / step)
}

// IsOpen reports whether a run goes on, as far as its status is known.
func IsOpen[T ~string](status T) bool { return OutcomeOf(status, nil) == Open }

// IsFinal reports whether the status of a run stays. A run that was cancelled ends when its workflow does, which sets the
// time of its end, and perhaps another status.
func IsFinal[T ~string](status T, ended *time.Time) bool {
	outcome := OutcomeOf(status, nil)
	return outcome != Open && (outcome != Cancelled || ended != nil)
}
