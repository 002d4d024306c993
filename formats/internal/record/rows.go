package record

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// Rows reads rows of tables by a Table. Columns that the table does not know keep their names.
type Rows struct {
	Out  Properties
	Rest []Member // the columns that the table does not know

	values *Values
	prefix string
	keep   func(field string, value []byte) // bound once
	visit  jsonb.Visitor                    // bound once
}

// NewRows returns a reader of rows. The prefix is of names that something else has already.
func NewRows(table Table, prefix string) *Rows {
	r := &Rows{values: table.Values(), prefix: prefix}
	r.keep, r.visit = r.Keep, r.Visit
	return r
}

// Begin forgets the row before.
func (r *Rows) Begin() {
	r.values.Begin()
	r.Out.Begin()
	clear(r.Rest)
	r.Rest = r.Rest[:0]
}

// Read reads a row.
func (r *Rows) Read(raw []byte) error { return jsonb.Object(raw, r.visit) }

// Visit notes a column.
func (r *Rows) Visit(key, value []byte) {
	if !r.values.Take(key, value) {
		r.Rest = append(r.Rest, Member{key, value})
	}
}

// Number is the number of a column of the table, or zero.
func (r *Rows) Number(column string) int64 {
	n, _ := Int(r.values.Get(column))
	return n
}

// Get is the raw value of a column of the table, or nil.
func (r *Rows) Get(column string) []byte { return r.values.Get(column) }

// Set replaces the value of a column of the table.
func (r *Rows) Set(column string, value []byte) { r.values.Take([]byte(column), value) }

// Text is the text of a column of the table, or "". A number is its digits.
func (r *Rows) Text(column string) string {
	text, _ := ID("", r.values.Get(column))
	return text
}

// Time is the time in the first of some columns that is not empty: see [TableTime]. If all
// are, the error names the last of them.
func (r *Rows) Time(columns ...string) (time.Time, error) {
	for _, column := range columns {
		raw := r.values.Get(column)
		if IsNone(raw) {
			continue
		}
		at, err := TableTime(raw)
		if err != nil {
			return time.Time{}, fmt.Errorf("%s: %w", column, err)
		}
		return at, nil
	}
	return time.Time{}, Want(columns[len(columns)-1], "a time", nil)
}

// AddColumns adds the properties of the table, and the other columns under their own names.
func (r *Rows) AddColumns() {
	for i, row := range r.values.table {
		if numeric[row.To] {
			r.values.raw[i] = Number(r.values.raw[i])
		}
	}
	r.values.Add(&r.Out, r.keep)
	for _, m := range r.Rest {
		if !IsNone(m.Value) {
			r.Keep(string(m.Name), m.Value)
		}
	}
}

// Keep adds a column under its own name or, where that is taken or PostHog acts on it, with the prefix.
func (r *Rows) Keep(name string, value []byte) {
	if IsReserved(name) {
		name = r.prefix + strings.TrimPrefix(name, "$")
	}
	r.Out.Object.Keep(r.prefix, name, value)
}

// AddWeb adds the properties that follow from the URL of the page and of the referrer. A page view without a referrer
// has "$direct", as live ones do.
func (r *Rows) AddWeb(isPageView bool) {
	if r.Out.Get("$referrer") == nil && isPageView {
		r.Out.AddText("$referrer", "$direct")
	}
	r.Out.AddPage(r.Out.Get("$current_url"))
	r.Out.AddReferrer(r.Out.Get("$referrer"))
}

// AddInner adds the members of an object that the row has in a column or in a text, under their own names. It reports
// whether there is an object.
func (r *Rows) AddInner(raw []byte) bool {
	raw = Inner(raw)
	if !IsObject(raw) {
		return false
	}
	return jsonb.Object(raw, func(key, value []byte) {
		if !IsNone(value) {
			r.Keep(string(key), value)
		}
	}) == nil
}

// Inner is the list or object in a text, or else the value itself.
func Inner(raw []byte) []byte {
	if len(raw) < len(`"{}"`) || raw[0] != '"' || raw[1] != '{' && raw[1] != '[' {
		return raw
	}
	text, err := jsonb.AppendUnquoted(nil, raw)
	if text = bytes.TrimSpace(text); err != nil || jsonb.Valid(text) != nil {
		return raw
	}
	return text
}

// numeric are the properties of PostHog's live events that are numbers, which a text table has as texts.
var numeric = map[string]bool{
	"$screen_width": true, "$screen_height": true, "$viewport_width": true, "$viewport_height": true,
	"$geoip_latitude": true, "$geoip_longitude": true, "$screen_density": true,
}

// AddAgent adds the missing properties that a user agent tells.
func (o *Object) AddAgent(parse formats.AgentParser, userAgent []byte) {
	if parse == nil || IsNone(userAgent) || !IsText(userAgent) {
		return
	}
	a := parse(Text(userAgent))
	if o.AddGiven("$browser", a.Browser) {
		if v := []byte(a.BrowserVersion); len(v) > 0 && isDigit(v[0]) && jsonb.Valid(v) == nil {
			o.Add("$browser_version", v)
		} else {
			o.AddGiven("$browser_version", a.BrowserVersion)
		}
	}
	if o.AddGiven("$os", a.OS) {
		o.AddGiven("$os_version", a.OSVersion)
	}
	o.AddGiven("$device_type", a.DeviceType)
}

// AddOS adds the operating system and its version in PostHog's words, if the event lacks them: see [OS].
func (o *Object) AddOS(name, version string) {
	name, version = OS(name, version)
	if o.AddGiven("$os", name) {
		o.AddGiven("$os_version", version)
	}
}

// AddBrowser adds the browser and its version in PostHog's words, if the event lacks them: see [Browser].
func (o *Object) AddBrowser(name, version, os string) {
	version = BrowserVersion(version)
	if o.AddGiven("$browser", Browser(name, os)) && version != "" {
		o.Add("$browser_version", []byte(version))
	}
}

// AddCountry adds the code and the name of a country by one of both.
func (o *Object) AddCountry(text string) {
	code := cmp.Or(CountryCode(text), CountryCode(strings.ToUpper(text)))
	o.AddGiven("$geoip_country_code", code)
	o.AddGiven("$geoip_country_name", CountryName(code))
}

// Size is the width and the height in a text such as "1920x1080", as raw numbers, or nil.
func Size(raw []byte) (width, height []byte) {
	w, h, ok := strings.Cut(Text(raw), "x")
	if !ok || !isDigits(w) || !isDigits(h) {
		return nil, nil
	}
	return Number(Quoted(w)), Number(Quoted(h))
}

func isDigits(text string) bool {
	const longest = 6
	digits, rest := Digits(text)
	return digits != "" && rest == "" && len(digits) <= longest && digits[0] != '0'
}

// TableTime is Time for the ways in which warehouses write times: the zone may follow a blank, and is UTC, GMT, Z, or
// an offset such as +00, +0000 and +00:00. Without one the time is in UTC.
func TableTime(raw []byte) (time.Time, error) {
	const shortest, longest = len("2006-01-02 15:04:05"), len("2006-01-02 15:04:05.123456789 +00:00")
	text := Text(raw)
	if len(text) < shortest || len(text) > longest {
		return time.Time{}, errTime
	}
	at, zone := text, ""
	if i := strings.LastIndexAny(text[shortest:], " +-Z"); i >= 0 {
		at, zone = strings.TrimSuffix(text[:shortest+i], " "), text[shortest+i:]
	}
	switch zone = strings.TrimPrefix(zone, " "); {
	case zone == "" || zone == "UTC" || zone == "GMT":
		zone = "Z"
	case len(zone) == len("+00"):
		zone += ":00"
	case len(zone) == len("+0000"):
		zone = zone[:len("+00")] + ":" + zone[len("+00"):]
	}
	return Time([]byte(`"` + at + zone + `"`))
}
