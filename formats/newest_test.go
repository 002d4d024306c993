package formats_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/amplitude"
	"github.com/hogapi/hogapi/history"
)

// states are rows of Amplitude: users with a plan that changes, and visitors, in no order.
func states() string {
	var b strings.Builder
	for i := range 300 {
		minute := i * 7 % 300
		user := ""
		if i%3 > 0 {
			user = fmt.Sprintf(`"user_id":"u%d",`, i%5)
		}
		fmt.Fprintf(&b, `{"event_type":"visit","event_time":"%s",%s"device_id":"d%d","user_properties":{"plan":"p%d"}}`+"\n",
			longAgo.Add(time.Duration(minute)*time.Minute).Format("2006-01-02 15:04:05.000000"), user, i%5, minute)
	}
	return b.String() + `{"event_type":"visit"}` + "\n" + `{"event_type":"visit","user_id":"u"}` + "\n"
}

// Each person has one event, the newest; users come first. It is the same from any position on.
func TestNewest(t *testing.T) {
	t.Parallel()
	path := write(t, "export.jsonl", states())
	source := formats.Newest(history.Files(amplitude.PeopleFormat(nil), path))
	var persons, plans []string
	skips := map[string]int{}
	rejects := 0
	var positions []hogapi.Position
	var said []string
	for ev, err := range source.Events(t.Context(), hogapi.Position{}) {
		require.NoError(t, err)
		reason, isSkipped := ev.Skipped()
		positions = append(positions, ev.Position)
		said = append(said, fmt.Sprintf("%s %s %s %s", ev.UUID, ev.DistinctID, ev.RawProperties, reason))
		switch {
		case isSkipped:
			skips[reason]++
		case ev.DistinctID == "":
			rejects++
		default:
			persons = append(persons, ev.DistinctID)
			plans = append(plans, string(ev.RawProperties))
		}
	}
	assert.Equal(t, map[string]int{formats.SkipOlderState: 290, amplitude.SkipNoID: 1}, skips)
	assert.Equal(t, 1, rejects)
	require.Len(t, persons, 10)
	for i, person := range persons {
		assert.Equal(t, i < 5, person[0] == 'u', "users come first")
		newest := 0
		for n := range 300 {
			if n%5 == int(person[1]-'0') && (n%3 > 0) == (person[0] == 'u') {
				newest = max(newest, n*7%300)
			}
		}
		assert.Contains(t, plans[i], fmt.Sprintf(`"plan":"p%d"`, newest), person)
	}
	for n, at := range positions {
		if n%40 > 0 {
			continue
		}
		rest := []string{}
		for ev, err := range source.Events(t.Context(), at) {
			require.NoError(t, err)
			reason, _ := ev.Skipped()
			rest = append(rest, fmt.Sprintf("%s %s %s %s", ev.UUID, ev.DistinctID, ev.RawProperties, reason))
		}
		require.Equal(t, said[n+1:], rest, n)
	}
	other := formats.Newest(history.Files(amplitude.PeopleFormat(nil), write(t, "export.jsonl", states()+states())))
	for _, lost := range []hogapi.Position{positions[3], {Key: "export.jsonl", Offset: 5}} {
		for _, err := range other.Events(t.Context(), lost) {
			require.ErrorContains(t, err, "there is no position", "of other events")
		}
	}
}
