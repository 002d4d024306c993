package formats_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/history"
)

const (
	day     = 24 * time.Hour
	silence = 30 * time.Minute
)

// timeline is a source of events in their order, with places from 1.
func timeline(name string, events ...hogapi.Event) history.Source {
	return history.Func(name, func(_ context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(yield func(hogapi.Event, error) bool) {
			for i, ev := range events[after.Offset:] {
				ev.Position = hogapi.Position{Key: name, Offset: after.Offset + int64(i) + 1}
				if !yield(ev, nil) {
					return
				}
			}
		}
	})
}

// sessionOf is the $session_id of an event, or "".
func sessionOf(t *testing.T, ev hogapi.Event) string {
	t.Helper()
	if ev.RawProperties == nil {
		id, _ := ev.Properties["$session_id"].(string)
		return id
	}
	var p struct {
		ID string `json:"$session_id"`
	}
	require.NoError(t, json.Unmarshal(ev.RawProperties, &p))
	return p.ID
}

// sessionsIn reads the ids of the events of a source. It requires PostHog's rule of each.
func sessionsIn(t *testing.T, source history.Source, options *formats.SessionOptions) (ids []string) {
	t.Helper()
	events, err := readSorted(t, formats.Sessions(source, options), hogapi.Position{})
	require.NoError(t, err)
	for _, ev := range events {
		id := sessionOf(t, ev)
		if ids = append(ids, id); id == "" {
			continue
		}
		at := timeOf(t, id)
		require.False(t, at.After(ev.Timestamp), "%s: %s", id, ev.Timestamp)
		require.True(t, at.Add(day).After(ev.Timestamp), "%s: %s", id, ev.Timestamp)
	}
	return ids
}

// sessionsInTwo reads the ids of events in two sources, of which the second continues the sessions of the first.
func sessionsInTwo(t *testing.T, first, second []hogapi.Event, o formats.SessionOptions) []string {
	t.Helper()
	tail := filepath.Join(t.TempDir(), "tail")
	before, after := o, o
	before.Tail, after.After = tail, tail
	return append(sessionsIn(t, timeline("first", first...), &before), sessionsIn(t, timeline("second", second...), &after)...)
}

// timeOf is the time in an id of version 7.
func timeOf(t *testing.T, id string) time.Time {
	t.Helper()
	parsed := uuid.MustParse(id)
	require.EqualValues(t, 7, parsed.Version())
	var ms int64
	for _, b := range parsed[:6] {
		ms = ms<<8 | int64(b)
	}
	return time.UnixMilli(ms)
}

// visitsOf is events of some devices in no order, with silences around the limit, nights, and days without a pause.
func visitsOf(random *rand.Rand, devices int) (text string) {
	gaps := []time.Duration{
		0, 1, time.Millisecond, time.Second, 7 * time.Minute, silence - 1, silence, silence + 1, silence + time.Millisecond, time.Hour, 9 * time.Hour, day - 1, day, day + 1, 50 * day,
	}
	var lines []string
	for device := range devices {
		at := longAgo.Add(time.Duration(random.Int64N(int64(day))))
		steps := 5 + random.IntN(40)
		isBusy := device%7 == 0
		if isBusy {
			steps = 200
		}
		for i := range steps {
			gap := gaps[random.IntN(len(gaps))]
			if isBusy && i%50 != 0 {
				gap = time.Duration(random.Int64N(int64(silence + 1)))
			}
			at = at.Add(gap)
			lines = append(lines, fmt.Sprintf(`{"who":"u%d","device":"d%d","at":%q,"n":%d}`, device/2, device, at.Format(time.RFC3339Nano), i))
		}
	}
	random.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	return strings.Join(lines, "\n") + "\n"
}

// modelled are the sessions of a history: for each line the time at which its session began. It sorts the lines of
// each device and cuts where the device was silent for longer, and after 24 hours.
func modelled(t *testing.T, text string) map[string]time.Time {
	t.Helper()
	type line struct {
		text string
		at   time.Time
	}
	devices := map[string][]line{}
	for one := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		var of struct {
			Device string
			At     time.Time
		}
		require.NoError(t, json.Unmarshal([]byte(one), &of))
		devices[of.Device] = append(devices[of.Device], line{one, of.At})
	}
	starts := map[string]time.Time{}
	for _, lines := range devices {
		slices.SortStableFunc(lines, func(a, b line) int { return a.at.Compare(b.at) })
		var start, last time.Time
		for i, one := range lines {
			if i == 0 || one.at.Sub(last) > silence || one.at.Sub(start.Truncate(time.Millisecond)) >= day {
				start = one.at
			}
			starts[one.text], last = start, one.at
		}
	}
	return starts
}

// Sessions equal the sessions of an independent model, however the files were sorted, after every position, and on each run.
func TestSessionsOfHistories(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 31))
		text := visitsOf(random, 1+random.IntN(25))
		starts := modelled(t, text)
		var counts formats.SessionCounts
		options := &formats.SessionOptions{OnEnd: func(c formats.SessionCounts) { counts = c }}
		file := write(t, "orders.jsonl", text)
		source := formats.Sessions(formats.Sorted(history.Files(orders, file), t.TempDir()), options)
		events, err := readSorted(t, source, hogapi.Position{})
		require.NoError(t, err)
		require.Len(t, events, len(starts))
		ids := map[string]string{}
		for _, ev := range events {
			raw := string(ev.RawProperties)
			record, _, _ := strings.Cut(raw, `,"$session_id":`)
			record += "}"
			start, isThere := starts[record]
			require.True(t, isThere, "the record stays as it is: %s", raw)
			id := sessionOf(t, ev)
			require.Equal(t, formats.SessionID(start, ev.AnonymousID, "").String(), id, raw)
			ids[ev.AnonymousID+start.String()] = id
		}
		assert.EqualValues(t, len(ids), counts.Sessions)
		assert.EqualValues(t, len(events), counts.Events)
		assert.Zero(t, counts.None+counts.Kept+counts.Late)
		for k := 0; k < len(events); k += 1 + len(events)/20 {
			rest, err := readSorted(t, source, events[k].Position)
			require.NoError(t, err)
			require.Len(t, rest, len(events)-k-1)
			for i := range rest {
				require.Equal(t, string(events[k+1+i].RawProperties), string(rest[i].RawProperties))
				require.Equal(t, events[k+1+i].Position, rest[i].Position)
			}
			require.EqualValues(t, len(ids), counts.Sessions, "the counts are those of the whole source")
		}
	}
}

// Events out of order are refused and never get a wrong session.
func TestSessionsNeedTheOrderOfTime(t *testing.T) {
	t.Parallel()
	at := func(after time.Duration) hogapi.Event {
		return hogapi.Event{Name: "e", DistinctID: "u", Timestamp: longAgo.Add(after)}
	}
	source := formats.Sessions(timeline("t", at(1), at(2), at(2), at(1)), nil)
	events, err := readSorted(t, source, hogapi.Position{})
	require.Len(t, events, 3)
	require.ErrorContains(t, err, "sort the source with formats.Sorted")
	require.ErrorContains(t, err, "2024-05-01T12:00:00.000000001Z follows one of 2024-05-01T12:00:00.000000002Z")
	_, err = readSorted(t, source, hogapi.Position{Offset: 9})
	require.Error(t, err)
	for _, one := range []hogapi.Position{{Offset: 77}, {Key: "x"}} {
		_, err = readSorted(t, formats.Sessions(timeline("t", at(1)), nil), one)
		require.ErrorContains(t, err, "there is no position")
	}
}

// A visitor is one session before and after the login. Another person on the device has another one, and both go on.
func TestSessionsOfPersons(t *testing.T) {
	t.Parallel()
	type visit struct{ person, anonymous, device string }
	for name, tt := range map[string]struct {
		visits []visit // a minute apart, or at one time
		want   string  // a letter for each session
	}{
		"a login":                             {[]visit{{"d", "", ""}, {"ann", "d", ""}, {"ann", "d", ""}}, "aaa"},
		"a logout":                            {[]visit{{"ann", "d", ""}, {"d", "", ""}, {"ann", "d", ""}}, "aaa"},
		"two persons":                         {[]visit{{"ann", "d", ""}, {"bob", "d", ""}, {"ann", "d", ""}, {"bob", "d", ""}, {"d", "", ""}}, "ababa"},
		"the second logs in":                  {[]visit{{"d", "", ""}, {"ann", "d", ""}, {"d", "", ""}, {"bob", "d", ""}}, "aaab"},
		"two persons for longer":              {slices.Repeat([]visit{{"ann", "d", ""}, {"bob", "d", ""}}, 20), strings.Repeat("ab", 20)},
		"two devices":                         {[]visit{{"ann", "d", ""}, {"ann", "e", ""}, {"ann", "d", ""}}, "aba"},
		"no device":                           {[]visit{{"ann", "", ""}, {"bob", "", ""}, {"ann", "", ""}}, "aba"},
		"a device in a property":              {[]visit{{"anon", "", "d"}, {"ann", "", "d"}, {"ann", "", "d"}}, "abb"},
		"a device, and an id before":          {[]visit{{"anon", "", "d"}, {"ann", "anon", "d"}, {"anon", "", "d"}, {"ann", "anon", "d"}}, "aaaa"},
		"then another person":                 {[]visit{{"anon", "", "d"}, {"ann", "anon", "d"}, {"bob", "other", "d"}, {"ann", "", "d"}}, "aaba"},
		"a device with the prefix":            {[]visit{{"$device:d", "", ""}, {"ann", "d", ""}, {"ann", "$device:d", ""}}, "aaa"},
		"the device is the person of another": {[]visit{{"d", "", ""}, {"d", "e", ""}}, "ab"},
	} {
		for _, apart := range []time.Duration{time.Minute, 0} {
			var events []hogapi.Event
			for i, v := range tt.visits {
				ev := hogapi.Event{Name: "e", DistinctID: v.person, AnonymousID: v.anonymous, Timestamp: longAgo.Add(time.Duration(i) * apart)}
				if v.device != "" {
					ev.Properties = map[string]any{"$device_id": v.device}
				}
				events = append(events, ev)
			}
			assert.Equal(t, tt.want, letters(sessionsIn(t, timeline("t", events...), nil)), "%s, %v apart", name, apart)
			for k := range events {
				assert.Equal(t, tt.want, letters(sessionsInTwo(t, events[:k], events[k:], formats.SessionOptions{})), "%s, %v apart, in two sources", name, apart)
			}
		}
	}
}

// An import that resumes after a record of several events has seen all of them.
func TestSessionsAfterARecordOfSeveralEvents(t *testing.T) {
	t.Parallel()
	source := history.Func("t", func(_ context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(yield func(hogapi.Event, error) bool) {
			for i, record := range []int64{1, 1, 2} {
				at := longAgo.Add(time.Duration(i) * time.Minute)
				ev := hogapi.Event{Name: "e", DistinctID: []string{"u", "v", "v"}[i], Timestamp: at, Position: hogapi.Position{Offset: record}}
				if record > after.Offset && !yield(ev, nil) {
					return
				}
			}
		}
	})
	assert.Equal(t, "abb", letters(sessionsIn(t, source, nil)))
	events, err := readSorted(t, formats.Sessions(source, nil), hogapi.Position{Offset: 1})
	require.NoError(t, err)
	assert.Equal(t, formats.SessionID(longAgo.Add(time.Minute), "v", "").String(), sessionOf(t, events[0]))
}

// letters has a letter for each different id in the order of their first events, and - for no id.
func letters(ids []string) string {
	known, text := map[string]byte{"": '-'}, []byte{}
	for _, id := range ids {
		if known[id] == 0 {
			known[id] = 'a' + byte(len(known)-1)
		}
		text = append(text, known[id])
	}
	return string(text)
}

// All other properties stay byte for byte, whatever form they have, and so does a session that PostHog accepts.
func TestSessionsKeepProperties(t *testing.T) {
	t.Parallel()
	const own = "018f3406-9e00-79e4-8d7c-07a3d0628443"
	id := formats.SessionID(longAgo, "u", "").String()
	for before, after := range map[string]string{
		``: `{"$session_id":"ID"}`, `{}`: `{"$session_id":"ID"}`, " { \n} \n": " { \n\"$session_id\":\"ID\"} \n",
		`{"a":1.50}`:                                             `{"a":1.50,"$session_id":"ID"}`,
		`{ "a" : {"b":"}"} } `:                                   `{ "a" : {"b":"}"} ,"$session_id":"ID"} `,
		`{"$session_id":"` + own + `","a":1}`:                    `{"$session_id":"` + own + `","a":1}`,
		`{"$session_id":"abc","a":1}`:                            `{"$session_id":"ID","a":1}`,
		`{"$session_id" : null }`:                                `{"$session_id" : "ID" }`,
		`{"a":0,"\u0024session_id":[1,{}]}`:                      `{"a":0,"\u0024session_id":"ID"}`,
		`{"$session_id":"9b2c9cb2-2d86-4b7c-9f0e-6f6f5c1b2a01"}`: `{"$session_id":"ID"}`,                            // of version 4
		`{"a":1,"a":2}`:                                          `{"a":1,"a":2}`, `{"a":1`: `{"a":1`, `[1]`: `[1]`, // which are refused
	} {
		ev := hogapi.Event{Name: "e", DistinctID: "u", Timestamp: longAgo}
		if before != "" {
			ev.RawProperties = slices.Clone(json.RawMessage(before))
		}
		events, err := readSorted(t, formats.Sessions(timeline("t", ev), nil), hogapi.Position{})
		require.NoError(t, err)
		assert.Equal(t, strings.ReplaceAll(after, "ID", id), string(events[0].RawProperties), before)
		assert.Equal(t, before, string(ev.RawProperties), "the source's own bytes stay")
	}
	given := map[string]any{"a": 1, "$session_id": 7}
	events, err := readSorted(t, formats.Sessions(timeline("t", hogapi.Event{Name: "e", DistinctID: "u", Timestamp: longAgo, Properties: given}), nil), hogapi.Position{})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"a": 1, "$session_id": id}, events[0].Properties)
	assert.Equal(t, map[string]any{"a": 1, "$session_id": 7}, given)
}

// Events of servers, of groups and of no time have no session, and are counted.
func TestEventsWithoutASession(t *testing.T) {
	t.Parallel()
	for raw, isServer := range map[string]bool{
		`{"$lib":"web"}`: false, `{"$lib":"posthog-ios"}`: false, `{"$lib":"analytics.js"}`: false, `{"$lib":"RudderLabs JavaScript SDK"}`: false,
		`{"$lib":"com.rudderstack.android.sdk.core"}`: false, `{"mp_lib":"swift"}`: false, `{}`: false, `{"$lib":7}`: false,
		`{"$lib":"posthog-node"}`: true, `{"$lib":"analytics-python"}`: true, `{"$lib":"@rudderstack/rudder-sdk-node"}`: true, `{"mp_lib":"ruby"}`: true,
		`{"$lib":"Analytics.NET"}`: true, `{"$import":true}`: true, `{"$import":true,"mp_lib":"web"}`: false, `{"$import":false}`: false,
		`{"$import":true,"mp_lib":"Segment: analytics-wordpress"}`: true,
	} {
		ev := hogapi.Event{Name: "e", DistinctID: "u", Timestamp: longAgo, RawProperties: []byte(raw)}
		assert.Equal(t, isServer, formats.IsOfServer(ev), raw)
		assert.Equal(t, isServer, sessionsIn(t, timeline("t", ev), nil)[0] == "", raw)
		ev.Properties, ev.RawProperties = map[string]any{}, nil
		require.NoError(t, json.Unmarshal([]byte(raw), &ev.Properties))
		assert.Equal(t, isServer, formats.IsOfServer(ev), raw)
	}
	var counts formats.SessionCounts
	options := &formats.SessionOptions{
		Skip:  func(ev hogapi.Event) bool { return ev.Name == "job" },
		OnEnd: func(c formats.SessionCounts) { counts = c },
	}
	early, late := time.Date(1969, 12, 31, 23, 0, 0, 0, time.UTC), time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)
	ids := sessionsIn(t, timeline("t",
		hogapi.Event{Name: "e", DistinctID: "u", Timestamp: early},
		event.Skip(hogapi.Position{}, "x"),
		hogapi.Event{Name: "e", DistinctID: "u", Timestamp: longAgo, Properties: map[string]any{"$lib": "python"}},
		hogapi.Event{Name: "job", DistinctID: "u", Timestamp: longAgo},
		hogapi.Event{Name: "$groupidentify", DistinctID: "$company_acme", Timestamp: longAgo},
		hogapi.Event{Name: "$create_alias", DistinctID: "u", Timestamp: longAgo},
		hogapi.Event{Name: "e", Timestamp: longAgo},
		hogapi.Event{Name: "e", Timestamp: longAgo, Properties: map[string]any{"distinct_id": "u"}},
		hogapi.Event{Name: "e", DistinctID: "u", Timestamp: late},
	), options)
	assert.Equal(t, "--a----a-", letters(ids))
	assert.Equal(t, formats.SessionCounts{Sessions: 1, Events: 2, None: 6}, counts)
}

// Sessions of a vendor go on however long they are silent, up to 24 hours, and stay apart from the others.
func TestSessionsOfAKey(t *testing.T) {
	t.Parallel()
	visit := func(after time.Duration, key any) hogapi.Event {
		return hogapi.Event{Name: "e", DistinctID: "u", Timestamp: longAgo.Add(after), Properties: map[string]any{"$visit": key}}
	}
	visits := []hogapi.Event{visit(0, "x"), visit(1, 7), visit(2, nil), visit(time.Hour, 7), visit(2*time.Hour, ""), visit(23*time.Hour, "x"), visit(day, "x"), visit(day+1, 7)}
	source := timeline("t", visits...)
	assert.Equal(t, "abcbdaef", letters(sessionsIn(t, source, &formats.SessionOptions{Key: "$visit"})))
	for k := range visits {
		assert.Equal(t, "abcbdaef", letters(sessionsInTwo(t, visits[:k], visits[k:], formats.SessionOptions{Key: "$visit"})), "in two sources")
	}
	assert.Equal(t, "aaabcdee", letters(sessionsIn(t, source, nil)))

	visits = nil // of two persons on one device, who both begin two sessions
	for i, person := range []string{"ann", "bob", "ann", "bob"} {
		visits = append(visits, visit(time.Duration(i)*time.Minute, []string{"x", "y"}[i/2]))
		visits[i].DistinctID, visits[i].AnonymousID = person, "d"
	}
	for i, id := range sessionsIn(t, timeline("t", visits...), &formats.SessionOptions{Key: "$visit"}) {
		assert.True(t, visits[i].Timestamp.Equal(timeOf(t, id)), i)
	}
}

// An import goes on with the same options only.
func TestSessionOptions(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, o := range []*formats.SessionOptions{nil, {Silence: time.Hour}, {Key: "a"}, {Device: "a"}, {Key: "a", Device: "b"}} {
		name := formats.Sessions(timeline("t"), o).Name()
		assert.False(t, names[name], name)
		assert.True(t, strings.HasSuffix(name, " of t"), name)
		names[name] = true
	}
	assert.Equal(t, formats.Sessions(timeline("t"), nil).Name(), formats.Sessions(timeline("t"), &formats.SessionOptions{Silence: silence, MaxOpen: 7}).Name())
	for _, o := range []formats.SessionOptions{{Silence: time.Millisecond}, {Silence: -1}, {Silence: day + 1}, {MaxOpen: -1}} {
		_, err := readSorted(t, formats.Sessions(timeline("t"), &o), hogapi.Position{})
		require.ErrorIs(t, err, hogapi.ErrInvalid)
	}
}
