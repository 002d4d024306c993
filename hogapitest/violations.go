package hogapitest

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Violation is a rule that a request of the client broke.
type Violation struct {
	Rule    Rule
	Request uuid.UUID // the request's id; nil on /batch/
	Event   uuid.UUID // nil where the whole request is meant
	Detail  string

	// AfterRestart says that a client may do this in a new run, which knows only the answers that
	// were saved. [Server.Verify] does not fail for it.
	AfterRestart bool
}

// String describes the violation in one line.
func (b Violation) String() string {
	s := string(b.Rule) + ": " + b.Detail
	if b.Request != uuid.Nil {
		s += ", request " + b.Request.String()
	}
	if b.Event != uuid.Nil {
		s += ", event " + b.Event.String()
	}
	return s
}

// Rule is a rule of capture v1 for a client that imports.
type Rule string

// The rules.
const (
	RuleAttempt    Rule = "attempt"              // is raised with each retry
	RuleTimestamp  Rule = "request timestamp"    // is new with each retry
	RuleCreatedAt  Rule = "created_at"           // stays the same over retries
	RuleBatch      Rule = "batch"                // a retry holds events of its first try only
	RuleRequestID  Rule = "request id"           // stays the same over retries
	RuleFinal      Rule = "final answer"         // is not asked for once more; a missing result only once
	RuleHistorical Rule = "historical_migration" // is true in every batch
	RuleSkew       Rule = "skew correction"      // is switched off for every event
	RuleRoot       Rule = "root field"           // is not repeated in the properties
	RuleProtocol   Rule = "protocol"             // is one for all events of an import id
)

const maxBreaches = 1000

// rules judges each request to capture by the earlier ones.
type rules struct {
	chains     map[uuid.UUID]*chain // by request id
	events     map[uuid.UUID]*told  // by event
	jobs       map[string]protocol  // by import id
	violations []Violation
}

// chain is a request with its retries.
type chain struct {
	attempt int
	stamp   string
	created string
	arrived time.Time // on the server's clock
	events  map[uuid.UUID]bool
}

// told is the last answer about an event that a client has.
type told struct {
	request uuid.UUID
	state   toldState
}

type toldState uint8

const (
	toldNothing toldState = iota // the client may do anything next
	toldRetry
	toldFinal
	toldAbsent // from the results, once
)

func (d *rules) add(b Violation) {
	if len(d.violations) < maxBreaches {
		d.violations = append(d.violations, b)
	}
}

// arrived judges a request to v1 that the service can read, before it is answered. In a compact ledger only whole requests are judged.
func (d *rules) arrived(r *v1Request, now time.Time, compact bool) {
	if r.refusal != nil {
		return
	}
	violation := func(rule Rule, format string, args ...any) {
		d.add(Violation{Rule: rule, Request: r.id, Detail: fmt.Sprintf(format, args...)})
	}
	if !r.historical {
		violation(RuleHistorical, "the batch is no import")
	}
	if d.chains == nil {
		d.chains, d.events = map[uuid.UUID]*chain{}, map[uuid.UUID]*told{}
	}
	c := d.chains[r.id]
	first := c == nil
	if first {
		c = &chain{created: r.created, events: map[uuid.UUID]bool{}}
		d.chains[r.id] = c
	} else {
		if r.attempt <= c.attempt {
			violation(RuleAttempt, "%d after %d", r.attempt, c.attempt)
		}
		if r.stamp == c.stamp && now.After(c.arrived) {
			violation(RuleTimestamp, "%s once more", r.stamp)
		}
		if r.created != c.created {
			violation(RuleCreatedAt, "%s after %s", r.created, c.created)
		}
	}
	c.attempt, c.stamp, c.arrived = r.attempt, r.stamp, now
	for i := range r.events {
		d.arrivedEvent(r, c, &r.events[i], first, compact)
	}
}

func (d *rules) arrivedEvent(r *v1Request, c *chain, e *v1Event, first, compact bool) {
	violation := func(rule Rule, restart bool, format string, args ...any) {
		d.add(Violation{Rule: rule, Request: r.id, Event: e.uuid, Detail: fmt.Sprintf(format, args...), AfterRestart: restart})
	}
	if e.shifted {
		violation(RuleSkew, false, "the event's time depends on when it is sent")
	}
	for _, m := range e.doubled {
		violation(RuleRoot, false, "%s is in the properties", m)
	}
	if compact {
		return
	}
	if first {
		c.events[e.uuid] = true
	} else if !c.events[e.uuid] {
		violation(RuleBatch, false, "the event was not in the first try")
	}
	before := d.events[e.uuid]
	switch {
	case before == nil:
	case before.state == toldFinal:
		violation(RuleFinal, true, "the event was answered before")
	case before.state == toldRetry && before.request != r.id:
		violation(RuleRequestID, true, "a retry of request %s", before.request)
	}
}

// answered records the answer that the client has now.
func (d *rules) answered(v *visit, status int, delivered bool) {
	r := v.v1
	if r == nil || r.refusal != nil || v.server.ledger.compact {
		return
	}
	results := map[uuid.UUID]string{}
	for _, one := range v.results {
		results[one.uuid] = one.Result.Result
	}
	complete := delivered && status == 200 && v.fault.bodyBytes == whole && v.results != nil
	for i := range r.events {
		id := r.events[i].uuid
		word, there := results[id]
		before, state := d.events[id], toldNothing
		switch {
		case complete && word == "retry":
			state = toldRetry
		case complete && there:
			state = toldFinal
		case complete && before != nil && before.state == toldAbsent:
			state = toldFinal
		case complete:
			state = toldAbsent
		case !delivered || slices.Contains([]int{408, 500, 502, 503, 504}, status):
			state = toldRetry
		}
		d.events[id] = &told{r.id, state}
	}
}

// stored notes the protocol of an import id.
func (d *rules) stored(v *visit, job string) {
	if job == "" {
		return
	}
	if d.jobs == nil {
		d.jobs = map[string]protocol{}
	}
	before, ok := d.jobs[job]
	if ok && before != v.route.protocol {
		d.add(Violation{Rule: RuleProtocol, Detail: fmt.Sprintf("import %q came on %s and on %s", job, before, v.route.protocol)})
	}
	d.jobs[job] = v.route.protocol
}

// Violations returns the violations of the rules of capture v1 by all requests so far, up to 1000.
// Requests that a script answered count too. Requests to /batch/ count only for [RuleProtocol].
func (s *Server) Violations() []Violation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.rules.violations)
}
