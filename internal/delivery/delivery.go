// Package delivery sends items in batches until each of them is settled: accepted or refused. Items
// of one key are sent in the order in which they were added, one request at a time. What can pass is
// waited out; what is refused is halved until the item that is refused is alone.
//
// The package knows nothing of the service: its caller makes the request and judges the answer.
package delivery

import (
	"io"
	"math"
	"time"
)

// Item is one event as bytes.
type Item struct {
	Seq  uint64    // the caller's number
	ID   [16]byte  // no two of an id share a request; zero: it may share one with any
	Wire []byte    // a JSON object; copied
	Time time.Time // of the event
	Key  uint64    // items of one key share a lane
}

// Limits bound what is sent at a time, and how long failures are waited out.
type Limits struct {
	Lanes           int           // requests at the same time, at most
	BatchItems      int           // items a request, where the answers come at once
	MostBatchItems  int           // items a request, where answers take long
	BatchBytes      int           // bytes a request before compression
	LeastBatchBytes int           // bytes that a request may always have
	BatchSpan       time.Duration // of the items' own time in a batch; 0: any
	Linger          time.Duration // how long an item waits for company
	Rate            int           // items a second; 0: as fast as the answers come
	NoProgress      time.Duration // how long failures may last, or Never
	FirstAnswer     time.Duration // how long the host may be out of reach before its first answer
	MaxTries        int           // tries of one request; 0: any number
	NoCompression   bool
}

// Never is the NoProgress of a sender that never gives up.
const Never = math.MaxInt64

// Config is what a Sender needs. All functions must be safe for concurrent use.
type Config struct {
	Limits

	Around func(begun time.Time) (prefix, suffix []byte) // the items of a request that began then
	Extra  int                                           // bytes of prefix and suffix, at most
	Encode func() Encoder                                // a new encoder of bodies; asked once an item is sent

	Budget *Budget           // that the items' bytes are held in
	Ready  <-chan struct{}   // closed when the first request may go out
	Stop   func(cause error) // ends the context of the Sender

	Post    func(r *Request) Answer
	GaveUp  func(a Answer, since time.Time) error // the cause of a stop after failures that lasted too long
	Sent    func(seqs []uint64)                   // the service may have these; called unless they are settled at once
	Settled func(seqs []uint64)
	Remark  func(seq uint64, reason string)               // what the service says of an item that it has accepted; before Settled
	Refused func(seq uint64, wire []byte, a Answer) error // of an item sent alone, or by its own fate; an error stops
	Unsure  func(seq uint64, wire []byte, a Answer) error // of an item whose fate nobody knows; an error stops
	Tried   func(Try)
	Wide    func() // a batch spans more than a day
}

// Encoder compresses one body after another.
type Encoder interface {
	io.WriteCloser
	Reset(to io.Writer)
}

// Verdict is what an answer means for the items of its request.
type Verdict uint8

// Verdicts.
const (
	Wait    Verdict = iota // may pass: send the same again
	Settled                // accepted
	Split                  // something in the request is refused
	Each                   // the items have fates of their own
	Stop                   // every later request would fare the same
)

// Answer is the outcome of one request.
type Answer struct {
	Verdict    Verdict
	Status     int           // 0: no answer
	TooLarge   bool          // later requests must be smaller
	Fates      []Fate        // of Each: one for each item, in their order
	Reason     string        // of the fate of one item
	RetryAfter time.Duration // 0: not said
	Err        error         // why there is no answer, or what it says
	Stop       error         // the cause of a Stop
	Unsent     bool          // provably nothing was written
	Unreached  bool          // the host has not been reached yet, by anybody
	Stale      bool          // a connection that had been kept ended under the request: another one may do
	Duration   time.Duration
}

// Try is one request and its answer.
type Try struct {
	Lane   int
	Items  int
	Plain  int // bytes before compression
	Wire   int // bytes as sent
	Number int // of this request, from 1
	Resent int // items that an earlier try of this request may have sent
	Answer Answer
}
