package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/generic"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/inside"
)

// openSessions is the file in a state folder with the sessions that were open at the end of the import.
const openSessions = "sessions.json"

func (in *input) bindSessions(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&in.Sessions, "sessions", "", "give the events sessions, for exports without them (check says so): PostHog's web analytics needs sessions. "+
		"A session ends after a `SILENCE` of its device, such as 30m, and after a day at most; needs --sort")
	f.StringVar(&in.SessionsAfter, "sessions-after", "", "continue the sessions that were open at the end of an earlier import: its state `FOLDER`")
}

// checkSessions checks --sessions and the flags it depends on, and finds the file of --sessions-after.
func (in *input) checkSessions() error {
	if in.Sessions == "" && in.SessionsAfter != "" {
		return shell.UsageError("--sessions-after is for imports with --sessions", "add --sort --sessions 30m, or leave it out")
	}
	if in.Sessions == "" {
		return nil
	}
	const least, most = time.Second, 24 * time.Hour
	silence, err := time.ParseDuration(in.Sessions)
	switch {
	case err != nil, silence < least, silence > most:
		return shell.UsageError(fmt.Sprintf("--sessions %q is not a silence between two sessions", in.Sessions), "give a time from 1s to 24h, such as 30m")
	case vendors[in.Format].hasSessions:
		return shell.UsageError("--sessions is for exports without sessions, and events of "+in.Format+" have those of the export", "leave it out")
	case !in.Sort:
		return shell.UsageError("--sessions needs all events in the order of time", "add --sort")
	}
	if in.SessionsAfter == "" {
		return nil
	}
	if info, err := os.Stat(in.SessionsAfter); err == nil && info.IsDir() {
		in.SessionsAfter = filepath.Join(in.SessionsAfter, openSessions)
	}
	in.SessionsAfter = absolute(in.SessionsAfter)
	if _, err := os.Stat(in.SessionsAfter); err != nil {
		return shell.UsageError(in.SessionsAfter+": there is no such file", "give the state folder of an import with --sessions that is complete")
	}
	return nil
}

// sessionSource is a source with --sessions. At its end it has the counts.
type sessionSource struct {
	history.Source
	sorted history.Source
	ended  func(formats.SessionCounts)
}

// Unwrap returns the source.
func (s *sessionSource) Unwrap() history.Source { return s.Source }

// withSessions makes the sessions of a sorted source. The open ones at its end are saved below dir.
func (in *input) withSessions(sorted history.Source, dir string) history.Source {
	silence, _ := time.ParseDuration(in.Sessions) // which was checked
	s := &sessionSource{sorted: sorted}
	s.Source = formats.Sessions(sorted, &formats.SessionOptions{
		Silence: silence, Key: in.sessionKey(), After: in.SessionsAfter, Tail: filepath.Join(dir, openSessions),
		OnEnd: func(c formats.SessionCounts) {
			if s.ended != nil {
				s.ended(c)
			}
		},
	})
	return s
}

func sessionsText(c formats.SessionCounts, silence string) string {
	text := fmt.Sprintf("%s made, of %s. Without a session: %s of servers, groups or no person.",
		counted(c.Sessions, "session"), counted(c.Events, "event"), counted(c.None-c.Late, "event"))
	if c.Kept > 0 {
		text += " " + counted(c.Kept, "event") + " had one."
	}
	if c.Late > 0 {
		text += " " + counted(c.Late, "event") + " of the time of the earlier import: without a session too."
	}
	if c.Cut > 0 {
		text += " " + counted(c.Cut, "session") + " went on for more than a day, after which another one begins."
	}
	if c.First > 0 {
		text += fmt.Sprintf(" %s began within %s of the first event: if an earlier import has the events before, --sessions-after continues its sessions.",
			counted(c.First, "session"), silence)
	}
	return text
}

// hasSession reports whether an event has a $session_id of any form.
func hasSession(ev *hogapi.Event) bool {
	if _, isThere := ev.Properties["$session_id"]; isThere {
		return true
	}
	if view := ev.Inside(inside.Key{}).Parts.PropertiesOf(ev.RawProperties); view != nil {
		return view.Has("$session_id")
	}
	return bytes.Contains(ev.RawProperties, []byte(`"$session_id":`))
}

// sessionKey is the property with the source's own id of a session, or "".
func (in *input) sessionKey() string {
	if isMapped(in.Format) && slices.ContainsFunc(in.Map, func(entry string) bool { return strings.HasPrefix(entry, "session=") }) {
		return generic.SessionKey
	}
	return vendors[in.Format].sessionKey
}
