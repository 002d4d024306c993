// Package queries asks HogQL queries. It is the only place that knows the service's texts about them: a query that is
// too large, when to wait, which server is older. Each query runs at once and is never answered from a cache.
package queries

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/hogapi/hogapi/internal/narrow"
	"github.com/hogapi/hogapi/internal/watch"
)

// Send makes one call of the query endpoint, with its tries, and decodes a success into the answer.
type Send func(ctx context.Context, body any, answer Decoder) Reply

// Decoder reads the body of a success. An [Answer] is one.
type Decoder interface {
	Decode(ctx context.Context, body []byte) error
}

// Reply is the answer of a call besides the rows.
type Reply struct {
	Err    error // as the caller of a query gets it; nil for a success
	Header http.Header

	Status       int // of the service's error; 0 for any other
	Code, Detail string
	RetryAfter   time.Duration
	IsHopeless   bool // the key, its scope, the project or the call is wrong
	IsRefused    bool // the service does not take the query
	IsUnreadable bool // a success that cannot be read
	IsUnsent     bool // no connection
}

// Server is the state that was learned about a server and a project. All askers of a client share it.
type Server struct {
	mu        sync.Mutex
	isUnnamed bool
	budget    budget
	read      int64 // bytes
}

// Read returns how many bytes the queries of all askers have read, and the rest of the budget, or nil if unknown.
func (s *Server) Read() (bytes int64, left *int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.budget.isKnown {
		left = new(s.budget.left)
	}
	return s.read, left
}

func (s *Server) unnamed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isUnnamed
}

func (s *Server) forgetName() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isUnnamed = true
}

// Servers are the servers of a client, by project.
type Servers struct{ all sync.Map }

// Of returns the state of a project.
func (s *Servers) Of(project string) *Server {
	server, _ := s.all.LoadOrStore(project, &Server{})
	return server.(*Server)
}

// Asker asks the queries of one task, one at a time. Queries that run one at a time take one of the project's three slots.
type Asker struct {
	Send   Send
	Server *Server
	Name   string // of the queries, for the service's own records
	Key    string // stands for the API key, whose limits of numbers of queries all askers share

	MaxRead int64                 // bytes; 0: any number
	Now     func() time.Time      // nil: time.Now
	OnWait  func(until time.Time) // for the budget; may be nil
	read    int64                 // bytes
	cost    Cost                  // of the newest answer
	perRow  map[int64]int64       // bytes that answers have shown, by [Size.PerRow]
}

// Size is the estimated size of a query.
type Size struct {
	Rows      int64 // 0: as many bytes as the query before
	PerRow    int64 // bytes, until an answer shows them
	CanDivide bool  // smaller queries read less
}

// PerRow returns how many bytes a row takes: as answers have shown it, or else as it was guessed.
func (a *Asker) PerRow(guess int64) int64 { return cmp.Or(a.perRow[guess], guess) }

// learn adjusts the estimates to the bytes that a query has read.
func (a *Asker) learn(size Size, read int64) {
	const enough = 1_000 // for an average
	if size.Rows < enough || read == 0 {
		return
	}
	if a.perRow == nil {
		a.perRow = map[int64]int64{}
	}
	a.perRow[size.PerRow] = read / size.Rows
}

// Read returns how many bytes the queries have read, and the newest cost, which shows the rest of the budget.
func (a *Asker) Read() (bytes int64, newest Cost) { return a.read, a.cost }

// admit waits until the project's budget has room for a query of about so many bytes. A query that can be divided is
// refused as too much instead where that helps: smaller ones may go at once.
func (a *Asker) admit(ctx context.Context, bytes int64, canDivide bool) error {
	if a.MaxRead > 0 && a.read+bytes > a.MaxRead {
		return &Error{Kind: Hopeless, Err: fmt.Errorf(
			"%w: %d bytes were read, and the next query would read about %d; run again with the same Dir to continue", ErrMaxRead, a.read, bytes)}
	}
	s, now := a.Server, a.now()
	s.mu.Lock()
	most, pause := s.budget.most(now), s.budget.pause(bytes, now)
	s.mu.Unlock()
	if canDivide && bytes > most {
		return &Error{Kind: TooMuch, Err: errors.New("the query would read more than the project's budget has room for")}
	}
	if pause <= 0 {
		return nil
	}
	if a.OnWait != nil {
		a.OnWait(now.Add(pause))
	}
	if !watch.Sleep(ctx, pause) {
		return &Error{Kind: Failed, Err: fmt.Errorf("%w (while the project's hourly read budget had no room)", context.Cause(ctx))}
	}
	return nil
}

func (a *Asker) now() time.Time {
	if a.Now == nil {
		return time.Now()
	}
	return a.Now()
}

func (a *Asker) charge(r Reply) {
	c := CostOf(r.Header)
	a.Server.mu.Lock()
	if r.Err == nil || c.IsKnown {
		a.Server.budget.note(c, a.now())
		a.Server.read += c.BytesRead
	}
	a.Server.mu.Unlock()
	if c.IsKnown {
		a.read, a.cost = a.read+c.BytesRead, c
	}
}

const maxName = 128 // bytes, by the documentation of the endpoint

func (a *Asker) body(q Query) map[string]any {
	body := map[string]any{"query": q, "refresh": "force_blocking"}
	if !a.Server.unnamed() {
		body["name"] = a.Name[:min(len(a.Name), maxName)]
	}
	return body
}

// Waits for a busy service.
const (
	firstWait   = 10 * time.Second
	maxWait     = 5 * time.Minute
	maxWaits    = 10
	maxLoads    = 4 // before a smaller query
	maxRefusals = time.Hour

	afterEqual = 6 * time.Second // the service gives an equal query the same answer for 5 s
	maxEqual   = 3
)

// Ask carries out one query now, and returns its rows, which must be fewer than limit. It waits while the service is busy: as
// long as the service asks, or else ten seconds, doubling. An error of the query is an *[Error].
func Ask[T any](ctx context.Context, a *Asker, q Query, limit int) ([]T, error) {
	return AskFor[T](ctx, a, q, limit, Size{})
}

// AskFor is Ask for a query of a known size.
func AskFor[T any](ctx context.Context, a *Asker, q Query, limit int, size Size) ([]T, error) {
	if err := a.admit(ctx, cmp.Or(size.Rows*a.PerRow(size.PerRow), a.cost.BytesRead), size.CanDivide); err != nil {
		return nil, err
	}
	before := a.read
	wait, equal := firstWait, 0
	for n := 1; ; n++ {
		var answer Answer[T]
		reply := a.Send(ctx, a.body(q), &answer)
		a.charge(reply)
		err := reply.Err
		if err == nil {
			err = answer.whole(limit)
		}
		failed := classify(ctx, reply, err)
		if failed == nil {
			a.learn(size, a.read-before)
			return answer.Rows, nil
		}
		pause := max(wait, reply.RetryAfter)
		switch failed.Kind {
		case unnamed:
			if !a.Server.unnamed() {
				a.Server.forgetName()
				n--
				continue
			}
			failed.Kind = Refused
			return nil, failed
		case cached:
			if equal++; equal > maxEqual {
				failed.Kind = Doubtful
				return nil, failed
			}
			n, pause = n-1, afterEqual
		case loaded:
			if n > maxLoads {
				failed.Kind = TooMuch
				return nil, failed
			}
		case spent:
			until := a.now().Add(pause)
			failed.Err = fmt.Errorf("the project's hourly read budget, which all its API keys share, is spent until %s: %w", until.UTC().Format("15:04 UTC"), err)
			failed.Kind = Busy
			if n > maxWaits || reply.RetryAfter > maxRefusals {
				return nil, failed
			}
			if a.OnWait != nil {
				a.OnWait(until)
			}
		case Busy:
			if n > maxWaits || reply.RetryAfter > maxRefusals {
				return nil, failed
			}
		default:
			return nil, failed
		}
		if !watch.Sleep(ctx, pause) {
			return nil, &Error{Kind: Failed, Err: fmt.Errorf("%w (while the service was busy: %w)", context.Cause(ctx), err)}
		}
		if failed.Kind != cached {
			wait = min(2*wait, maxWait)
		}
	}
}

// AskDays carries out a query about the days from start_at until end_at, two of its values, and about each half of them where
// that is too much.
func AskDays[T any](ctx context.Context, a *Asker, q Query, from, until time.Time) ([]T, error) {
	ask := func(days [2]time.Time) ([]T, error) {
		q := Query{q.HogQL, maps.Clone(q.Values)}
		if q.Values == nil {
			q.Values = map[string]any{}
		}
		q.Values["start_at"], q.Values["end_at"] = days[0].Format(time.RFC3339), days[1].Format(time.RFC3339)
		return Ask[T](ctx, a, q, MaxRows)
	}
	return narrow.Ask([2]time.Time{from, until}, ask, IsTooMuch, func(days [2]time.Time) [][2]time.Time {
		middle, ok := narrow.Middle(days[0], days[1], 24*time.Hour)
		if !ok {
			return nil
		}
		return [][2]time.Time{{days[0], middle}, {middle, days[1]}}
	})
}
