package formats

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/ops"
)

// SessionOptions are the options of [Sessions]. The same import needs the same options in every run.
type SessionOptions struct {
	// Silence is the longest time between two events of a session: longer ends it. It is from a second to a day.
	// The default is 30 minutes, as in PostHog's own SDKs. It does not end sessions of Key.
	Silence time.Duration
	// Key is the property with the vendor's id of a session, such as "$rudderstack_session_id", for vendors that
	// have sessions of which one record does not tell the start. Events of one device with one such id are one
	// session, which begins with the first of them. Events without the property have sessions by Silence.
	Key string
	// Device is the property with the id of the device. The default is "$device_id" or, in events that lack it,
	// "$mixpanel_device_id".
	Device string
	// Skip reports whether an event has no session, such as one that a server has sent. It must be a pure function.
	// The default is [IsOfServer].
	Skip func(hogapi.Event) bool
	// MaxOpen is how many sessions may be open at the same time. More are an error. Each takes about 100 bytes of
	// memory. The default is 250,000.
	MaxOpen int
	// After is a file that Tail has named when earlier files were read: their last sessions go on in this source.
	// By default, the source begins with new sessions.
	After string
	// Tail is the file to which the open sessions are written whenever the source has been read to its end, for
	// After with later files. The file has no ids of devices or persons, only digests. By default nothing is written.
	Tail string
	// OnEnd, if not nil, is called with the counts whenever the source has been read to its end.
	OnEnd func(SessionCounts)
}

// SessionCounts are the counts of [Sessions].
type SessionCounts struct {
	Sessions int64 `json:"sessions"` // that were made
	Events   int64 `json:"events"`   // in them
	Kept     int64 `json:"kept"`     // events that had a $session_id, which they keep
	None     int64 `json:"none"`     // events without a session, also those of Late
	Cut      int64 `json:"cut"`      // sessions that were ended after 24 hours, although they went on
	First    int64 `json:"first"`    // sessions that began within Silence after the first event: they may have begun before the source
	Late     int64 `json:"late"`     // events before the end of SessionOptions.After
}

// Sessions returns a source of the events of another source, with a $session_id for each event that lacks one.
// PostHog's web analytics shows only events that have one. Use it for vendors without sessions, such as Mixpanel and
// Segment; the formats of Amplitude and GA4 set the property themselves. The source must be in the order of time, as
// that of [Sorted] is:
//
//	source := formats.Sessions(formats.Sorted(history.Files(mixpanel.Format(nil), "export/*"), "work"), nil)
//
// A session ends when its device is silent for longer than SessionOptions.Silence, and after 24 hours. The device
// is that of the property SessionOptions.Device, else Event.AnonymousID, else the person. A device's visit before
// the login and after it is one session; another person on the device has another session, even at the same
// time. The id is [SessionID] of the first event's time and the device, so each run gives an event the same id.
// All other properties stay as they are, byte for byte.
//
// These events have no session: an event that SessionOptions.Skip reports, a $groupidentify and an alias, an event
// without any id, and an event before 1970 or after 2242. An event that has a UUID of version 7 as its $session_id
// keeps it, and its session is not known here; any other value is replaced.
//
// An event that is older than the one before it ends the import with an error that says to sort.
//
// The sessions depend on all earlier events. So the source must be whole: a later file begins new sessions, unless
// SessionOptions.After continues the sessions of an earlier one. An import that resumes first reads the events before
// its position again. A source that can be read only once, such as a pipe, must be sorted.
//
// A rejected event that is converted again by [history.Rejected] has no session, since its neighbours are
// not there.
func Sessions(source history.Source, options *SessionOptions) history.Source {
	s := &sessions{source: source}
	if options != nil {
		s.options = *options
	}
	s.options.Silence = cmp.Or(s.options.Silence, 30*time.Minute)
	s.options.MaxOpen = cmp.Or(s.options.MaxOpen, 250_000)
	if s.unfit = s.check(); s.unfit == nil && s.options.After != "" {
		s.after, s.unfit = readTail(s.options.After, &s.options)
	}
	return s
}

type sessions struct {
	source  history.Source
	options SessionOptions
	after   *sessionTail // of SessionOptions.After
	unfit   error
}

func (s *sessions) check() error {
	o := &s.options
	const least, most = time.Second, 24 * time.Hour
	switch {
	case o.Silence < least || o.Silence > most:
		return &hogapi.InputError{Op: ops.Import, Field: "SessionOptions.Silence", Value: o.Silence.String(), Want: "a second to a day"}
	case o.MaxOpen < 1:
		return &hogapi.InputError{Op: ops.Import, Field: "SessionOptions.MaxOpen", Value: strconv.Itoa(o.MaxOpen), Want: "1 or more; 0 for the default"}
	case o.Tail != "" && o.Tail == o.After:
		return &hogapi.InputError{Op: ops.Import, Field: "SessionOptions.Tail", Value: o.Tail,
			Want: "another file than After: an import that resumes reads that one again"}
	}
	return nil
}

// Name names all options that change the sessions.
func (s *sessions) Name() string {
	parts := []string{"silence=" + s.options.Silence.String()}
	for _, option := range []struct{ name, value string }{{"key", s.options.Key}, {"device", s.options.Device}} {
		if option.value != "" {
			parts = append(parts, fmt.Sprintf("%s=%q", option.name, option.value))
		}
	}
	if s.after != nil {
		parts = append(parts, "after="+s.after.digest)
	}
	return "sessions (" + strings.Join(parts, ", ") + ") of " + s.source.Name()
}

// Unwrap returns the source that is read.
func (s *sessions) Unwrap() history.Source { return s.source }

// Events implements history.Source.
func (s *sessions) Events(ctx context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
	return yielding(func(yield func(hogapi.Event) bool) error { return s.events(ctx, after, yield) })
}

func (s *sessions) events(ctx context.Context, after hogapi.Position, yield func(hogapi.Event) bool) error {
	if s.unfit != nil {
		return s.unfit
	}
	state := newSessionState(&s.options, s.after)
	if !after.IsZero() {
		if err := s.passed(ctx, after, state); err != nil {
			return err
		}
	}
	for ev, err := range s.source.Events(ctx, after) {
		if err == nil {
			err = state.add(&ev)
		}
		if err != nil {
			return err
		}
		if !yield(ev) {
			return nil
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if s.options.Tail != "" {
		if err := state.writeTail(s.options.Tail); err != nil {
			return err
		}
	}
	if s.options.OnEnd != nil {
		s.options.OnEnd(state.counts)
	}
	return nil
}

// passed brings a state to a position: each session depends on the events before it.
func (s *sessions) passed(ctx context.Context, after hogapi.Position, state *sessionState) error {
	isAt := false
	for ev, err := range s.source.Events(ctx, hogapi.Position{}) {
		if err != nil {
			return err
		}
		if isAt && ev.Position != after {
			return nil
		}
		isAt = isAt || ev.Position == after
		if err := state.add(&ev); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !isAt {
		return fmt.Errorf("there is no position %s in the source of formats.Sessions, which reads it from its start: bring back the source as it was, "+
			"or import with another checkpoint from the start: events keep their uuids", after)
	}
	return nil
}
