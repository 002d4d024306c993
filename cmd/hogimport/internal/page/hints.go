package page

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/page"
	"github.com/hogapi/hogapi/internal/estimate"
)

// maxSampled is how many ids or events a hint remembers. Of more it remembers an even share.
const maxSampled = 1 << 18

// Hints collects the decisions that a person has to make about the records of a check. Its memory is bounded.
type Hints struct {
	Columns Shared // ids that two columns of the map have
	Cases   Cases  // ids that differ only in case
	Excel   Noted  // ids that a spreadsheet has rounded
	NULs    Noted  // events with a NUL in their properties
	Clocks  Noted  // of Segment: the timestamp is years from the originalTimestamp
	Twice   Noted  // events at a local time that the clocks show twice
	Zone    string // of these times
	Unnamed bool   // a table has a column without a name
	Twins   Twins  // events that two files have
	NoID    int64  // of Mixpanel: events that name no person, without a flag about them
}

// NewHints returns hints without findings.
func NewHints() *Hints {
	seed := maphash.MakeSeed()
	return &Hints{Columns: Shared{seed: seed}, Cases: Cases{seed: seed}, Twins: newTwins(seed)}
}

// See notes an event that would be sent.
func (h *Hints) See(ev *hogapi.Event, isCopy bool) {
	if isCopy || ev.DistinctID == "" {
		return
	}
	h.Cases.add(ev.DistinctID)
	if isRounded(ev.DistinctID) {
		h.Excel.Add(func() string { return ev.DistinctID })
	}
	if hasNUL(ev.RawProperties) {
		h.NULs.At = cmp.Or(h.NULs.At, ev.Position)
		h.NULs.N++
	}
	h.Twins.add(ev)
}

// isRounded reports whether an id is a large number as a spreadsheet shows it, such as 4.90151E+12.
func isRounded(id string) bool {
	mantissa, power, isPower := strings.Cut(id, "E+")
	if !isPower || len(power) == 0 || strings.Trim(power, "0123456789") != "" {
		return false
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	return len(whole) == 1 && strings.Trim(whole+fraction, "0123456789") == ""
}

// hasNUL reports whether JSON has an escaped NUL.
func hasNUL(raw []byte) bool {
	if bytes.IndexByte(raw, '\\') < 0 { // most have no escape at all
		return false
	}
	for {
		at := bytes.Index(raw, []byte(`\u0000`))
		if at < 0 {
			return false
		}
		slashes := at - len(bytes.TrimRight(raw[:at], `\`))
		if slashes%2 == 0 {
			return true
		}
		raw = raw[at+1:]
	}
}

// Noted counts findings of one kind, with the first as an example.
type Noted struct {
	N       int64
	Example string
	At      hogapi.Position
}

// Add counts one.
func (n *Noted) Add(example func() string) {
	if n.N++; n.N == 1 {
		n.Example = example()
	}
}

// Shared finds ids of persons that come from two columns.
type Shared struct {
	seed    maphash.Seed
	ids     estimate.Sample[uint32] // with the number of the column that had it first
	columns []string
	both    estimate.Distinct

	isFound                bool
	example, first, second string
}

// Add notes the id of a person, and the column that has it.
func (s *Shared) Add(column, id string) {
	number := -1
	for i, known := range s.columns {
		if known == column {
			number = i
		}
	}
	if number < 0 {
		number, s.columns = len(s.columns), append(s.columns, column)
	}
	s.ids.Most = maxSampled
	mark := maphash.String(s.seed, id)
	first, isKnown, _ := s.ids.Add(mark, uint32(number))
	if !isKnown || int(first) == number {
		return
	}
	s.both.Add(mark)
	if !s.isFound {
		s.isFound, s.example, s.first, s.second = true, id, s.columns[first], column
	}
}

// Cases finds ids of persons that differ only in case.
type Cases struct {
	seed  maphash.Seed
	ids   estimate.Sample[uint32] // lowercase ones, with a word for the first spelling
	other estimate.Distinct       // spellings that are not the first

	example, spelling string
}

func (c *Cases) add(id string) {
	lower := strings.ToLower(id)
	mark, full := maphash.String(c.seed, lower), uint64(0)
	if full = mark; lower != id {
		full = maphash.String(c.seed, id)
	}
	const half = 32
	c.ids.Most = maxSampled
	first, isKnown, isKept := c.ids.Add(mark, uint32(full>>half))
	switch {
	case !isKept || !isKnown:
	case c.example != "" && c.spelling == "" && id != c.example && strings.ToLower(c.example) == lower:
		c.spelling = id
	}
	if !isKnown || first == uint32(full>>half) {
		return
	}
	c.other.Add(full)
	if c.example == "" || c.spelling == "" && c.example != id && strings.ToLower(c.example) != lower {
		c.example, c.spelling = id, ""
		if first == uint32(mark>>half) {
			c.spelling = lower
		}
	}
}

// differ returns a text with the example.
func (c *Cases) differ() string {
	if c.spelling == "" {
		return page.Shown(c.example) + ", which another event writes in another case"
	}
	return page.Shown(c.example) + " and " + page.Shown(c.spelling)
}

// findings returns the open decisions.
func (h *Hints) findings(place func(hogapi.Position) string) (list []page.Finding) {
	if h == nil {
		return nil
	}
	warn := func(anchor, title, text string) {
		list = append(list, page.NewFinding(page.Warn, title, text, anchor))
	}
	if h.Columns.isFound {
		s := &h.Columns
		warn("duplicates", about(s.both.Count()*s.ids.Share(), s.ids.Share(), "id is", "ids are")+" in two columns that name persons",
			page.Shown(s.example)+" is in "+page.Shown(s.first)+" and in "+page.Shown(s.second)+", so it becomes one person. If these are different ones, such as a user 18 "+
				"and a session 18, give one column a prefix: --map 'person="+page.Shown(s.second)+"|prefix:"+page.Shown(s.second)+"-'.")
	}
	if n := h.Cases.other.Count() * h.Cases.ids.Share(); n > 0 {
		level := page.Info
		if strings.Contains(h.Cases.example, "@") {
			level = page.Warn
		}
		list = append(list, page.NewFinding(level, about(n, h.Cases.ids.Share(), "id differs", "ids differ")+" from another only in case",
			h.Cases.differ()+". To PostHog these are different persons. If they are one, write the ids in one case in the files.", "duplicates"))
	}
	if h.Excel.N > 0 {
		warn("duplicates", page.Plural(h.Excel.N, "event has", "events have")+" an id that a spreadsheet has rounded",
			"Such as "+page.Shown(h.Excel.Example)+": Excel writes numbers of 12 digits and more so, and the ids of several persons become one. Export the files again, and open them in no spreadsheet.")
	}
	if h.NULs.N > 0 {
		warn("warnings", page.Plural(h.NULs.N, "event has", "events have")+" a NUL character in a property",
			"Such as "+page.Shown(place(h.NULs.At))+". PostHog's database of persons takes no NUL, so another character (U+FFFD) is in its place in properties of persons. "+
				"Remove it from the files if the values matter.")
	}
	if h.Clocks.N > 0 {
		warn("time", page.Plural(h.Clocks.N, "call has", "calls have")+" a timestamp that is years from its originalTimestamp",
			page.Shown(h.Clocks.Example)+". The timestamp counts, which Segment makes of originalTimestamp, sentAt and receivedAt: it is right where the clock of a "+
				"device was wrong, and wrong where a program set sentAt or timestamp by hand. Compare one with receivedAt, and correct the files.")
	}
	if h.Twice.N > 0 {
		warn("time", page.Plural(h.Twice.N, "event is", "events are")+" at a time that the clocks of "+page.Shown(h.Zone)+" show twice",
			"At the end of summer time an hour comes again, and the files do not say which is meant. The first counts, such as for "+page.Shown(h.Twice.Example)+". Some may be an hour later.")
	}
	if h.Unnamed {
		warn("events", "A column has no name", "Its values become a property without a name. pandas writes such a column for its index. "+
			"Give it a name in the header of the files, or, with the formats csv, tsv and generic, leave it out: --map 'drop=\"\"'.")
	}
	if h.NoID > 0 {
		warn("events", page.Plural(h.NoID, "event names", "events name")+" no person",
			"They are left out, since PostHog stores no event without one. --no-id ID sends them as events of one person with that id. "+
				"--skip-no-id says that they are to be left out.")
	}
	return append(list, h.Twins.findings()...)
}

// about returns a number of things, of which one in a share was looked at.
func about(n, share int64, one, several string) string {
	if share > 1 {
		return "about " + page.Plural(Rounded(n), one, several)
	}
	return page.Plural(n, one, several)
}

// YearsApart reports whether two times cannot be the same moment on any clock.
func YearsApart(a, b time.Time) bool {
	const year = 365 * 24 * time.Hour
	return !a.IsZero() && !b.IsZero() && a.Sub(b).Abs() >= year
}
