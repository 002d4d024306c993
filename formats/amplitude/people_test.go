package amplitude_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/amplitude"
	"github.com/hogapi/hogapi/formats/internal/formattest"
)

func TestPeople(t *testing.T) {
	t.Parallel()
	const at = `"event_time":"2024-07-01 07:18:37.123000",`
	const row = `{"event_type":"session_start","user_id":"u-1","device_id":"d",` + at + `"country":"Canada","event_properties":{"price":3},` +
		`"user_properties":{"plan":"team","initial_referrer":"https://a.example/","initial_gclid":"EMPTY","none":null}}`
	events, err := amplitude.PeopleFormat(nil).Convert([]byte(row))
	require.NoError(t, err)
	require.Len(t, events, 1)
	ev := events[0]
	assert.Equal(t, []string{"$set", "u-1", "2024-07-01T07:18:37.123Z"}, []string{ev.Name, ev.DistinctID, ev.Timestamp.Format(time.RFC3339Nano)})
	assert.Equal(t, []string{"u-1"}, ev.UserIDs)
	assert.Empty(t, ev.AnonymousID)
	assert.JSONEq(t, `{"historical_migration":true,"analytics_source":"amplitude","$set_once":{"plan":"team","$initial_referrer":"https://a.example/"}}`,
		string(ev.RawProperties))
	assert.Equal(t, uuid.MustParse("b52a3301-a6b5-5315-8886-70d4d8a8753c"), ev.UUID)

	set := amplitude.PeopleFormat(&amplitude.PeopleOptions{PersonProperties: formats.PersonSet})
	assert.Equal(t, amplitude.PeopleFormat(nil).Options+"; person=set", set.Options)
	events, err = set.Convert([]byte(row))
	require.NoError(t, err)
	assert.Contains(t, string(events[0].RawProperties), `"$set":{"plan":"team"},"$set_once":{"$initial_referrer"`)
	assert.Equal(t, ev.UUID, events[0].UUID)
	events, err = set.Convert([]byte(`{"device_id":7,` + at + `"user_properties":"{\"plan\":\"of a table\"}"}`))
	require.NoError(t, err)
	assert.Equal(t, "7", events[0].DistinctID)
	assert.Empty(t, events[0].UserIDs)
	assert.Contains(t, string(events[0].RawProperties), `"$set_once":{"plan":"of a table"}`, "a visitor")

	for record, want := range map[string]string{
		`{"user_id":"u","user_properties":{"a":1}}`:                    "event_time, client_event_time, server_received_time: ",
		`{"user_id":"u",` + at + `"user_properties":{"a":1,"a":2}}`:    "user_properties: duplicate key in a",
		`{"user_id":["u"],` + at + `"user_properties":{"a":1}}`:        "user_id: ",
		`{"user_id":"u","device_id":{},` + at + `"user_properties":1}`: "device_id: ",
	} {
		assert.Contains(t, formattest.Convert(t, amplitude.PeopleFormat(nil), []byte(record)).Reject, want, record)
	}
	for record, want := range map[string]string{
		`{` + at + `"user_properties":{"a":1}}`:                             amplitude.SkipNoID,
		`{"user_id":"u",` + at + `"user_properties":{"initial_x":"EMPTY"}}`: amplitude.SkipNoProperties,
		`{"user_id":"u",` + at + `"user_properties":7}`:                     amplitude.SkipNoProperties,
		`{"user_id":"u",` + at + `"event_properties":{"a":1}}`:              amplitude.SkipNoProperties,
	} {
		assert.Equal(t, want, formattest.Convert(t, amplitude.PeopleFormat(nil), []byte(record)).Skip, record)
	}
	_, err = amplitude.PeopleFormat(&amplitude.PeopleOptions{PersonProperties: formats.PersonNone}).Convert([]byte(row))
	assert.ErrorContains(t, err, "PersonProperties")
}
