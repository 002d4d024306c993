package warehouse

import (
	"github.com/google/uuid"

	"github.com/hogapi/hogapi/formats/amplitude"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/history"
)

// Amplitude reads rows of the events table that Fivetran or Amplitude itself loads into a warehouse. The rows are then
// converted as [amplitude.Format] does.
func Amplitude(rows *amplitude.Options, options *Options) history.Format {
	o := record.Options(options)
	return format("amplitude-warehouse", amplitude.Format(rows), o, amplitudeTable{set(o.Numbers)})
}

// AmplitudePeople reads the same rows, and makes of each an event $set with its user_properties, as
// [amplitude.PeopleFormat] does. Keep the last state of each user with formats.Newest.
func AmplitudePeople(rows *amplitude.PeopleOptions, options *Options) history.Format {
	o := record.Options(options)
	return format("amplitude-warehouse people", amplitude.PeopleFormat(rows), o, amplitudeTable{set(o.Numbers)})
}

// amplitudeColumns maps the columns of an events table.
var amplitudeColumns = record.Table{
	{From: "_insert_id", To: "$insert_id", Kind: record.Code},
	{From: "id", To: "event_id", Kind: record.Code, Note: "a number"},
	{From: "event_id", To: "event_id", Kind: record.Code, Note: "a number"},
	{From: "session_id", To: "session_id", Kind: record.Code, Note: "a number"},
	{From: "amplitude_id", To: "amplitude_id", Kind: record.Code, Note: "a number"},
	{From: "location_lat", To: "location_lat", Kind: record.Code, Note: "a number"},
	{From: "location_lng", To: "location_lng", Kind: record.Code, Note: "a number"},
	{From: "event_properties", To: "event_properties", Kind: record.Code, Note: "JSON in a text"},
	{From: "user_properties", To: "user_properties", Kind: record.Code, Note: "the same"},
	{From: "groups", To: "groups", Kind: record.Code, Note: "the same"},
	{From: "group_properties", To: "group_properties", Kind: record.Code, Note: "the same"},
	{From: "plan", To: "plan", Kind: record.Code, Note: "the same"},
	{From: "data", To: "data", Kind: record.Code, Note: "the same"},
	{From: "is_attribution_event", To: "is_attribution_event", Kind: record.Code, Note: "true or false"},
	{From: "paying", To: "paying", Kind: record.Code, Note: "true or false"},
	{From: "ad_id", To: "adid", Kind: record.Code},
	{From: "schema", To: "$schema", Kind: record.Code},
	{From: "amplitude_event_type", To: "amplitude_event_type", Kind: record.Code},
	{From: "event_type_id", Kind: record.Dropped},
	{From: "_fivetran_id", Kind: record.Dropped},
	{From: "…", To: "…", Kind: record.Code, Note: "the other columns are fields of a row of Amplitude"},
}

var (
	amplitudePlaces = places(amplitudeColumns)
	amplitudeKinds  = numbersOf("id", "event_id", "session_id", "amplitude_id", "location_lat", "location_lng", "app").
			with(record.Inner, "event_properties", "user_properties", "groups", "group_properties", "plan", "data").
			with(truth, "is_attribution_event", "paying")
)

type amplitudeTable struct{ numbers map[string]bool }

func (t amplitudeTable) needs() []need {
	return []need{{"event_type", nil}, {"event_time", nil}, {"user_id or device_id", []string{"user_id", "device_id"}}}
}

func (t amplitudeTable) nested(b *builder) (made *tree, id uuid.UUID, err error) {
	event := b.node("", nil)
	for _, c := range b.row {
		if c.value == nil {
			continue
		}
		if as := amplitudeKinds[c.name]; as != nil {
			c.value = as(c.value)
		} else if t.numbers[c.name] {
			c.value = record.Number(c.value)
		}
		to := c.name
		if place, isKnown := amplitudePlaces[c.name]; isKnown {
			to = place.To
		}
		switch {
		case to == "":
		case !event.putName(to, c.value):
			event.putName(c.name, c.value)
		}
	}
	return event, uuid.Nil, nil
}
