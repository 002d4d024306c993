package hogapi

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"golang.org/x/time/rate"
)

// Unpaced is the rate that sends as fast as the service answers.
const Unpaced = -1

// CaptureOptions set up a [Capture].
type CaptureOptions struct {
	// ID names the import. Uuids are derived from it and the positions of events, and every event carries it as the property
	// $import_job_id. It may be empty where every event has a uuid of its own.
	ID string
	// Rate is the most events per second, resent ones included: default 1,000, as the service's own importer; or Unpaced.
	Rate int
	// Rejects takes the events that the service refuses, each sent alone. Without it the first one stops the Capture.
	Rejects RejectHandler
	// OnSettled is told the position up to which every event is settled, for sources that commit offsets. Calls come one at a
	// time, in order; it must not call back into the Capture. A panic in it is caught and logged. A position of several events is
	// told once an event of another one has come, or at Flush and Close, which end it. Events without a position count with the one before
	// them: they end none, and it is told once they are settled too.
	OnSettled func(Position)
	Gate      GateOptions
	Delivery  DeliveryOptions
}

// DeliveryOptions say how events are sent. Zero fields take the default.
type DeliveryOptions struct {
	Lanes          int           // how many requests can be under way at once; events of one person share a lane; default 8, at most 64
	MaxBatchEvents int           // events a request; default 1,000, less under a low rate, more over a slow line when unpaced; at most 10,000
	MaxBatchBytes  int           // bytes a request before compression; default 4 MiB, 900,000 to 18 MiB
	MaxBatchSpan   time.Duration // a batch spans no more of the events' own time; default no limit
	Linger         time.Duration // how long an event waits for company; default 250 ms
	MaxInFlight    int           // events read and not yet settled; default 2,000, or 32,768 when unpaced
	MaxBytes       int           // bytes of events held, requests under way as they are compressed, and beside them one that is taken apart and what is refused; default 8 MiB, at least 900,000
	NoProgress     time.Duration // a failure that lasts longer stops the import, resumable; default 15 min
	MaxTries       int           // tries of one request before the import stops; default no limit but NoProgress
	NoCompression  bool          // send plain JSON
	Preflight      Preflight     // whether the key is checked before the first event
}

// Preflight says whether a wrong project key is looked for before the first event: the capture endpoint takes events
// for an unknown key and drops them without a word.
type Preflight uint8

// Preflight settings.
const (
	PreflightCloud Preflight = iota // on the cloud hosts only
	PreflightOn
	PreflightOff
)

// deliverySettings are the delivery options with every default filled in.
type deliverySettings struct {
	DeliveryOptions

	pace   *rate.Limiter // nil: unpaced
	prefix func() []byte // of every request's body; a closure, since fmt prints bytes at any depth and the key is in it
}

const (
	defaultRate     = 1000
	mostLanes       = 64
	mostBatchBytes  = 18 << 20 // of the 20 MiB that the service takes
	mostBatchEvents = 10_000
)

// settings checks the options and fills in the defaults.
func (o CaptureOptions) settings(c *core, project string) (s deliverySettings, err error) {
	if c.capture == nil || c.projectKey == nil {
		return s, &InputError{Op: OpImport, Field: "client", Want: "a client with WithProjectAPIKey and a region or capture URL"}
	}
	if project != c.project {
		return s, &InputError{Op: OpImport, Field: "project", Value: project, Want: "the project that the project API key was given with (" + strconv.Quote(c.project) + "): events go where that key belongs, whatever ForProject says; make a client with the other project's key"}
	}
	d := o.Delivery
	if o.Rate < Unpaced {
		return s, &InputError{Op: OpImport, Field: "Rate", Value: strconv.Itoa(o.Rate), Want: "events per second, 0 for the default of 1,000, or Unpaced"}
	}
	if d.Preflight > PreflightOff {
		return s, &InputError{Op: OpImport, Field: "Delivery.Preflight", Value: strconv.Itoa(int(d.Preflight)), Want: "PreflightCloud, PreflightOn or PreflightOff"}
	}
	if f, ok := o.Rejects.(RejectFunc); ok && f == nil {
		return s, &InputError{Op: OpImport, Field: "Rejects", Want: "a handler with a function, not nil"}
	}
	if o.Gate.ContentIDs > 0 && o.ID == "" {
		return s, &InputError{Op: OpImport, Field: "CaptureOptions.ID", Want: "an ID where Gate.ContentIDs is set: without one, equal events of other programs would get the same uuids"}
	}
	err = errors.Join(
		checkImportID("CaptureOptions.ID", o.ID), o.Gate.check(OpImport),
		firstNegative(OpImport, map[string]int{"Delivery.MaxInFlight": d.MaxInFlight, "Delivery.MaxTries": d.MaxTries}),
		firstNegative(OpImport, map[string]time.Duration{
			"Delivery.MaxBatchSpan": d.MaxBatchSpan, "Delivery.Linger": d.Linger, "Delivery.NoProgress": d.NoProgress,
		}),
		bounded("Delivery.Lanes", d.Lanes, 1, mostLanes), bounded("Delivery.MaxBatchEvents", d.MaxBatchEvents, 1, mostBatchEvents),
		bounded("Delivery.MaxBatchBytes", d.MaxBatchBytes, maxEventBytes, mostBatchBytes), // one event of the largest size always fits
		bounded("Delivery.MaxBytes", d.MaxBytes, maxEventBytes, math.MaxInt))
	if err != nil {
		return s, err
	}
	unpaced := o.Rate == Unpaced
	perSecond := cmp.Or(o.Rate, defaultRate)
	s = deliverySettings{DeliveryOptions: d}
	s.Lanes = cmp.Or(d.Lanes, 8)
	s.MaxBatchBytes = cmp.Or(d.MaxBatchBytes, 4<<20)
	s.MaxBytes = cmp.Or(d.MaxBytes, 8<<20)
	s.Linger = cmp.Or(d.Linger, 250*time.Millisecond)
	s.NoProgress = cmp.Or(d.NoProgress, 15*time.Minute)
	if unpaced {
		s.MaxInFlight = cmp.Or(d.MaxInFlight, 32_768)
		s.MaxBatchEvents = cmp.Or(d.MaxBatchEvents, 1000)
	} else {
		s.MaxInFlight = cmp.Or(d.MaxInFlight, 2000)
		// A quarter of a second's events is the burst: over ten seconds the rate is kept within 2.5 %.
		s.MaxBatchEvents = min(cmp.Or(d.MaxBatchEvents, 1000), max(perSecond/4, 1))
		s.pace = rate.NewLimiter(rate.Limit(perSecond), s.MaxBatchEvents)
	}
	prefix := []byte(`{"api_key":` + strconv.Quote(c.projectKey()) + `,"historical_migration":true,"batch":[`)
	s.prefix = func() []byte { return prefix }
	return s, nil
}

// bounded looks whether a number that is not left to its default is one that makes sense.
func bounded(field string, n, least, most int) error {
	if n == 0 || least <= n && n <= most {
		return nil
	}
	want := fmt.Sprintf("%d to %d, or 0 for the default", least, most)
	if most == math.MaxInt {
		want = fmt.Sprintf("at least %d, or 0 for the default", least)
	}
	return &InputError{Op: OpImport, Field: field, Value: strconv.Itoa(n), Want: want}
}
