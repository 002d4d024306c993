package hogtemporal

import (
	"fmt"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
)

// Stage is the stage of an import.
type Stage string

// The stages, in their order.
const (
	StageCheck  Stage = "check"
	StageSend   Stage = "send"
	StageVerify Stage = "verify"
	StageDone   Stage = "done"
)

// State says whether an import makes progress.
type State string

// The states.
const (
	StateRunning  State = "running"
	StatePaused   State = "paused"
	StateStopped  State = "stopped" // it needs a person: see Problem
	StateCanceled State = "canceled"
	StateComplete State = "complete" // all stages are done; see Arrival
	// StateEnded is the state of a workflow that somebody has ended from outside, for example terminated.
	StateEnded State = "ended"
)

// Status is the progress of an import.
type Status struct {
	ID     string    `json:"id"`
	Stage  Stage     `json:"stage"`
	State  State     `json:"state"`
	Since  time.Time `json:"since"` // of this stage and state
	Shard  int       `json:"shard"` // the present shard, from 0
	Shards int       `json:"shards"`
	Rate   int       `json:"rate"`
	Events int64     `json:"events"` // good events, counted by the check

	Read         int64 `json:"read"` // including the present shard
	Acknowledged int64 `json:"acknowledged"`
	Rejected     int64 `json:"rejected"`
	Resent       int64 `json:"resent"` // of the shards that are done

	Problem *Problem `json:"problem,omitempty"` // why it is stopped, or why the last try failed
	Arrival *Arrival `json:"arrival,omitempty"`

	// Beat is the last heartbeat of the worker that works for the import at present; nil if there is no such
	// worker.
	Beat    *Beat     `json:"beat,omitempty"`
	NextTry time.Time `json:"next_try,omitzero"` // after a failed one
}

// String returns the status as a short text.
func (s Status) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "import %q: %s", s.ID, s.State)
	if s.State != StateComplete {
		fmt.Fprintf(&b, ", %s", s.Stage)
		if s.Stage == StageCheck || s.Stage == StageSend {
			fmt.Fprintf(&b, ", shard %d of %d", min(s.Shard+1, s.Shards), s.Shards)
		}
	}
	fmt.Fprintf(&b, "\nread %d", s.Read)
	if s.Events > 0 {
		fmt.Fprintf(&b, " of %d", s.Events)
	}
	fmt.Fprintf(&b, ", acknowledged %d, rejected %d, resent %d", s.Acknowledged, s.Rejected, s.Resent)
	if s.Rate > 0 {
		fmt.Fprintf(&b, "; at most %d events a second", s.Rate)
	}
	if s.Beat != nil {
		fmt.Fprintf(&b, "\nworker %s, heard of at %s", s.Beat.Worker, s.Beat.At.UTC().Format(time.RFC3339))
		if s.Beat.Failing != "" {
			fmt.Fprintf(&b, "; nothing gets through: %s", s.Beat.Failing)
		}
	}
	if s.Problem != nil {
		fmt.Fprintf(&b, "\nproblem: %s: %s\nnext: %s", s.Problem.Type, s.Problem.Message, strings.ReplaceAll(s.Problem.Next, "ID", s.ID))
	}
	if !s.NextTry.IsZero() {
		fmt.Fprintf(&b, "\nnext try at %s", s.NextTry.UTC().Format(time.RFC3339))
	}
	if a := s.Arrival; a != nil {
		fmt.Fprintf(&b, "\nin the project: %s, %d seen", a.State, a.Seen)
	}
	return b.String()
}

// Rejects are the counts of rejected events, and the place of their files.
type Rejects struct {
	ByReason map[hogapi.Reason]int64 `json:"by_reason"`
	Count    int64                   `json:"count"`
	Where    string                  `json:"where"` // below the folder of the workers' store
}
