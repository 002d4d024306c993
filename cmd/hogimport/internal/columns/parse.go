package columns

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Error is a mapping that cannot be understood.
type Error struct {
	Mapping string // as it was given
	Column  int    // of what is wrong, in characters from 1
	Text    string // what is wrong
}

// Error shows the mapping and points at the place.
func (e *Error) Error() string {
	const lead = "  "
	return "--map cannot be understood:\n" + lead + e.Mapping + "\n" + lead + strings.Repeat(" ", e.Column-1) + "^ " + e.Text
}

// conversion is how a value is read.
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

// columnAt is the column of a byte of a text.
func columnAt(text string, at int) int { return utf8.RuneCountInString(text[:min(at, len(text))]) + 1 }

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
	return &Error{p.text, columnAt(p.text, at), fmt.Sprintf(format, args...)}
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
		u.constant, u.isConstant = constant, true
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
	special := []string{targetEvent, targetPerson, targetAnonymous, targetTime, targetUUID, targetDrop, targetAll}
	u.isProperty = isQuoted || !slices.Contains(special, u.target)
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
		if err != nil || name == "" {
			return "", p.fail(start, "%s is missing", what)
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

// convert reads what follows the bar.
func (p *parser) convert(u *use) error {
	start := p.at
	name := p.text[start:]
	isTime := u.target == targetTime && !u.isProperty
	if layout, ok := strings.CutPrefix(name, layoutPrefix); ok {
		u.conversion, u.layout = asLayout, layout
		switch sample := time.Date(2001, 2, 3, 16, 5, 6, 0, time.UTC).Format(layout); {
		case !isTime:
			return p.fail(start, "a layout is for the time only")
		case sample == layout:
			return p.fail(start+len(layoutPrefix), "a layout is how 2 January 2006, 15:04:05, is written, such as 02.01.2006 15:04")
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

// hasOffset reports whether times of a layout say how far they are from UTC.
func hasOffset(layout string) bool {
	return strings.Contains(layout, "Z07") || strings.Contains(layout, "-07") || strings.Contains(layout, "MST")
}
