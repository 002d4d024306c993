package vendortest

import (
	"cmp"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hogapi/hogapi/internal/watch"
)

// Fault is the failure of one request. Its zero value is a request that is answered as usual.
type Fault struct {
	Status     int           // answers with this status and Text, and nothing else
	Text       string        // of that answer
	RetryAfter time.Duration // its Retry-After in whole seconds; 0 for no such header

	Cut Cut     // how the answer of a good request is cut short
	At  float64 // where, as a share of the answer, 0 to 1; 0 is 0.5

	Pause time.Duration // between the tenths of the body
}

// Cut is a way in which an answer with status 200 is not whole.
type Cut string

// The cuts.
const (
	CutLine       Cut = "line"       // Mixpanel: the last line is half there; the encoding and the connection end well
	CutTerminated Cut = "terminated" // Mixpanel: a last line "terminated early"; all ends well
	CutBody       Cut = "body"       // the bytes as sent end early, so a zip or gzip has no end; the connection ends well
	CutConnection Cut = "connection" // the connection breaks off in the middle of the bytes
	CutEmpty      Cut = "empty"      // no bytes at all; the connection ends well
)

// Script says which requests fail. Requests that the server refuses on its own do not use it up. It is safe for
// concurrent use.
type Script struct {
	mu     sync.Mutex
	queues []queue
}

type queue struct {
	unit   string
	faults []Fault
}

// Next has the next requests meet one fault each.
func (s *Script) Next(faults ...Fault) { s.On("", faults...) }

// On has the next requests that ask for this day (2024-03-01) or hour (20240301T05) meet one fault each.
func (s *Script) On(unit string, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queues = append(s.queues, queue{unit, slices.Clone(faults)})
}

// Left is how many faults no request has met yet.
func (s *Script) Left() (left int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.queues {
		left += len(q.faults)
	}
	return left
}

func (s *Script) take(r *Request) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, q := range s.queues {
		if len(q.faults) > 0 && (q.unit == "" || slices.Contains(r.units(), q.unit)) {
			s.queues[i].faults = q.faults[1:]
			return q.faults[0]
		}
	}
	return Fault{}
}

// refuse answers with the fault's status.
func (f Fault) refuse(w http.ResponseWriter) {
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(f.RetryAfter.Seconds())))
	}
	w.WriteHeader(f.Status)
	_, _ = io.WriteString(w, f.Text)
}

func (f Fault) place(size int) int { return int(float64(size) * min(cmp.Or(f.At, 0.5), 1)) }

// write sends the body as it is after the fault. It reports whether all of it was sent.
func (f Fault) write(w http.ResponseWriter, r *http.Request, body []byte) (whole bool) {
	send, parts := body, 1
	switch f.Cut {
	case CutBody, CutConnection:
		send = body[:f.place(len(body))]
	case CutEmpty:
		send = nil
	case CutLine, CutTerminated: // the text is cut already
	}
	if f.Pause > 0 {
		parts = 10
	}
	w.WriteHeader(http.StatusOK)
	for part := range parts {
		if part > 0 && !watch.Sleep(r.Context(), f.Pause) {
			return false
		}
		if _, err := w.Write(send[len(send)*part/parts : len(send)*(part+1)/parts]); err != nil {
			return false
		}
		// Without it a small answer would get a Content-Length, which the vendors never send.
		_ = http.NewResponseController(w).Flush()
	}
	if f.Cut == CutConnection {
		panic(http.ErrAbortHandler)
	}
	return f.Cut == ""
}
