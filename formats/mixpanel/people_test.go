package mixpanel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/formattest"
	"github.com/hogapi/hogapi/formats/mixpanel"
)

func TestPeople(t *testing.T) {
	t.Parallel()
	const ann = `{"$distinct_id":"u-1","$properties":{"$email":"ann@example.com","$name":"Ann","$last_seen":"2024-03-01T10:00:00","$city":"Lyon","plan":"team","$set":1,"none":null}}`
	events, err := mixpanel.PeopleFormat(nil).Convert([]byte(ann))
	require.NoError(t, err)
	require.Len(t, events, 1)
	ev := events[0]
	assert.Equal(t, []string{"$set", "u-1", "2024-03-01T10:00:00Z"}, []string{ev.Name, ev.DistinctID, ev.Timestamp.Format(time.RFC3339Nano)})
	assert.JSONEq(t, `{"historical_migration":true,"analytics_source":"mixpanel","$set_once":{"plan":"team","$mixpanel_set":1,"email":"ann@example.com","name":"Ann","$geoip_city_name":"Lyon"}}`, string(ev.RawProperties))

	page := `{"page":0,"page_size":1000,"session_id":"s","status":"ok","total":2,"results":[` + ann + `,{"$distinct_id":7,"$properties":{}}]}`
	format := mixpanel.PeopleFormat(&mixpanel.PeopleOptions{
		At: time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC), Zone: loadZone(t, "Europe/Paris"), PersonProperties: formats.PersonSet,
	})
	assert.Equal(t, mixpanel.PeopleFormat(nil).Options+"; at=2024-05-01T00:00:00Z, zone=Europe/Paris, person=set", format.Options)
	events, err = format.Convert([]byte(page))
	require.NoError(t, err)
	require.Len(t, events, 2)
	assert.Equal(t, "2024-03-01T09:00:00Z", events[0].Timestamp.Format(time.RFC3339Nano), "in the zone")
	assert.NotEqual(t, ev.UUID, events[0].UUID, "another time")
	assert.Contains(t, string(events[0].RawProperties), `"$set":{"plan":"team"`)
	assert.Equal(t, "7", events[1].DistinctID)

	for record, want := range map[string]string{
		`{"$properties":{}}`:   "$distinct_id: a profile needs one",
		`{"$distinct_id":"a"}`: "$properties: it is missing, want an object",
		`{"$distinct_id":"a","$properties":{"$last_seen":"yesterday"}}`:  "$last_seen: want a time",
		`{"results":[{"$distinct_id":"a","$properties":{"b":1,"b":2}}]}`: "profile 1 of 1: $properties: duplicate key in b",
		`{"results":{}}`: "results: ",
	} {
		assert.Contains(t, formattest.Convert(t, mixpanel.PeopleFormat(nil), []byte(record)).Reject, want, record)
	}
	for record, want := range map[string]string{
		`{"results":[]}`: "an empty page", `{"$distinct_id":"a","$properties":{}}`: mixpanel.SkipNoLastSeen,
	} {
		assert.Equal(t, want, formattest.Convert(t, mixpanel.PeopleFormat(nil), []byte(record)).Skip, record)
	}
	_, err = mixpanel.PeopleFormat(&mixpanel.PeopleOptions{PersonProperties: formats.PersonNone}).Convert([]byte(ann))
	assert.ErrorContains(t, err, "PersonProperties")
}
