package formats_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/history"
)

// linked are the links of events, as "user<other", and the reasons for omitted ones.
func linked(t *testing.T, options formats.LinksOptions, events ...hogapi.Event) string {
	t.Helper()
	var links, left []string
	options.OnReport = func(r formats.LinksReport) {
		for reason, n := range r.Left {
			left = append(left, fmt.Sprint(n, " ", reason))
		}
	}
	for _, ev := range all(t, formats.LinksWith(each(events...), &options)) {
		if !ev.Timestamp.IsZero() {
			links = append(links, fmt.Sprint(ev.DistinctID, "<", ev.Properties["$anon_distinct_id"]))
		}
	}
	slices.Sort(links)
	return strings.Join(append(links, left...), ", ")
}

func TestWhatIsLinked(t *testing.T) {
	t.Parallel()
	type ev = hogapi.Event
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	for name, c := range map[string]struct {
		events []ev
		want   string
	}{
		"a canonical id, a user and a device":        {[]ev{{DistinctID: "c", UserIDs: []string{"u"}, AnonymousID: "d"}}, "u<c, u<d"},
		"two canonical ids of a user":                {[]ev{{DistinctID: "c", UserIDs: []string{"u"}}, {DistinctID: "b", UserIDs: []string{"u"}}}, "u<b, u<c"},
		"a canonical id of two users":                {[]ev{{DistinctID: "c", UserIDs: []string{"u"}}, {DistinctID: "c", UserIDs: []string{"v"}}}, "u<c, u<v"},
		"a shared device that is a canonical id":     {[]ev{{DistinctID: "d", UserIDs: []string{"u"}}, {DistinctID: "v", AnonymousID: "d"}}, "u<d, 1 " + formats.SkipUserDevice},
		"a device with two ids of one person":        {[]ev{{DistinctID: "c", UserIDs: []string{"u"}, AnonymousID: "d"}, {DistinctID: "b", UserIDs: []string{"u"}, AnonymousID: "d"}}, "u<b, u<c, u<d"},
		"a shared device":                            {[]ev{{DistinctID: "u", AnonymousID: "d"}, {DistinctID: "v", AnonymousID: "d"}}, "1 " + formats.SkipSharedDevice},
		"a device of itself":                         {[]ev{{DistinctID: "d", AnonymousID: "d"}, {DistinctID: "u", AnonymousID: "d"}}, "u<d"},
		"a device id that is a user with a device":   {[]ev{{DistinctID: "u", AnonymousID: "v"}, {DistinctID: "v", AnonymousID: "d"}}, "v<d, 1 " + formats.SkipUserDevice},
		"a device id that is a user of a server":     {[]ev{{DistinctID: "u", AnonymousID: "v"}, {DistinctID: "v", UserIDs: []string{"v"}}}, "1 " + formats.SkipUserDevice},
		"merges of three":                            {[]ev{{DistinctID: "a", UserIDs: []string{"b"}}, {DistinctID: "b", UserIDs: []string{"c", ""}}}, "c<a, c<b"},
		"an alias of an anonymous id":                {[]ev{{Name: "$create_alias", DistinctID: "u", RawProperties: raw(`{"alias":"a"}`)}}, "u<a"},
		"an alias of a user":                         {[]ev{{Name: "$create_alias", DistinctID: "u", Properties: map[string]any{"alias": "v"}}, {DistinctID: "v", AnonymousID: "d"}}, "u<d, u<v"},
		"an alias for two":                           {[]ev{{Name: "$create_alias", DistinctID: "u", RawProperties: raw(`{"alias":"a"}`)}, {Name: "$create_alias", DistinctID: "v", RawProperties: raw(`{"alias":"a"}`)}}, "1 " + formats.SkipSharedDevice},
		"an alias that is another's device":          {[]ev{{Name: "$create_alias", DistinctID: "u", RawProperties: raw(`{"alias":"a"}`)}, {DistinctID: "v", AnonymousID: "a"}}, "1 " + formats.SkipSharedDevice},
		"an alias and the device of the same person": {[]ev{{Name: "$create_alias", DistinctID: "u", AnonymousID: "a", RawProperties: raw(`{"alias":"a"}`)}}, "u<a"},
		"an identify event":                          {[]ev{{Name: "$identify", DistinctID: "u", RawProperties: raw(`{"$anon_distinct_id":"a\u0062"}`)}}, "u<ab"},
		"an identify event with something else":      {[]ev{{Name: "$identify", DistinctID: "u", RawProperties: raw(`{"$anon_distinct_id":7}`)}}, ""},
		"an event that only has the property":        {[]ev{{Name: "e", DistinctID: "u", RawProperties: raw(`{"$anon_distinct_id":"a","alias":"b"}`)}}, ""},
		"no person":                                  {[]ev{{AnonymousID: "d"}}, ""},
	} {
		assert.Equal(t, c.want, linked(t, formats.LinksOptions{}, c.events...), name)
		slices.Reverse(c.events)
		assert.Equal(t, c.want, linked(t, formats.LinksOptions{}, c.events...), "%s, in the other order", name)
	}
	later := func(i int, e ev) ev {
		e.Timestamp = longAgo.Add(time.Duration(i) * time.Second)
		return e
	}
	assert.Equal(t, "u<c, u<d, u<e", linked(t, formats.LinksOptions{}, later(0, ev{DistinctID: "c", AnonymousID: "d"}), later(1, ev{DistinctID: "c", UserIDs: []string{"u"}}),
		later(2, ev{DistinctID: "u", AnonymousID: "e"})), "a vendor's user with a device comes before an older user")
	first := formats.LinksOptions{SharedDevices: formats.SharedDevicesFirstUser}
	assert.Equal(t, "v<d", linked(t, first, later(1, ev{DistinctID: "u", AnonymousID: "d"}), ev{DistinctID: "v", AnonymousID: "d"}))
	assert.Equal(t, "1 "+formats.SkipUserDevice, linked(t, first, ev{DistinctID: "u", AnonymousID: "v"}, ev{DistinctID: "v", UserIDs: []string{"v"}}))
}

// Merges in any order make the persons that a simple search finds.
func TestMergesOfMany(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 9))
		var events []hogapi.Event
		group := map[string]map[string]bool{}
		of := func(id string) map[string]bool {
			if group[id] == nil {
				group[id] = map[string]bool{id: true}
			}
			return group[id]
		}
		for range 400 {
			a, b := fmt.Sprint("id-", random.IntN(600)), fmt.Sprint("id-", random.IntN(600))
			if seed == 0 { // one long chain
				a, b = fmt.Sprint("id-", len(events)), fmt.Sprint("id-", len(events)+1)
			}
			events = append(events, hogapi.Event{DistinctID: a, UserIDs: []string{b}})
			all, more := of(a), of(b)
			for id := range more {
				all[id] = true
				group[id] = all
			}
		}
		random.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		got := map[string]string{}
		for _, ev := range all(t, formats.LinksWith(each(events...), nil)) {
			other, _ := ev.Properties["$anon_distinct_id"].(string)
			got[other] = ev.DistinctID
		}
		main := func(id string) string {
			if to := got[id]; to != "" {
				return to
			}
			return id
		}
		for id, members := range group {
			for other := range members {
				require.Equal(t, main(id), main(other))
			}
			for other := range group {
				require.Equal(t, members[other], main(id) == main(other))
			}
		}
	}
}

// The largest persons are named before the first link. One that is too large stops the import before it.
func TestPlanLinks(t *testing.T) {
	t.Parallel()
	var events []hogapi.Event
	for person := range 12 {
		for device := range person + 1 {
			events = append(events, hogapi.Event{DistinctID: fmt.Sprint("u", person), AnonymousID: fmt.Sprintf("d%d-%d", person, device)})
		}
	}
	events = append(events, hogapi.Event{DistinctID: "u0", AnonymousID: "d1-0"})
	report, err := formats.PlanLinks(t.Context(), each(events...), &formats.LinksOptions{MaxIDs: 13})
	require.NoError(t, err)
	assert.EqualValues(t, []int64{12, 89}, []int64{report.Persons, report.IDs})
	require.Len(t, report.Largest, 10)
	assert.Equal(t, "u11", report.Largest[0].ID)
	assert.EqualValues(t, 13, report.Largest[0].IDs)
	assert.Len(t, report.Largest[0].Others, 4)
	assert.EqualValues(t, 4, report.Largest[9].IDs)
	assert.Equal(t, map[string]int64{formats.SkipSharedDevice: 1}, report.Left)
	assert.Contains(t, report.String(), "12 persons come out of more than one id: 89 ids\n  13 ids: \"u11\" with \"d11-")
	assert.Contains(t, report.String(), "\n1 ids are not linked: "+formats.SkipSharedDevice)

	var refused *hogapi.InputError
	report, err = formats.PlanLinks(t.Context(), each(events...), &formats.LinksOptions{MaxIDs: 12})
	require.ErrorAs(t, err, &refused)
	assert.Contains(t, err.Error(), `at least 13, if "u11" is one person of so many ids, such as "d11-`)
	assert.EqualValues(t, 12, report.Persons, "the report comes with the error")
	n := 0
	for _, err := range formats.LinksWith(each(events...), &formats.LinksOptions{MaxIDs: 12}).Events(t.Context(), hogapi.Position{}) {
		n++
		require.ErrorAs(t, err, &refused)
	}
	assert.Equal(t, 1, n, "nothing but the error")
	_, err = formats.PlanLinks(t.Context(), each(events...), &formats.LinksOptions{MaxIDs: -1})
	require.NoError(t, err)
	_, err = formats.PlanLinks(t.Context(), each(events...), &formats.LinksOptions{SharedDevices: "all"})
	require.ErrorAs(t, err, &refused)
	broken := history.Concat(each(events...), history.Records("broken", history.Format{}, nil))
	_, err = formats.PlanLinks(t.Context(), broken, nil)
	require.Error(t, err)
	assert.False(t, errors.As(err, new(*json.SyntaxError)))
}

// Ids are equal if their texts are, not if their digests are: two with one digest would be one person for good.
func TestIDsOfOneDigestAreNotOne(t *testing.T) {
	t.Parallel()
	for _, other := range []string{"bob", "cy"} {
		plan, err := formats.NewLinksPlan(nil)
		require.NoError(t, err)
		defer func() { require.NoError(t, plan.Close()) }()
		plan.SetDigest(func(text string) [16]byte { return [16]byte{byte(len(text))} })
		for _, user := range []string{"ann", other, "ann"} {
			plan.Add(&hogapi.Event{DistinctID: user, AnonymousID: "phone " + other, Timestamp: longAgo})
		}
		_, err = plan.Report(t.Context())
		if other == "bob" {
			require.ErrorContains(t, err, "two ids have the same digest")
		} else {
			require.NoError(t, err)
		}
	}
}

// More ids than memory has room for stop an import before its first link, and the error names the memory that is enough.
func TestMoreIDsThanMemory(t *testing.T) {
	t.Parallel()
	const visitors, memory = 849_999, 64 << 20
	source := history.Func("visitors", func(context.Context, hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(yield func(hogapi.Event, error) bool) {
			for i := range visitors {
				ev := hogapi.Event{DistinctID: "v" + strconv.Itoa(i), Timestamp: longAgo}
				if i == 0 {
					ev.AnonymousID = "phone"
				}
				if !yield(ev, nil) {
					return
				}
			}
		}
	})
	for ev, err := range formats.LinksWith(source, &formats.LinksOptions{Memory: memory}).Events(t.Context(), hogapi.Position{}) {
		require.Zero(t, ev)
		var refused *hogapi.InputError
		require.ErrorAs(t, err, &refused)
		assert.EqualError(t, err, `hogapi: import: LinksOptions.Memory "64MiB": want at least 66MiB, since the source has 850000 ids`)
	}
	report, err := formats.PlanLinks(t.Context(), source, &formats.LinksOptions{Memory: 66 << 20})
	require.NoError(t, err)
	assert.EqualValues(t, 2, report.IDs)
	_, err = formats.PlanLinks(t.Context(), source, &formats.LinksOptions{Memory: memory - 1})
	require.ErrorContains(t, err, "want at least 64 MiB")
}

// Nothing links an id with itself, or twice: a user who is also the device of another user has devices on both sides of its
// own digest here, which made such a link.
func TestNoLinkIsRepeated(t *testing.T) {
	t.Parallel()
	events := []hogapi.Event{{DistinctID: "bob", AnonymousID: "ann"}}
	for i := range 20 {
		events = append(events, hogapi.Event{DistinctID: "ann", AnonymousID: fmt.Sprint("phone ", i)})
	}
	var repeated, links int
	for _, ev := range all(t, formats.Links(each(events...))) {
		if reason, _ := ev.Skipped(); reason == formats.SkipRepeated {
			repeated++
		} else if reason == "" {
			links++
			assert.NotEqual(t, ev.DistinctID, ev.Properties["$anon_distinct_id"])
		}
	}
	assert.Equal(t, []int{1, 20}, []int{repeated, links})
	report, err := formats.PlanLinks(t.Context(), each(events...), nil)
	require.NoError(t, err)
	assert.EqualValues(t, 21, report.IDs)
	assert.Equal(t, map[string]int64{formats.SkipUserDevice: 1}, report.Left)
}
