package page

import (
	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/page"
	"github.com/hogapi/hogapi/formats"
)

// Sessions counts the events of files that are in a session.
type Sessions struct {
	Silence string // of --sessions; empty: it was not given
	HasOwn  bool   // the format has the vendor's sessions
	IsLines bool   // of any tool: only visits of pages and screens tell that the files are of visitors

	Events int64
	With   int64 // that have a $session_id

	looked, ofServers, visits int64
}

// Add counts an event.
func (s *Sessions) Add(ev *hogapi.Event, hasSession bool) {
	const enough = 1000 // of which the sides are looked up
	s.Events++
	if hasSession {
		s.With++
	}
	if ev.Name == "$pageview" || ev.Name == "$screen" {
		s.visits++
	}
	if s.looked < enough {
		s.looked++
		if formats.IsOfServer(*ev) {
			s.ofServers++
		}
	}
}

// Needed reports whether events of visitors have no session, and --sessions was not given.
func (s *Sessions) Needed() bool {
	const few = 100 // a hundredth: an event may have a property of that name
	return s.Silence == "" && !s.HasOwn && s.Events > 0 && s.With <= s.Events/few && s.ofServers < s.looked && (!s.IsLines || s.visits > 0)
}

const webAnalytics = "PostHog's web analytics (visitors, views, sessions, bounce rate, entry pages, channels, countries) shows only events with a session"

// finding says what web analytics will show of the files; an empty title says nothing.
func (s *Sessions) finding(isBegun bool) (title, text string) {
	switch {
	case s.Needed():
		text = webAnalytics + ". Insights, funnels and retention do not need it. "
		if isBegun {
			return "The events have no session", text + "An import that has begun continues without sessions."
		}
		return "The events have no session", text + "The import below makes them (--sort --sessions 30m): the events of a device, or of a person where no device is named, " +
			"are one session until 30 minutes of silence, and at most 24 hours. Events of servers get none. Leave it out if the project needs no web analytics."
	case s.HasOwn && s.Events > 0:
		return page.Share(s.With, s.Events) + " of the events are in a session of the vendor", webAnalytics + ". The others have no session there: such as events of servers, " +
			"of imports in bulk, and those that are older than the beginning of their session."
	case s.Silence != "" && s.Events > 0:
		return "Sessions are made", "--sessions " + s.Silence + ": the events of a device, or of a person where no device is named, are one session until a silence of more than " +
			s.Silence + ", and at most 24 hours. The import says how many there are, and how many began so early that they may have begun before these files."
	}
	return "", ""
}
