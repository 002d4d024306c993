package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi/internal/watch"
)

// tooLarge is the error of a range that must be requested in pieces.
type tooLarge struct{ why string }

func (t *tooLarge) Error() string { return t.why }

// Limits of the tries of one part.
const (
	brokenTries = 5 // with an answer that is not whole
	brokenLarge = 2 // of a range that can be asked for in pieces

	unreached   = 30 * time.Second // without any answer since the beginning
	outage      = time.Hour        // without an answer, or with errors of the service
	busy        = 3 * time.Hour    // with too many requests; the limits are per hour
	firstWait   = time.Second
	longestWait = time.Minute
	firstBusy   = time.Minute
	longestBusy = 10 * time.Minute
)

type patience struct {
	broken  int
	failing time.Time // since when no answer was of use; zero: the last one was
	busy    time.Time
	tries   int
}

// part downloads a range into one file. It returns a *tooLarge if the range must be divided and can be.
func (r *run) part(ctx context.Context, s span, canCut bool) error {
	var p patience
	for {
		if err := r.turn(ctx); err != nil {
			return err
		}
		r.doing("at " + r.export.text(s.first))
		err := r.try(ctx, s)
		switch {
		case err == nil:
			r.fetched++
			r.steps.Held += s.units()
			r.steps.Events += r.folder.parts[s].Events
			r.doing(r.steps.Doing)
			return nil
		case ctx.Err() != nil:
			return r.stopped(ctx)
		}
		wait, why, err := r.judge(err, s, canCut, &p)
		if err != nil {
			return err
		}
		if err := r.wait(ctx, why, time.Now().Add(wait)); err != nil {
			return err
		}
	}
}

func (r *run) doing(what string) {
	r.steps.Doing = what
	r.show.Show(r.steps)
}

func (r *run) turn(ctx context.Context) error {
	now := time.Now()
	at, by := r.pace.next(now)
	why := ""
	if by.window > time.Second { // shorter waits are not shown
		why = fmt.Sprintf("%s takes %d requests an hour", r.export.vendor, by.requests)
	}
	return r.wait(ctx, why, at)
}

func (r *run) wait(ctx context.Context, why string, until time.Time) error {
	left := time.Until(until)
	if left > 0 && why != "" {
		r.show.Say(fmt.Sprintf("%s  %s: waiting until %s.", time.Now().UTC().Format(time.DateTime), why, until.UTC().Format("15:04:05 UTC")))
		r.doing("waiting")
	}
	if !watch.Sleep(ctx, left) {
		return r.stopped(ctx)
	}
	return nil
}

func (r *run) stopped(ctx context.Context) error {
	return &Problem{Kind: KindStopped, Text: "stopped", Todo: "run the same command again: it downloads the missing parts", Cause: context.Cause(ctx)}
}

// judge decides whether another try follows a failed one. It returns the time and the reason, or the error that
// ends the download.
func (r *run) judge(err error, s span, canCut bool, p *patience) (wait time.Duration, why string, end error) {
	p.tries++
	refused, isRefused := errors.AsType[*refusal](err)
	nobody, isUnreachable := errors.AsType[*unreachable](err)
	switch {
	case isRefused:
		return r.judgeStatus(refused, s, canCut, p)
	case isUnreachable:
		if nobody.late && canCut {
			return 0, "", &tooLarge{"took the service too long"}
		}
		return r.judgeOutage(r.export.vendor+" cannot be reached: "+nobody.Error(), 0, p)
	case !errors.Is(err, errNotWhole):
		return 0, "", err // of the disk
	}
	p.broken++
	p.failing, p.busy = time.Time{}, time.Time{}
	why = strings.TrimPrefix(err.Error(), errNotWhole.Error()+": ")
	switch {
	case canCut && p.broken >= brokenLarge:
		return 0, "", &tooLarge{"did not arrive as a whole (" + why + ")"}
	case p.broken >= brokenTries:
		return 0, "", &Problem{Cause: err, Text: fmt.Sprintf("%s: %s did not arrive as a whole in %d tries; at the last one, %s", r.export.vendor, r.export.spanText(s), p.broken, why),
			Todo: "run the same command again later, and ask the service's support if it stays so"}
	}
	return backoff(firstWait, longestWait, p.tries), fmt.Sprintf("%s: the answer for %s is not whole: %s", r.export.vendor, r.export.spanText(s), why), nil
}

// judgeOutage is judge for a service that does not answer or answers with a server error.
func (r *run) judgeOutage(why string, asked time.Duration, p *patience) (time.Duration, string, error) {
	now := time.Now()
	if p.failing.IsZero() {
		p.failing = now
	}
	p.busy = time.Time{}
	most := outage
	if !r.reached {
		most = unreached
	}
	wait := max(backoff(firstWait, longestWait, p.tries), asked)
	if now.Add(wait).Sub(p.failing) > most {
		text := fmt.Sprintf("%s, for %s", why, max(now.Sub(p.failing), time.Second).Round(time.Second))
		return 0, "", &Problem{Text: text, Todo: "check the network and " + r.export.where + ", and run the same command again"}
	}
	return wait, why, nil
}

func (r *run) judgeStatus(refused *refusal, s span, canCut bool, p *patience) (time.Duration, string, error) {
	e, status := r.export, refused.status
	name := fmt.Sprintf("%d %s", status, http.StatusText(status))
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return 0, "", &Problem{Kind: KindKey, Text: fmt.Sprintf("%s refused the key (%s)", e.vendor, name), Todo: e.keyHint}
	case status == e.tooLargeIs && canCut:
		return 0, "", &tooLarge{"is more than one answer holds (" + name + ")"}
	case status == e.tooLargeIs && e.tooLargeText != "":
		return 0, "", &Problem{Text: e.spanText(s) + ": " + e.tooLargeText, Todo: e.tooLargeTodo}
	case status == http.StatusGatewayTimeout && canCut:
		return 0, "", &tooLarge{"took the service too long (" + name + ")"}
	case status == http.StatusTooManyRequests:
		return r.judgeBusy(refused.wait, p)
	case status == http.StatusRequestTimeout || status >= 500:
		return r.judgeOutage(e.vendor+" answered "+name, refused.wait, p)
	case status/100 == 3:
		return 0, "", optionsProblem(fmt.Sprintf("%s answered with a redirect (%s), which is not followed: the key is for one host only",
			e.vendor, name), "check "+e.where)
	case status == http.StatusPaymentRequired:
		return 0, "", &Problem{Kind: KindKey, Text: fmt.Sprintf("%s does not export the events of this project (%s)", e.vendor, name),
			Todo: "check that the project's plan has the export"}
	}
	return 0, "", &Problem{Text: fmt.Sprintf("%s refused the request for %s (%s)", e.vendor, e.spanText(s), name),
		Todo: "check the dates, the project and " + e.where}
}

func (r *run) judgeBusy(asked time.Duration, p *patience) (time.Duration, string, error) {
	now := time.Now()
	if p.busy.IsZero() {
		p.busy, p.tries = now, 1
	}
	p.failing = time.Time{}
	wait := asked
	if wait == 0 {
		wait = backoff(firstBusy, longestBusy, p.tries)
	}
	wait = max(wait, firstWait)
	why := r.export.vendor + " has had too many requests (429)"
	if wait > busy || now.Add(wait).Sub(p.busy) > busy {
		end := &Problem{Kind: KindStopped, Text: why + ", and still refuses more",
			Todo: "stop other programs that use its limit, and run the same command again later"}
		if wait > busy {
			const most = 366 * 24 * time.Hour
			until := now.Add(min(wait, most)).UTC().Format("2006-01-02 15:04 UTC")
			end.Text, end.Todo = why+", and asks to wait until "+until, "run the same command again then"
		}
		return 0, "", end
	}
	return wait, why, nil
}

// backoff returns the wait after a number of tries, which doubles each time up to a limit.
func backoff(first, longest time.Duration, tries int) time.Duration {
	wait := first
	for range tries - 1 {
		if wait *= 2; wait >= longest {
			return longest
		}
	}
	return wait
}

// span is a range of units, which are days or hours since 1970. It includes both ends, as the services' own
// ranges do.
type span struct{ first, last int }

func (s span) units() int { return s.last - s.first + 1 }

func (s span) overlaps(other span) bool { return s.first <= other.last && other.first <= s.last }

// gaps returns the parts of a span that no other span covers, in order.
func (s span) gaps(others []span) []span {
	sorted := slices.SortedFunc(slices.Values(others), func(a, b span) int { return a.first - b.first })
	var gaps []span
	for _, other := range sorted {
		if !s.overlaps(other) {
			continue
		}
		if s.first < other.first {
			gaps = append(gaps, span{s.first, other.first - 1})
		}
		s.first = other.last + 1
		if s.first > s.last {
			return gaps
		}
	}
	return append(gaps, s)
}

// chunk returns the beginning of a span for one request: at most step units. It ends at a multiple of step
// units since 1970, so that days are always divided in the same way.
func (s span) chunk(step int) span {
	end := (s.first/step+1)*step - 1
	return span{s.first, min(end, s.last)}
}

// limit is the number of requests that a service takes in a window of time.
type limit struct {
	requests int
	window   time.Duration
}

// pace obeys limits. It is not safe for concurrent use.
type pace struct {
	limits []limit
	past   []time.Time // of requests, in order
}

// next returns the time when the next request may be made, and the limit that it waits for.
func (p *pace) next(now time.Time) (at time.Time, by limit) {
	at = now
	for _, l := range p.limits {
		if len(p.past) < l.requests {
			continue
		}
		if free := p.past[len(p.past)-l.requests].Add(l.window); free.After(at) {
			at, by = free, l
		}
	}
	return at, by
}

// made notes a request, and forgets requests that no limit counts any longer.
func (p *pace) made(now time.Time) {
	p.past = append(p.past, now)
	most := 0
	for _, l := range p.limits {
		most = max(most, l.requests)
	}
	p.past = p.past[max(0, len(p.past)-most):]
}
