package amplitude_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/amplitude"
	"github.com/hogapi/hogapi/formats/internal/formattest"
)

func TestGolden(t *testing.T) {
	t.Parallel()
	formattest.Golden(t, amplitude.Format(nil), "export.jsonl", "export.golden.json")
}

// all are all options. With them, everything that a row has is in its events.
var all = &amplitude.Options{KeepSessions: true, Groups: true, KeepAll: true, PersonProperties: formats.PersonSet}

func TestGoldenWithAll(t *testing.T) {
	t.Parallel()
	formattest.Golden(t, amplitude.Format(all), "all.jsonl", "all.golden.json")
}

func FuzzConvert(f *testing.F) {
	formattest.Fuzz(f, "export.jsonl", true, amplitude.Format(nil), amplitude.Format(all))
}

// convert makes the events of a record.
func convert(t *testing.T, options *amplitude.Options, record string) []hogapi.Event {
	t.Helper()
	events, err := amplitude.Format(options).Convert([]byte(record))
	require.NoError(t, err)
	return events
}

// Each option is in the text that keeps an import from resuming with others.
func TestOptions(t *testing.T) {
	t.Parallel()
	texts := map[string]bool{}
	for _, o := range []amplitude.Options{
		{}, {KeepSessions: true}, {Groups: true}, {KeepAll: true}, {PersonProperties: formats.PersonSet},
		{PersonProperties: formats.PersonNone},
	} {
		text := amplitude.Format(&o).Options
		assert.False(t, texts[text], text)
		texts[text] = true
	}
	assert.True(t, texts[amplitude.Format(nil).Options])
	_, err := amplitude.Format(&amplitude.Options{PersonProperties: "Set"}).Convert([]byte(`{}`))
	assert.ErrorContains(t, err, "amplitude: options: PersonProperties: want")

	const record = `{"event_type":"e","user_id":"u","event_time":"2024-07-01 17:18:37","user_properties":{"plan":"x"},"os_name":"ios"}`
	none := convert(t, &amplitude.Options{PersonProperties: formats.PersonNone}, record)
	assert.NotContains(t, string(none[0].RawProperties), "plan")
	set := convert(t, &amplitude.Options{PersonProperties: formats.PersonSet}, record)
	assert.Contains(t, string(set[0].RawProperties), `"$set":{"plan":"x","$os":"iOS","$device_type":"Mobile"}}`)
}

// The uuid of a $groupidentify is made of the group, its properties and the time.
func TestGroupUUIDs(t *testing.T) {
	t.Parallel()
	event := func(at, tier string) hogapi.Event {
		events := convert(t, &amplitude.Options{Groups: true}, `{"event_type":"e","user_id":"u","event_time":"`+at+
			`","groups":{"company":["acme"]},"group_properties":{"company":{"acme":{"tier": "`+tier+`"}}}}`)
		require.Len(t, events, 2)
		assert.Equal(t, "e", events[0].Name)
		assert.Equal(t, "$groupidentify", events[1].Name)
		assert.Equal(t, "$company_acme", events[1].DistinctID)
		assert.Equal(t, events[0].Timestamp, events[1].Timestamp)
		return events[1]
	}
	morning := event("2024-07-01 07:18:37", "gold")
	assert.Equal(t, morning, event("2024-07-01 07:18:37.000000", "gold"))
	assert.NotEqual(t, morning.UUID, event("2024-07-01 07:18:38", "gold").UUID)
	assert.NotEqual(t, morning.UUID, event("2024-07-01 07:18:37", "silver").UUID)
}

// A row's uuid is Amplitude's. An $insert_id, and a text that is not a UUID, give one of their own.
func TestUUIDs(t *testing.T) {
	t.Parallel()
	id := func(members string) string {
		record := `{"event_type":"e","event_time":"2024-07-01 07:18:37",` + members + `}`
		ev := convert(t, nil, record)[0]
		assert.Equal(t, ev.UUID, amplitude.Format(nil).ID([]byte(record)))
		return ev.UUID.String()
	}
	const none = "00000000-0000-0000-0000-000000000000"
	assert.Equal(t, "0d0a2b9e-d7a1-11ee-8f5a-6b2f4d1c9e01", id(`"user_id":"u","uuid":"0D0A2B9E-D7A1-11EE-8F5A-6B2F4D1C9E01","$insert_id":"i"`))
	assert.Equal(t, none, id(`"user_id":"u"`))
	assert.Equal(t, none, id(`"user_id":"u","uuid":null,"$insert_id":""`))
	seen := map[string]bool{none: true}
	for _, members := range []string{
		`"device_id":"d","$insert_id":"i"`, `"device_id":"e","$insert_id":"i"`, `"device_id":"e","$insert_id":"j"`, `"user_id":"d","$insert_id":"i"`,
		`"user_id":"u","uuid":"x"`, `"user_id":"u","uuid":"0d0a2b9e-d7a1-11ee-0f5a-6b2f4d1c9e01"`, `"user_id":"u","uuid":"{0d0a2b9e-d7a1-11ee-8f5a-6b2f4d1c9e01}"`,
	} {
		made := id(members)
		assert.False(t, seen[made], members)
		assert.EqualValues(t, 5, uuid.MustParse(made).Version(), members)
		seen[made] = true
	}
	assert.Equal(t, id(`"device_id":"d","$insert_id":"i"`), id(`"device_id":"d","user_id":"u","$insert_id":"i"`))
}

// A click and a change of an element are $autocapture, which names the one of the two.
func TestElements(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"Clicked": "click", "Changed": "change"} {
		ev := convert(t, nil, `{"event_type":"[Amplitude] Element `+name+`","user_id":"u","event_time":"2024-07-01 07:18:37"}`)[0]
		assert.Equal(t, "$autocapture", ev.Name)
		assert.Contains(t, string(ev.RawProperties), `"$event_type":"`+want+`"`)
	}
}
