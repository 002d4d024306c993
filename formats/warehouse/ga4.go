package warehouse

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/formats/ga4"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/history"
)

// GA4 reads rows of the table event that Fivetran's connector for the export of Google Analytics 4 loads into a
// warehouse. The rows are then converted as [ga4.Format] does.
func GA4(rows *ga4.Options, options *Options) history.Format {
	o := record.Options(options)
	return format("ga4-warehouse", ga4.Format(rows), o, ga4Table{set(o.Numbers)})
}

// ga4Columns maps the columns of a table event.
var ga4Columns = record.Table{
	{From: "_fivetran_id", To: "uuid", Kind: record.Code, Note: "version 5 of it"},
	{From: "name", To: "event_name", Kind: record.Code},
	{From: "timestamp", To: "event_timestamp", Kind: record.Code, Note: "in UTC where it has no zone"},
	{From: "date", To: "event_date", Kind: record.Code, Note: "20240229"},
	{From: "bundle_sequence_id", To: "event_bundle_sequence_id", Kind: record.Code},
	{From: "value_in_usd", To: "event_value_in_usd", Kind: record.Code},
	{From: "is_intraday", Kind: record.Dropped},
	{From: "param_…", To: "event_params.…", Kind: record.Code, Note: "numbers where they are known, such as ga_session_id"},
	{From: "user_property_…", To: "user_properties.…", Kind: record.Code},
	{From: "device_web_info_…", To: "device.web_info.…", Kind: record.Code},
	{From: "device_…", To: "device.…", Kind: record.Code},
	{From: "geo_…", To: "geo.…", Kind: record.Code},
	{From: "app_info_…", To: "app_info.…", Kind: record.Code},
	{From: "event_dimensions_…", To: "event_dimensions.…", Kind: record.Code},
	{From: "collected_traffic_source_…", To: "collected_traffic_source.…", Kind: record.Code},
	{From: "traffic_source_…", To: "traffic_source.…", Kind: record.Code},
	{From: "ecommerce_…", To: "ecommerce.…", Kind: record.Code},
	{From: "privacy_info_…", To: "privacy_info.…", Kind: record.Code},
	{From: "user_ltv_…", To: "user_ltv.…", Kind: record.Code},
	{From: "…", To: "…", Kind: record.Code, Note: "the other columns are columns of GA4"},
}

var (
	ga4Places   = places(ga4Columns)
	ga4Sections = sections(ga4Columns)
	// ga4Numbers are the params that Google makes itself and that are numbers.
	ga4Numbers = set([]string{
		"ga_session_id", "ga_session_number", "engagement_time_msec", "engaged_session_event", "entrances", "percent_scrolled",
		"video_duration", "video_current_time", "video_percent", "value", "debug_mode", "form_length", "session_engaged",
	})
)

// ga4Space is the namespace of the ids of rows.
var ga4Space = uuid.MustParse("c65d41de-1e39-5d5c-9a31-4b7f60a2cc18")

type ga4Table struct{ numbers map[string]bool }

func (t ga4Table) needs() []need {
	return []need{{"name", nil}, {"timestamp", nil}, {"user_pseudo_id", nil}}
}

func (t ga4Table) nested(b *builder) (made *tree, id uuid.UUID, err error) {
	event := b.node("", nil)
	var params, persons []byte
	for _, c := range b.row {
		switch place := ga4Places[c.name]; {
		case c.value == nil || place.Kind == record.Dropped:
		case c.name == "_fivetran_id":
			if text, _ := record.ID("", c.value); text != "" {
				id = record.Derived(ga4Space, text)
			}
		case c.name == "timestamp" || c.name == "user_first_touch_timestamp":
			micros, fault := microseconds(c)
			if fault != nil && c.name == "timestamp" {
				err = fault
				continue
			}
			event.putName(cmp.Or(place.To, c.name), micros)
		case c.name == "date":
			event.putName(place.To, bytes.ReplaceAll(c.value, []byte("-"), nil))
		case place.To != "":
			event.putName(place.To, c.value)
		default:
			params, persons = t.section(event, c, params, persons)
		}
	}
	if params != nil {
		event.putName("event_params", append(params, ']'))
	}
	if persons != nil {
		event.putName("user_properties", append(persons, ']'))
	}
	return event, id, err
}

// section adds a column to its object, or to one of the lists.
func (t ga4Table) section(event *tree, c column, params, persons []byte) (newParams, newPersons []byte) {
	for _, section := range ga4Sections {
		name, isIn := strings.CutPrefix(c.name, section.From)
		if !isIn || name == "" {
			continue
		}
		switch section.To {
		case "event_params.":
			return t.param(params, name, c), persons
		case "user_properties.":
			return params, t.param(persons, name, c)
		}
		if event.put(section.To+name, c.value) {
			return params, persons
		}
	}
	if t.numbers[c.name] {
		c.value = record.Number(c.value)
	}
	event.putName(c.name, c.value)
	return params, persons
}

// param appends a param to a list.
func (t ga4Table) param(list []byte, name string, c column) []byte {
	raw := c.value
	if ga4Numbers[name] || t.numbers[c.name] || t.numbers[name] {
		raw = record.Number(raw)
	}
	kind := "int_value"
	if record.IsText(raw) || raw[0] == 't' || raw[0] == 'f' || raw[0] == '{' || raw[0] == '[' {
		kind = "string_value"
		if !record.IsText(raw) {
			raw = record.Quoted(string(raw))
		}
	} else if strings.ContainsAny(string(raw), ".eE") {
		kind = "double_value"
	}
	if list == nil {
		list = []byte{'['}
	} else {
		list = append(list, ',')
	}
	list = append(append(list, `{"key":`...), record.Quoted(name)...)
	list = append(append(append(list, `,"value":{"`...), kind...), `":`...)
	return append(append(list, raw...), "}}"...)
}

// microseconds are the microseconds since 1970 at the time of a column.
func microseconds(c column) ([]byte, error) {
	const least = 1e14 // of 1973: a shorter number is a day or seconds
	if micros, isNumber := record.Int(c.value); isNumber && micros >= least {
		return c.value, nil
	}
	at, err := record.TableTime(c.value)
	if err != nil {
		return c.value, fmt.Errorf("%s: %w", c.name, err)
	}
	return strconv.AppendInt(nil, at.UnixMicro(), 10), nil
}
