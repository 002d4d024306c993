package generic

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// table has other texts for values.
type table struct {
	to     map[string]entry
	others *entry // for values that are not in it; nil: they are refused
}

// entry is a text in place of a value.
type entry struct {
	text   string
	isSame bool // the value stays as it is
}

// of returns the value in the place of another one, or nil if it is empty.
func (t *table) of(value []byte) ([]byte, error) {
	s, err := scalar(value)
	if err != nil {
		return nil, err
	}
	e, ok := t.to[s]
	switch {
	case ok:
	case t.others != nil:
		e = *t.others
	default:
		return nil, fmt.Errorf("the table has no %s: add it, or *=* to keep all others", shown(value))
	}
	switch {
	case e.isSame:
		return value, nil
	case e.text == "":
		return nil, nil
	}
	return jsonb.AppendString(nil, e.text)
}

// holds reports whether the condition of skip holds for a value, which is nil if it is empty.
func (u *use) holds(value []byte) (bool, error) {
	switch u.conversion { //nolint:exhaustive // others are no conditions
	case whenEmpty:
		return value == nil, nil
	case whenFilled:
		return value != nil, nil
	}
	if value == nil {
		return u.conversion == whenNot, nil
	}
	s, err := scalar(value)
	return slices.Contains(u.values, s) == (u.conversion == whenIs), err
}

// property returns the value of a property by the conversion.
func (u *use) property(value []byte) ([]byte, error) {
	switch u.conversion { //nolint:exhaustive // others are not for properties
	case asJSON:
		return textAsJSON(value)
	case asNumber:
		return u.number(value)
	case asText:
		s, err := scalar(value)
		if err != nil {
			return nil, err
		}
		return jsonb.AppendString(nil, s)
	case asBool:
		return boolOf(value)
	}
	return value, nil
}

func (u *use) number(value []byte) ([]byte, error) {
	s, err := textOf(value)
	if err != nil {
		return nil, err
	}
	bad := fmt.Errorf("want a number, not %s", shown(value))
	if u.form != nil && value[0] == '"' {
		var ok bool
		if s, ok = u.form.read(s); !ok {
			return nil, fmt.Errorf("want a number such as %s, not %s", u.form.example, shown(value))
		}
	}
	if s == "" || s[0] != '-' && (s[0] < '0' || s[0] > '9') || jsonb.Valid([]byte(s)) != nil {
		return nil, bad
	}
	return []byte(s), nil
}

// numberForm says how numbers are written.
type numberForm struct {
	example string // 1234.5
	group   rune   // between each three digits; 0: nothing
	point   rune   // before the fraction
}

// formOf returns the form in which 1234.5 is written so, or nil if it is no form.
func formOf(example string) *numberForm {
	rest, isNumber := strings.CutPrefix(example, "1")
	head, digits, hasGroup := strings.Cut(rest, "234")
	tail, isHalf := strings.CutSuffix(digits, "5")
	group, size := utf8.DecodeRuneInString(head)
	if size == 0 {
		group = 0
	}
	isMark := func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(".,'’_", r) }
	switch {
	case !isNumber || !hasGroup || !isHalf || tail != "," && tail != ".",
		len(head) != size, size > 0 && !isMark(group), head == tail:
		return nil
	}
	return &numberForm{example, group, rune(tail[0])}
}

// read returns a number of the form as JSON writes it. It keeps all digits.
func (f *numberForm) read(s string) (string, bool) {
	number, isNegative := strings.CutPrefix(strings.TrimSpace(s), "-")
	if !isNegative {
		number = strings.TrimPrefix(number, "+")
	}
	whole, fraction, hasFraction := strings.Cut(number, string(f.point))
	isDigits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	isGroup := func(r rune) bool { return r == f.group || unicode.IsSpace(r) && unicode.IsSpace(f.group) }
	if groups := strings.FieldsFunc(whole, isGroup); f.group != 0 && len(groups) > 1 {
		for i, group := range groups {
			if i == 0 && (len(group) > 3 || group == "0") || i > 0 && len(group) != 3 {
				return "", false
			}
		}
		if utf8.RuneCountInString(whole) != len(strings.Join(groups, ""))+len(groups)-1 { // two marks, or one at an end
			return "", false
		}
		whole = strings.Join(groups, "")
	}
	if !isDigits(whole) || hasFraction && !isDigits(fraction) {
		return "", false
	}
	if hasFraction {
		whole += "." + fraction
	}
	if isNegative {
		whole = "-" + whole
	}
	return whole, true
}

func boolOf(value []byte) ([]byte, error) {
	s, err := scalar(value)
	if err != nil {
		return nil, err
	}
	switch strings.ToLower(s) {
	case "true", "t", "yes", "y", "1":
		return []byte("true"), nil
	case "false", "f", "no", "n", "0":
		return []byte("false"), nil
	}
	return nil, fmt.Errorf("want true or false (t, f, yes, no, y, n, 1, 0), not %s", shown(value))
}

// textAsJSON returns the JSON in a text, and any other value as it is.
func textAsJSON(value []byte) ([]byte, error) {
	if value[0] != '"' {
		return value, nil
	}
	s, err := jsonb.Unquote(value)
	if err != nil {
		return nil, err
	}
	s = strings.TrimSpace(s)
	if err := jsonb.Valid([]byte(s)); err != nil {
		return nil, fmt.Errorf("want JSON, not %s", shown(value))
	}
	return []byte(s), nil
}

// textOf is a text, or a number as its digits.
func textOf(value []byte) (string, error) {
	switch first := value[0]; {
	case first == '"':
		return jsonb.Unquote(value)
	case first == '-' || '0' <= first && first <= '9':
		return string(value), nil
	case first == '[':
		return "", fmt.Errorf("want a text or a number, not a list: %s", shown(value))
	case first == '{':
		return "", fmt.Errorf("want a text or a number, not an object, of which a member can be named (a.b): %s", shown(value))
	}
	return "", fmt.Errorf("want a text or a number, not %s", shown(value))
}

var errNested = errors.New("want a text, a number, true or false")

// scalar is textOf, and true or false as such a text.
func scalar(value []byte) (string, error) {
	switch value[0] {
	case 't', 'f':
		return string(value), nil
	case '[', '{':
		return "", fmt.Errorf("%w, not %s", errNested, shown(value))
	}
	return textOf(value)
}

// shown is the beginning of a value, for an error.
func shown(value []byte) string {
	const most = 40
	if len(value) > most {
		return strings.ToValidUTF8(string(value[:most]), "") + "…"
	}
	return string(value)
}
