// Package delivery sends items in batches until each item is settled: accepted or rejected. Items
// with the same key are sent in order, one request at a time. It retries failures that may pass,
// and halves a refused request until the rejected item is alone.
//
// The package knows nothing of the service: its caller makes the requests and judges the answers.
package delivery

import (
	"time"
)

// Item is one event as bytes.
type Item struct {
	Seq  uint64    // the caller's number
	ID   [16]byte  // items with equal ids never share a request; zero: no limit
	Wire []byte    // a JSON object; copied
	Time time.Time // of the event
	Key  uint64    // items with equal keys share a lane
}

// Limits bound the size and number of requests, and the time for retries.
type Limits struct {
	Lanes            int           // most requests at the same time
	BatchItems       int           // items a request, if answers are fast
	MostBatchItems   int           // items a request, if answers are slow
	BatchBytes       int           // bytes a request before compression
	LeastBatchBytes  int           // body size that is never too large
	Linger           time.Duration // how long an item waits for others
	Rate             int           // items a second; 0: as fast as the answers come
	GiveUpAfter      time.Duration // how long failures may last; 0: any time
	UnreachableAfter time.Duration // how long the host may be unreachable before its first answer; 0: as GiveUpAfter
	MaxTries         int           // of one request; 0: any number
	NoCompression    bool
}

// Config configures a Sender.
type Config struct {
	Limits
	Requests
	Results

	Extra  int             // most bytes of prefix and suffix
	Budget *Budget         // holds the items' bytes
	Ready  <-chan struct{} // closed when the first request may go out
}

// Requests makes requests. It is safe for concurrent use.
type Requests interface {
	// Around returns what surrounds the items of a request that began then, and how bodies are compressed: always in
	// one way, which is known after an item is added.
	Around(begun time.Time) (prefix, suffix []byte, encoding string)
	Post(r *Request) Answer
	Tried(t Try)
}

// Results takes the outcome of the items. It is safe for concurrent use. An error stops the Sender.
type Results interface {
	Sent(seqs []uint64) // the service may have these; not called for items settled by the first answer
	Settled(seqs []uint64)
	Remark(seq uint64, reason string)                    // a remark of the service on an accepted item; called before Settled
	Rejected(seq uint64, wire []byte, a Answer) error    // the item was sent alone or has its own fate
	Unconfirmed(seq uint64, wire []byte, a Answer) error // nobody knows whether the item was stored
	Wide()                                               // a batch spans more than a day
	GaveUp(a Answer, since time.Time) error              // the cause of a stop after failures that lasted too long
	Stop(cause error)                                    // ends the context of the Sender
}

// Verdict is the meaning of an answer for the items of its request.
type Verdict uint8

// Verdicts.
const (
	Wait    Verdict = iota // may pass: send the same request again
	Settled                // accepted
	Split                  // some item is rejected
	Each                   // each item has its own fate
	Stop                   // every later request would fail too
)

// Answer is the outcome of one request.
type Answer struct {
	Verdict    Verdict
	Status     int           // 0: no answer
	TooLarge   bool          // later requests must be smaller
	Suspect    bool          // with Wait: an item of the request may be the cause
	Fates      []Fate        // with Each: one for each item, in order
	Reason     string        // of the fate of one item
	RetryAfter time.Duration // 0 if absent
	Err        error         // why there is no answer, or the text of the answer
	Stop       error         // the cause of a Stop
	Unsent     bool          // certainly nothing was written
	Unreached  bool          // nobody has reached the host yet
	Stale      bool          // a kept-alive connection ended during the request: another connection may work
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
