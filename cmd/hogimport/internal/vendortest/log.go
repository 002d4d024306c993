package vendortest

import (
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"
)

// Request is one request as the server saw it.
type Request struct {
	At, Done time.Time  // when it began and ended
	Path     string     // without the query
	Query    url.Values // as sent
	From, To time.Time  // the first and the last day or hour that it asked for, both inclusive; zero if not valid
	Step     time.Duration
	Status   int
	Error    string // why the server refused the request
	Fault    string // the scripted fault
	Gzip     bool   // the client accepts gzip
	Rows     int    // records in a whole answer
	Whole    bool   // all of the answer was written
	Together int    // requests under way when it began, with itself

	number int // in the order in which they began
}

// Units are the days (2024-03-01) or hours (20240301T05) that the request asked for.
func (r Request) Units() (units []string) {
	if r.Step == 0 {
		return nil
	}
	for at := r.From; !at.After(r.To); at = at.Add(r.Step) {
		units = append(units, unit(at, r.Step))
	}
	return units
}

func unit(at time.Time, step time.Duration) string {
	if step == time.Hour {
		return at.Format(hourForm)
	}
	return at.Format(time.DateOnly)
}

// Log is the requests that a server has received. It is safe for concurrent use.
type Log struct {
	mu       sync.Mutex
	requests []Request
	running  int
	begun    int
}

func (l *Log) begin(r *Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running++
	l.begun++
	r.At, r.Together, r.number = time.Now(), l.running, l.begun
}

func (l *Log) end(r *Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	r.Done = time.Now()
	l.requests = append(l.requests, *r)
}

// All returns the requests that have ended, in the order in which they began.
func (l *Log) All() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Clone(l.requests)
	slices.SortFunc(all, func(a, b Request) int { return a.number - b.number })
	return all
}

// Statuses counts the requests by the status of their answer.
func (l *Log) Statuses() map[int]int {
	counts := map[int]int{}
	for _, r := range l.All() {
		counts[r.Status]++
	}
	return counts
}

// Twice names the days or hours that more than one request was given in whole, with how often. An answer counts as
// given when the server has written all of it, even if the client was killed before it read it.
func (l *Log) Twice() (twice []string) {
	times := map[string]int{}
	for _, r := range l.All() {
		if r.Whole {
			for _, u := range r.Units() {
				times[u]++
			}
		}
	}
	for u, n := range times {
		if n > 1 {
			twice = append(twice, fmt.Sprintf("%s %d times", u, n))
		}
	}
	slices.Sort(twice)
	return twice
}

// Most is the largest number of requests that began within any window of this length.
func (l *Log) Most(window time.Duration) (most int) {
	all := l.All()
	for first, last := 0, 0; last < len(all); last++ {
		for all[last].At.Sub(all[first].At) >= window {
			first++
		}
		most = max(most, last-first+1)
	}
	return most
}
