package formats

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/internal/channel"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// PropertyTypes counts the values of a property by their type in JSON. PostHog gives a property one type, so values of
// others are missing from sums, averages and comparisons.
type PropertyTypes struct {
	Numbers  int64 `json:"numbers,omitempty"`
	Texts    int64 `json:"texts,omitempty"`
	Booleans int64 `json:"booleans,omitempty"`
	Lists    int64 `json:"lists,omitempty"`
	Objects  int64 `json:"objects,omitempty"`
	Nulls    int64 `json:"nulls,omitempty"`
}

// IsMixed reports whether there are values of more than one type. A null is a value of any type.
func (p PropertyTypes) IsMixed() bool {
	kinds := 0
	for _, n := range []int64{p.Numbers, p.Texts, p.Booleans, p.Lists, p.Objects} {
		if n > 0 {
			kinds++
		}
	}
	return kinds > 1
}

// String returns the shares of the types, the largest first, such as "90.0 % number, 10.0 % text".
func (p PropertyTypes) String() string {
	const percent = 100
	counts := map[string]int64{"number": p.Numbers, "text": p.Texts, "true or false": p.Booleans, "list": p.Lists, "object": p.Objects, "null": p.Nulls}
	maps.DeleteFunc(counts, func(_ string, n int64) bool { return n == 0 })
	all := int64(0)
	for _, n := range counts {
		all += n
	}
	var parts []string
	for _, kind := range bySize(counts) {
		parts = append(parts, fmt.Sprintf("%.1f %% %s", float64(percent*counts[kind])/float64(all), kind))
	}
	return strings.Join(parts, ", ")
}

// of returns the counter of the type of a value in JSON.
func (p *PropertyTypes) of(first byte) *int64 {
	switch first {
	case '"':
		return &p.Texts
	case 't', 'f':
		return &p.Booleans
	case '[':
		return &p.Lists
	case '{':
		return &p.Objects
	case 'n':
		return &p.Nulls
	}
	return &p.Numbers
}

// webField is a property that matters to web analytics.
type webField uint8

const (
	fieldNone webField = iota
	fieldSession
	fieldURL
	fieldCountry
	fieldDomain
	fieldSource
	fieldMedium
	fieldCampaign
	fieldGadSource
	fieldGclid
	fieldFbclid
	fieldPerson
	fieldCount
)

var webFields = map[string]webField{
	"$session_id": fieldSession, "$current_url": fieldURL, "$geoip_country_code": fieldCountry, "$referring_domain": fieldDomain,
	"utm_source": fieldSource, "utm_medium": fieldMedium, "utm_campaign": fieldCampaign, "gad_source": fieldGadSource,
	"gclid": fieldGclid, "fbclid": fieldFbclid, "distinct_id": fieldPerson,
}

// webProperties are the properties of an event that matter to web analytics. They are read when they are needed, and
// valid as long as the event.
type webProperties [fieldCount]webText

// webText is a property: a text, or its JSON. A null is not set.
type webText struct {
	text  string
	raw   []byte
	isSet bool
}

func (t *webText) value() string {
	if t.raw != nil {
		return webTextOfRaw(t.raw)
	}
	return t.text
}

func (t *webText) read() channel.Text { return channel.Text{Value: t.value(), Set: t.isSet} }

func (p *webProperties) touch() channel.Touch {
	return channel.Touch{
		Source: p[fieldSource].read(), Medium: p[fieldMedium].read(), Campaign: p[fieldCampaign].read(), Domain: p[fieldDomain].read(),
		GadSource: p[fieldGadSource].read(), HasGclid: p[fieldGclid].isSet, HasFbclid: p[fieldFbclid].isSet,
	}
}

// webProperty is what is known of a property that events have.
type webProperty struct {
	isKnown bool // field is set
	field   webField
	types   PropertyTypes
}

// count counts a value by the first byte of its JSON, and reports whether it matters to web analytics.
func (p *webProperty) count(name string, first byte) bool {
	if !p.isKnown {
		p.field, p.isKnown = webFields[name], true
	}
	*p.types.of(first)++
	return p.field != fieldNone && first != 'n'
}

// maxProperties are the properties of which the types are counted.
const maxProperties = 1000

// propertiesOf reads the properties of an event, and counts their types.
func (w *WebAnalytics) propertiesOf(ev *hogapi.Event, view *jsonb.View, p *webProperties) {
	for name, value := range ev.Properties {
		if known, _ := w.properties.at([]byte(name)); known.of.count(name, firstOf(value)) {
			p[known.of.field] = webText{text: webTextOf(value), isSet: true}
		}
	}
	if len(ev.RawProperties) == 0 {
		return
	}
	known := &w.properties.first
	note := func(key, value []byte) {
		if known = w.properties.after(known, key); known.of.count(known.name, value[0]) {
			p[known.of.field] = webText{raw: value, isSet: true}
		}
	}
	if view.IsOf(ev.RawProperties) {
		view.Each(func(key, value []byte, _ bool) { note(key, value) })
		return
	}
	_ = jsonb.Object(ev.RawProperties, note) // of damaged ones, those before the fault
}

// firstOf returns a byte with which the JSON of a value may begin.
func firstOf(value any) byte {
	switch v := value.(type) {
	case string, time.Time, []byte:
		return '"'
	case float64, int, int64, json.Number:
		return '1'
	case bool:
		return 't'
	case nil:
		return 'n'
	case map[string]any:
		return '{'
	case []any:
		return '['
	case json.RawMessage:
		if text := strings.TrimSpace(string(v)); text != "" {
			return text[0]
		}
		return 'n'
	}
	if _, isText := value.(interface{ MarshalText() ([]byte, error) }); isText {
		return '"'
	}
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.String:
		return '"'
	case reflect.Bool:
		return 't'
	case reflect.Slice, reflect.Array:
		return '['
	case reflect.Map, reflect.Struct:
		return '{'
	case reflect.Pointer:
		if v.IsNil() {
			return 'n'
		}
		return firstOf(v.Elem().Interface())
	default:
		return '1'
	}
}

// webTextOf returns a value as PostHog's sessions table has it: a text, or the JSON of other values.
func webTextOf(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return webTextOfRaw(text)
}

func webTextOfRaw(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return string(value)
	}
	if !slices.Contains(value, '\\') {
		return string(value[1 : len(value)-1])
	}
	var text string
	_ = json.Unmarshal(value, &text) // of bad text, nothing
	return text
}
