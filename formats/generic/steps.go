package generic

import "slices"

type conversion string

// Conversions, and the conditions of skip and drop.
const (
	asIs       conversion = ""
	asUnix     conversion = "unix"   // seconds since 1970
	asUnixMS   conversion = "unixms" // milliseconds
	asUnixUS   conversion = "unixus" // microseconds
	asUnixNS   conversion = "unixns" // nanoseconds
	asLayout   conversion = "layout" // a layout of package time
	asNumber   conversion = "number" // a text that is a number
	asText     conversion = "text"   // a number as its digits
	asBool     conversion = "bool"   // a text that is true or false
	asJSON     conversion = "json"   // a text that is JSON
	whenIs     conversion = "is"     // one of some texts
	whenNot    conversion = "not"    // another text, or empty
	whenEmpty  conversion = "empty"
	whenFilled conversion = "filled"
)

// Steps that are no conversions.
const (
	stepTable  = "table"
	stepZone   = "zone"
	stepPrefix = "prefix"
)

var (
	timeKinds     = []conversion{asUnix, asUnixMS, asUnixUS, asUnixNS, asLayout}
	propertyKinds = []conversion{asNumber, asText, asBool, asJSON}
	conditions    = []conversion{whenIs, whenNot, whenEmpty, whenFilled}
	withArgument  = []string{string(asLayout), stepTable, stepZone, stepPrefix, string(whenIs), string(whenNot)}
)

// wantStep names the steps that suit the target.
func (u *use) wantStep() string {
	switch {
	case u.is(targetTime):
		return "want unix, unixms, unixus, unixns, layout:… or zone:…"
	case u.is(targetSkip):
		return "want is:…, not:…, empty or filled"
	case u.is(targetDrop):
		return "want empty or json.…"
	case u.is(targetAll, targetEach):
		return "want json or json.…"
	case u.isProperty:
		return "want number, number:…, text, bool, json, json.… or table:…"
	}
	return "want json.…, table:… or prefix:…"
}

// step reads the text after a bar.
func (p *parser) step(u *use) error {
	start := p.at
	name := p.until("|:.")
	mark := byte(0)
	if !p.isDone() {
		mark = p.text[p.at]
	}
	isKnown := name == stepTable || name == stepZone || name == stepPrefix || slices.Contains(slices.Concat(timeKinds, propertyKinds, conditions), conversion(name))
	switch needs := slices.Contains(withArgument, name); {
	case !isKnown,
		mark == '.' && name != string(asJSON),
		mark == ':' && !needs && name != string(asNumber),
		mark == 0 && needs:
		return p.fail(start, "%s", u.wantStep())
	case u.conversion != asIs:
		return p.fail(start, "nothing follows %s", u.conversion)
	}
	if err := p.suits(u, start, name, mark); err != nil {
		return err
	}
	if mark != 0 {
		p.at++
	}
	return p.argument(u, name, mark)
}

// suits refuses a step that has no meaning for the target.
func (p *parser) suits(u *use, start int, name string, mark byte) error {
	kind, isMember := conversion(name), mark == '.'
	isTime := u.is(targetTime)
	switch {
	case name == stepPrefix && !u.is(targetPerson, targetAnonymous):
		return p.fail(start, "a prefix is for ids of persons only")
	case name == stepPrefix && u.prefix != "":
		return p.fail(start, "there is a prefix already")
	case name == stepPrefix:
		return nil
	case isMember && u.table == nil && u.zone == nil: // which is in the source
		return nil
	case isMember:
		return p.fail(start, "json comes before the other steps")
	case u.is(targetDrop) && kind != whenEmpty:
		return p.fail(start, "what is dropped is not read")
	case u.is(targetSkip) && !slices.Contains(conditions, kind):
		return p.fail(start, "a condition of skip is is:…, not:…, empty or filled")
	case u.is(targetSkip), u.is(targetDrop):
		return nil
	case slices.Contains(conditions, kind):
		return p.fail(start, "%s is for skip only", name)
	case !isTime && (kind == asLayout || name == stepZone):
		return p.fail(start, "a %s is for the time only", name)
	case !isTime && slices.Contains(timeKinds, kind):
		return p.fail(start, "%s is for the time only", name)
	case isTime && name != stepZone && !slices.Contains(timeKinds, kind):
		return p.fail(start, "the time is read by unix, unixms, unixus, unixns or layout:…")
	case isTime && u.zone != nil && kind != asLayout:
		return p.fail(start, "with a zone, only layout:… can follow")
	case u.is(targetAll) && kind != asJSON:
		return p.fail(start, "only json can be read into many properties")
	case u.is(targetEach) && kind != asJSON:
		return p.fail(start, "only json can be read into several events")
	case name == stepTable && u.table != nil:
		return p.fail(start, "there is a table already")
	case !u.isProperty && !isTime && !u.is(targetAll, targetEach) && (name != stepTable || u.target == targetUUID):
		return p.fail(start, "the %s is read as it is", u.target)
	case u.table != nil && kind == asJSON:
		return p.fail(start, "json comes before the table")
	}
	return nil
}

// argument reads the text after the name of a step.
func (p *parser) argument(u *use, name string, mark byte) (err error) {
	start := p.at
	switch kind := conversion(name); {
	case name == stepTable:
		u.table, err = p.table()
		return err
	case name == stepPrefix:
		if u.prefix = p.until("|"); u.prefix == "" {
			return p.fail(start, "a text is missing after prefix:")
		}
		return nil
	case name == stepZone:
		u.zone = &use{}
		u.zone.path, err = p.path()
		return err
	case mark == '.': // of json
		u.texts = append(u.texts, len(u.path)-1)
		path, err := p.path()
		u.path = append(u.path, path...)
		return err
	case kind == asLayout:
		u.conversion, u.layout, p.at = kind, p.text[start:], len(p.text)
		if want := wantLayout(u.layout); want != "" {
			return p.fail(start, "%s", want)
		}
		if u.zone != nil && hasOffset(u.layout) {
			return p.fail(start, "times of this layout have an offset, so there is no zone to name")
		}
		return nil
	case kind == asNumber && mark == ':':
		u.conversion = kind
		if u.form = formOf(p.until("|")); u.form == nil {
			return p.fail(start, "want the number 1234.5 as it is written here, such as 1234,5 or 1.234,5")
		}
		return nil
	case kind == whenIs || kind == whenNot:
		u.conversion = kind
		u.values, err = p.list(",", "a text")
		return err
	default:
		u.conversion = kind
		return nil
	}
}

// table reads FROM=TO with commas between.
func (p *parser) table() (*table, error) {
	t := &table{to: map[string]entry{}}
	for {
		start := p.at
		from, isQuoted, err := p.word("=,|", "a text")
		switch {
		case err != nil:
			return nil, err
		case p.at == len(p.text) || p.text[p.at] != '=':
			return nil, p.fail(p.at, "= is missing: a table is FROM=TO, such as page_view=$pageview,*=*")
		}
		p.at++
		to, toIsQuoted, err := p.word(",|", "a text")
		if err != nil {
			return nil, err
		}
		e := entry{text: to, isSame: to == targetAll && !toIsQuoted}
		_, isTwice := t.to[from]
		isOthers := from == targetAll && !isQuoted
		switch {
		case isTwice && !isOthers, isOthers && t.others != nil:
			return nil, p.fail(start, "this is in the table already")
		case from == "" && !isQuoted:
			return nil, p.fail(start, "a text is missing")
		case from == "":
			return nil, p.fail(start, "what is empty is not looked up: give the target a further source")
		case isOthers:
			t.others = &e
		default:
			t.to[from] = e
		}
		if p.isDone() {
			return t, nil
		}
		p.at++ // the comma
	}
}
