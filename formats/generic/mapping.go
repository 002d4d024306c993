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
	targetDrop      = "drop"
	targetAll       = "*"
	setPrefix       = "$set."
	setOncePrefix   = "$set_once."
)

var targets = []string{targetEvent, targetPerson, targetAnonymous, targetTime, targetUUID, targetDrop, targetAll}

// aliases are other names of targets, and the columns that are taken for them where the map does
// not say otherwise.
var aliases = map[string]string{
	targetEvent: targetEvent, targetUUID: targetUUID,
	"distinct_id": targetPerson, "timestamp": targetTime, "anonymous_id": targetAnonymous,
}

// use is an entry of the map.
type use struct {
	text       string // as it was given
	order      int    // in the map
	target     string
	isProperty bool // the target is the name of a property
	path       []string
	constant   []byte // as JSON; nil: there is a path
	conversion conversion
	layout     string // of asLayout
}

func (u *use) from() string {
	if u.constant != nil {
		return "a constant"
	}
	return strings.Join(u.path, ".")
}

type conversion string

// Conversions.
const (
	asIs           conversion = ""
	asUnix         conversion = "unix"   // seconds since 1970
	asUnixMS       conversion = "unixms" // milliseconds
	asUnixUS       conversion = "unixus" // microseconds
	asLayout       conversion = "layout" // a layout of package time
	asNumber       conversion = "number" // a text that is a number
	asJSON         conversion = "json"   // a text that is JSON
	layoutPrefix              = "layout:"
	constantPrefix            = "const:"
)

var conversions = []conversion{asUnix, asUnixMS, asUnixUS, asNumber, asJSON}

// parse reads a mapping: TARGET=PATH, TARGET=PATH|CONVERSION or TARGET=const:TEXT.
func parse(text string) (*use, error) {
	p := &parser{text: text}
	u, err := p.mapping()
	if err != nil {
		return nil, err
	}
	u.text = text
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
		case !u.isProperty && u.target != targetEvent && u.target != targetPerson:
			return nil, p.fail(p.at, "only the event, the person and properties can be constant")
		case constant == "":
			return nil, p.fail(len(p.text), "a text is missing after const:")
		}
		if u.constant, err = jsonb.AppendString(nil, constant); err != nil {
			return nil, p.fail(p.at+len(constantPrefix), "the text is not UTF-8")
		}
		return u, nil
	}
	for {
		name, err := p.name(".|", "a name")
		if err != nil {
			return nil, err
		}
		u.path = append(u.path, name)
		if p.at == len(p.text) || p.text[p.at] == '|' {
			break
		}
		p.at++ // the dot
	}
	if p.at < len(p.text) {
		p.at++ // the bar
		return u, p.convert(u)
	}
	return u, nil
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
	if strings.HasPrefix(p.text[start:], `"`) {
		quoted, err := strconv.QuotedPrefix(p.text[start:])
		if err != nil {
			return "", p.fail(start, "this quote has no end")
		}
		p.at += len(quoted)
		if p.at < len(p.text) && !strings.ContainsRune(marks, rune(p.text[p.at])) {
			return "", p.fail(p.at, "after a quoted name, %s is expected", orEnd(marks))
		}
		name, err := strconv.Unquote(quoted)
		switch {
		case err != nil || name == "":
			return "", p.fail(start, "%s is missing", what)
		case !utf8.ValidString(name):
			return "", p.fail(start, "the name is not UTF-8")
		}
		return name, nil
	}
	end := strings.IndexAny(p.text[start:], marks)
	if end < 0 {
		end = len(p.text) - start
	}
	name := p.text[start : start+end]
	switch at := strings.IndexByte(name, '"'); {
	case strings.TrimSpace(name) == "":
		return "", p.fail(start, "%s is missing", what)
	case at >= 0:
		return "", p.fail(start+at, "a quote belongs around a whole name")
	case !utf8.ValidString(name):
		return "", p.fail(start, "the name is not UTF-8")
	}
	p.at = start + end
	return name, nil
}

func orEnd(marks string) string {
	return strings.Join(strings.Split(marks, ""), " or ") + " or the end"
}

// convert reads the conversion after the bar.
func (p *parser) convert(u *use) error {
	start := p.at
	name := p.text[start:]
	isTime := u.target == targetTime && !u.isProperty
	if layout, ok := strings.CutPrefix(name, layoutPrefix); ok {
		u.conversion, u.layout = asLayout, layout
		if !isTime {
			return p.fail(start, "a layout is for the time only")
		}
		if want := wantLayout(layout); want != "" {
			return p.fail(start+len(layoutPrefix), "%s", want)
		}
		return nil
	}
	u.conversion = conversion(name)
	if !slices.Contains(conversions, u.conversion) {
		return p.fail(start, "want unix, unixms, unixus, layout:…, number or json")
	}
	isUnix := slices.Contains([]conversion{asUnix, asUnixMS, asUnixUS}, u.conversion)
	isAll := !u.isProperty && u.target == targetAll
	switch {
	case !u.isProperty && u.target == targetDrop:
		return p.fail(start, "what is dropped is not read")
	case isUnix && !isTime:
		return p.fail(start, "%s is for the time only", name)
	case isTime && !isUnix:
		return p.fail(start, "the time is read by unix, unixms, unixus or layout:…")
	case isAll && u.conversion != asJSON:
		return p.fail(start, "only json can be read into many properties")
	case !u.isProperty && !isTime && !isAll:
		return p.fail(start, "the %s is read as it is", u.target)
	}
	return nil
}
