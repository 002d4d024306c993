package generic

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// MapError is an entry of [Options.Map] that cannot be understood.
type MapError struct {
	Mapping string // as it was given
	Column  int    // of the fault, in characters from 1
	Text    string // the fault
}

// Error shows the entry and points at the fault.
func (e *MapError) Error() string {
	const lead = "  "
	return "Options.Map cannot be understood:\n" + lead + e.Mapping + "\n" + lead + strings.Repeat(" ", e.Column-1) + "^ " + e.Text
}

func mapError(mapping string, at int, text string) error {
	return &MapError{mapping, utf8.RuneCountInString(mapping[:min(at, len(mapping))]) + 1, text}
}

// Targets that are not names of properties.
const (
	targetEvent     = "event"
	targetPerson    = "person"
	targetAnonymous = "anonymous"
	targetTime      = "time"
	targetUUID      = "uuid"
	targetSession   = "session"
	targetDrop      = "drop"
	targetSkip      = "skip"
	targetAll       = "*"
	targetEach      = "[]"
	setPrefix       = "$set."
	setOncePrefix   = "$set_once."
)

var targets = []string{
	targetEvent, targetPerson, targetAnonymous, targetTime, targetUUID, targetSession, targetDrop, targetSkip, targetAll, targetEach,
}

// aliases are other names of targets, and the columns that are taken for them where the map does
// not say otherwise.
var aliases = map[string]string{
	targetEvent: targetEvent, targetUUID: targetUUID,
	"distinct_id": targetPerson, "timestamp": targetTime, "anonymous_id": targetAnonymous,
}

// use is an entry of the map, or the column that an entry names besides its source.
type use struct {
	text       string // as it was given
	order      int    // in the map
	target     string // empty for the column of a zone
	isProperty bool   // the target is the name of a property
	path       []string
	texts      []int  // numbers of names in the path: a member of the JSON that is in a text there follows
	isAll      bool   // of drop: all that is empty
	inList     bool   // the path is within the elements of the list
	constant   []byte // as JSON; nil: there is a path
	table      *table // of values; nil: they stay
	conversion conversion
	prefix     string      // before the text
	layout     string      // of asLayout
	zone       *use        // of the time; nil: Options.Zone
	form       *numberForm // of asNumber; nil: as JSON writes numbers
	values     []string    // of whenIs and whenNot
}

// is reports whether the target is one of the given ones, and not a property.
func (u *use) is(targets ...string) bool { return !u.isProperty && slices.Contains(targets, u.target) }

func (u *use) from() string {
	if u.constant != nil {
		return "a constant"
	}
	return strings.Join(u.path, ".")
}

// constantPrefix begins a source that is a text.
const constantPrefix = "const:"

// parse reads a mapping: TARGET=PATH, TARGET=PATH|STEP… or TARGET=const:TEXT.
func parse(text string) (*use, error) {
	p := &parser{text: text}
	u, err := p.mapping()
	if err != nil {
		return nil, err
	}
	u.text = text
	if u.zone != nil {
		u.zone.text = text
	}
	return u, nil
}

type parser struct {
	text string
	at   int // the next byte
}

func (p *parser) fail(at int, format string, args ...any) error {
	return mapError(p.text, at, fmt.Sprintf(format, args...))
}

func (p *parser) mapping() (*use, error) {
	u, err := p.target()
	if err != nil {
		return nil, err
	}
	if constant, ok := strings.CutPrefix(p.text[p.at:], constantPrefix); ok {
		switch {
		case !u.isProperty && !u.is(targetEvent, targetPerson):
			return nil, p.fail(p.at, "only the event, the person and properties can be constant")
		case constant == "":
			return nil, p.fail(len(p.text), "a text is missing after const:")
		}
		if u.constant, err = jsonb.AppendString(nil, constant); err != nil {
			return nil, p.fail(p.at+len(constantPrefix), "the text is not UTF-8")
		}
		return u, nil
	}
	source := p.at
	if u.path, err = p.path(); err != nil {
		return nil, err
	}
	for p.at < len(p.text) {
		p.at++ // the bar
		if err := p.step(u); err != nil {
			return nil, err
		}
	}
	u.isAll = u.is(targetDrop) && u.conversion == whenEmpty && p.text[source:] == targetAll+"|"+string(whenEmpty)
	if u.is(targetSkip) && u.conversion == asIs {
		return nil, p.fail(len(p.text), `a condition is missing: |is:TEXT, |not:TEXT, |empty or |filled; for a property of this name write "skip"=…`)
	}
	return u, nil
}

// path reads names with dots between.
func (p *parser) path() ([]string, error) { return p.list(".", "a name") }

// list reads names with a mark between, up to a bar or the end.
func (p *parser) list(mark, what string) (names []string, err error) {
	for {
		name, err := p.name(mark+"|", what)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
		if p.isDone() {
			return names, nil
		}
		p.at++ // the mark
	}
}

// isDone reports whether a step, or the whole entry, ends here.
func (p *parser) isDone() bool { return p.at == len(p.text) || p.text[p.at] == '|' }

// until reads a text up to one of the marks or the end.
func (p *parser) until(marks string) string {
	text := p.text[p.at:]
	if end := strings.IndexAny(text, marks); end >= 0 {
		text = text[:end]
	}
	p.at += len(text)
	return text
}

// target reads up to the equals sign.
func (p *parser) target() (*use, error) {
	start := p.at
	isQuoted := strings.HasPrefix(p.text, `"`)
	name, err := p.name("=", "a target, such as time or person,")
	if err != nil {
		return nil, err
	}
	if p.at == len(p.text) {
		return nil, p.fail(p.at, "= is missing: TARGET=PATH, such as time=when")
	}
	p.at++
	if !isQuoted && strings.TrimSpace(name) != name {
		return nil, p.fail(start, "a target with blanks around it belongs in quotes")
	}
	u := &use{target: name}
	if alias := aliases[name]; alias != "" && !isQuoted {
		u.target = alias
	}
	u.isProperty = isQuoted || !slices.Contains(targets, u.target)
	if u.isProperty && (name == setPrefix || name == setOncePrefix) {
		return nil, p.fail(start+len(name), "the name of a person property is missing")
	}
	return u, nil
}

// name reads a name up to one of the marks, or a quoted one.
func (p *parser) name(marks, what string) (string, error) {
	start := p.at
	name, isQuoted, err := p.word(marks, what)
	switch {
	case err != nil:
		return "", err
	case isQuoted && name == "" && marks == "=", !isQuoted && strings.TrimSpace(name) == "": // a column can have no name
		p.at = start
		return "", p.fail(start, "%s is missing", what)
	}
	return name, nil
}

// word reads a text up to one of the marks, or a quoted one. It can be empty.
func (p *parser) word(marks, what string) (text string, isQuoted bool, err error) {
	start := p.at
	if strings.HasPrefix(p.text[start:], `"`) {
		quoted, err := strconv.QuotedPrefix(p.text[start:])
		if err != nil {
			return "", true, p.fail(start, "this quote has no end")
		}
		p.at += len(quoted)
		if p.at < len(p.text) && !strings.ContainsRune(marks, rune(p.text[p.at])) {
			return "", true, p.fail(p.at, "after a quoted name, %s is expected", orEnd(marks))
		}
		text, err = strconv.Unquote(quoted)
		switch {
		case err != nil:
			return "", true, p.fail(start, "%s is missing", what)
		case !utf8.ValidString(text):
			return "", true, p.fail(start, "the name is not UTF-8")
		}
		return text, true, nil
	}
	text = p.until(marks)
	switch at := strings.IndexByte(text, '"'); {
	case at >= 0:
		return "", false, p.fail(start+at, "a quote belongs around a whole name")
	case !utf8.ValidString(text):
		return "", false, p.fail(start, "the name is not UTF-8")
	}
	return text, false, nil
}

func orEnd(marks string) string {
	return strings.Join(strings.Split(marks, ""), " or ") + " or the end"
}
