package verify

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/mask"
)

// Summary is the content of a short text about a verification. The text may be kept and read again.
type Summary struct {
	Import, State      string
	IsUnfinished       bool
	Looks              int
	Acknowledged       int64
	Unconfirmed        int64
	Seen, Copies       int64
	Doubled            int64
	Found              []SummaryIDs
	Rows               []SummaryRow // the cells that are not complete
	Uncountable, Notes []string
	Warnings           []SummaryWarning
}

// SummaryIDs are events of one kind, with their known uuids.
type SummaryIDs struct {
	Kind   string
	Events int64
	IDs    []uuid.UUID
}

// SummaryRow is a cell that is not complete.
type SummaryRow struct {
	Day, Event         string
	Acknowledged, Seen int64
	State, Reason      string
}

// SummaryWarning is a warning of the service.
type SummaryWarning struct {
	Type     string
	Count    int64
	LastSeen time.Time
}

// NotFinished is the state of an import that is not finished, and has no other fault.
const NotFinished = "not finished"

const (
	mostShownIDs  = 5
	mostShownRows = 50
)

// String is the summary as text: the counts, the uuids found, and a table of the cells that are not
// complete.
func (s *Summary) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "import %q: %s", s.Import, s.State)
	switch {
	case s.State == NotFinished:
		b.WriteString("; " + finishIt)
	case s.IsUnfinished:
		b.WriteString("; but " + unfinished)
	}
	fmt.Fprintf(&b, "\nacknowledged %d", s.Acknowledged)
	if s.Unconfirmed > 0 {
		fmt.Fprintf(&b, ", unconfirmed %d", s.Unconfirmed)
	}
	fmt.Fprintf(&b, ", seen %d", s.Seen)
	if s.Copies > s.Seen {
		fmt.Fprintf(&b, " (%d copies, not merged yet)", s.Copies)
	}
	fmt.Fprintf(&b, ", after look %d", s.Looks)
	for _, f := range s.Found {
		if f.Events == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s: %d", f.Kind, f.Events)
		for _, id := range f.IDs[:min(len(f.IDs), mostShownIDs)] {
			b.WriteString("\n  " + id.String())
		}
	}
	if s.Doubled > 0 {
		fmt.Fprintf(&b, "\nstored once: %d, which share the uuid of another event of the source", s.Doubled)
	}
	s.writeRows(&b)
	if len(s.Uncountable) > 0 {
		b.WriteString("\nnames that counting can miss:")
		for _, name := range s.Uncountable {
			b.WriteString(" " + mask.Shown(name))
		}
	}
	for _, w := range s.Warnings {
		fmt.Fprintf(&b, "\ningestion warning %s: %d, last seen %s", mask.Shown(w.Type), w.Count, w.LastSeen.UTC().Format(time.RFC3339))
	}
	for _, note := range s.Notes {
		b.WriteString("\nnote: " + mask.Clean(note))
	}
	return b.String()
}

func (s *Summary) writeRows(b *strings.Builder) {
	if len(s.Rows) > 0 {
		fmt.Fprintf(b, "\n  %-10s %-30s %12s %12s  %s", "day", "event", "acknowledged", "seen", "state")
	}
	for _, r := range s.Rows[:min(len(s.Rows), mostShownRows)] {
		fmt.Fprintf(b, "\n  %-10s %-30s %12d %12d  %s", r.Day, mask.Shown(r.Event), r.Acknowledged, r.Seen, r.State)
		if r.Reason != "" {
			b.WriteString(": " + mask.Clean(r.Reason))
		}
	}
	if more := len(s.Rows) - mostShownRows; more > 0 {
		fmt.Fprintf(b, "\n  and %d more", more)
	}
}
