package formats_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/amplitude"
	"github.com/hogapi/hogapi/formats/internal/formattest"
	"github.com/hogapi/hogapi/formats/mixpanel"
	"github.com/hogapi/hogapi/formats/segment"
	"github.com/hogapi/hogapi/history"
)

// project is a model of how PostHog makes persons of events, by its rules and without any code of this module.
type project struct {
	persons map[string]*modelPerson // by distinct id
	refused int
}

type modelPerson struct {
	ids          []string
	created      time.Time
	isIdentified bool
}

func (p *project) of(id string, at time.Time) *modelPerson {
	if p.persons[id] == nil {
		p.persons[id] = &modelPerson{ids: []string{id}, created: at}
	}
	return p.persons[id]
}

func (p *project) receive(t *testing.T, ev hogapi.Event) {
	t.Helper()
	other := ""
	properties := ev.Properties
	if ev.RawProperties != nil {
		require.NoError(t, json.Unmarshal(ev.RawProperties, &properties))
	}
	switch ev.Name {
	case "$identify":
		other, _ = properties["$anon_distinct_id"].(string)
	case "$create_alias":
		other, _ = properties["alias"].(string)
	}
	if other == "" || other == ev.DistinctID {
		p.of(ev.DistinctID, ev.Timestamp)
		return
	}
	from, into := p.persons[other], p.persons[ev.DistinctID]
	switch {
	case from == nil:
		into = p.of(ev.DistinctID, ev.Timestamp)
		into.ids = append(into.ids, other)
		p.persons[other] = into
	case into == nil:
		into = from
		into.ids = append(into.ids, ev.DistinctID)
		p.persons[ev.DistinctID] = into
	case from == into:
	case from.isIdentified:
		p.refused++
	default:
		if from.created.Before(into.created) {
			into.created = from.created
		}
		for _, id := range from.ids {
			p.persons[id] = into
		}
		into.ids = append(into.ids, from.ids...)
	}
	into.isIdentified = true
}

// act is something that somebody did.
type act struct {
	at      time.Time
	user    string // who is logged in, or ""
	visitor string // the id of the visitor on the device, or "" on a server
	isLogin bool
}

// lives is a history of people on devices: alone and shared, with logins and logouts over days, and servers.
type lives struct {
	*rand.Rand

	acts       []act
	keepsID    bool // a logout does not change the id of the visitor
	first      map[string]string
	isShared   map[string]bool
	visitorIDs int
}

func newLives(seed uint64, keepsID bool) *lives {
	h := &lives{Rand: rand.New(rand.NewPCG(seed, 1)), keepsID: keepsID, first: map[string]string{}, isShared: map[string]bool{}}
	const people = 60
	for n := range people {
		user := fmt.Sprint("user-", n)
		for range 1 + h.IntN(3) {
			others := []string{user}
			if h.IntN(6) == 0 {
				others = append(others, fmt.Sprint("user-", h.IntN(people)))
			}
			h.device(h.newVisitor(), others)
		}
		for range h.IntN(3) {
			h.acts = append(h.acts, act{at: h.when(), user: user})
		}
	}
	for range people / 3 {
		h.device(h.newVisitor(), nil)
	}
	slices.SortStableFunc(h.acts, func(a, b act) int { return a.at.Compare(b.at) })
	for _, v := range h.acts {
		if v.user != "" && v.visitor != "" {
			if h.first[v.visitor] == "" {
				h.first[v.visitor] = v.user
			}
			h.isShared[v.visitor] = h.isShared[v.visitor] || h.first[v.visitor] != v.user
		}
	}
	return h
}

func (h *lives) newVisitor() string {
	h.visitorIDs++
	return fmt.Sprint("visitor-", h.visitorIDs)
}

func (h *lives) when() time.Time { return longAgo.Add(time.Duration(h.IntN(6*24*3600)) * time.Second) }

// device makes the visits of a device in some days.
func (h *lives) device(visitor string, users []string) {
	at, user := h.when(), ""
	for range 3 + h.IntN(12) {
		at = at.Add(time.Duration(1+h.IntN(9*3600)) * time.Second)
		isLogin := false
		switch {
		case user == "" && len(users) > 0 && h.IntN(2) == 0:
			user, isLogin = users[h.IntN(len(users))], true
		case user != "" && h.IntN(4) == 0:
			if user = ""; !h.keepsID {
				visitor = h.newVisitor()
			}
		}
		h.acts = append(h.acts, act{at, user, visitor, isLogin})
	}
}

// truth is who an act belongs to, if the visits on a shared device are left alone or given to the first user.
func (h *lives) truth(v act, shared formats.SharedDevices) string {
	switch {
	case v.user != "":
		return v.user
	case h.first[v.visitor] == "" || h.isShared[v.visitor] && shared == formats.SharedDevicesAlone:
		return v.visitor
	}
	return h.first[v.visitor]
}

// writer writes an act as a vendor does: number is that of the act.
type writer struct {
	format  history.Format
	keepsID bool
	shared  formats.SharedDevices // which is what the vendor itself has done, or ""
	write   func(h *lives, number int, v act) any
	rest    func(h *lives) []any // further records, each of an event; nil: none
}

var writers = map[string]writer{
	"segment":     {format: segment.Format(nil), write: writeCall},
	"rudderstack": {format: segment.Format(nil), keepsID: true, write: writeCall},
	"amplitude": {format: amplitude.Format(nil), keepsID: true, write: func(_ *lives, number int, v act) any {
		return map[string]any{"event_type": "visit", "event_time": v.at.Format("2006-01-02 15:04:05.000000"), "$insert_id": fmt.Sprint(number), "user_id": orNull(v.user), "device_id": orNull(v.visitor)}
	}},
	"mixpanel, simplified": {format: mixpanel.Format(&mixpanel.Options{DevicePrefix: true}), keepsID: true, write: func(_ *lives, number int, v act) any {
		p := map[string]any{"time": v.at.Unix(), "$insert_id": fmt.Sprint(number), "distinct_id": "$device:" + v.visitor}
		if v.visitor != "" {
			p["$device_id"] = v.visitor
		}
		if v.user != "" {
			p["distinct_id"], p["$user_id"] = v.user, v.user
		}
		return map[string]any{"event": "visit", "properties": p}
	}},
	"mixpanel, original": {format: mixpanel.Format(nil), keepsID: true, shared: formats.SharedDevicesFirstUser, write: func(h *lives, number int, v act) any {
		p := map[string]any{"time": v.at.Unix(), "$insert_id": fmt.Sprint(number)}
		if v.visitor != "" {
			p["$device_id"] = v.visitor
		}
		if v.user != "" {
			p["$user_id"] = v.user
		}
		p["distinct_id"] = h.canonical(h.truth(v, formats.SharedDevicesFirstUser))
		return map[string]any{"event": "visit", "properties": p}
	}},
}

// canonical is one of the ids of a person, as Mixpanel chooses one.
func (h *lives) canonical(person string) string {
	ids := []string{person}
	for n := range h.visitorIDs {
		if id := fmt.Sprint("visitor-", n+1); h.first[id] == person {
			ids = append(ids, id)
		}
	}
	return ids[len(person)*7%len(ids)]
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func writeCall(_ *lives, number int, v act) any {
	kind := "track"
	if v.isLogin {
		kind = "identify"
	}
	return map[string]any{"type": kind, "event": "visit", "messageId": fmt.Sprint("m-", number), "timestamp": v.at.Format(time.RFC3339), "userId": orNull(v.user), "anonymousId": orNull(v.visitor)}
}

// In generated histories, PostHog's rules make exactly the real persons: no two are joined, none is split, and each
// begins with its oldest event.
func TestPersonsOfHistories(t *testing.T) {
	t.Parallel()
	for name, w := range writers {
		for seed := range uint64(3) {
			for _, shared := range []formats.SharedDevices{formats.SharedDevicesAlone, formats.SharedDevicesFirstUser} {
				t.Run(fmt.Sprint(name, seed, shared), func(t *testing.T) {
					t.Parallel()
					h := newLives(seed, w.keepsID)
					var text bytes.Buffer
					for n, v := range h.acts {
						text.Write(append(formattest.Line(w.write(h, n, v)), '\n'))
					}
					if w.rest != nil {
						for _, row := range w.rest(h) {
							text.Write(append(formattest.Line(row), '\n'))
						}
					}
					source := history.Files(w.format, write(t, "h.jsonl", text.String()))
					rule := shared
					if w.shared != "" {
						rule = w.shared
					}
					checkPersons(t, h, source, shared, rule)
				})
			}
		}
	}
}

func checkPersons(t *testing.T, h *lives, source history.Source, shared, rule formats.SharedDevices) {
	t.Helper()
	var report formats.LinksReport
	options := &formats.LinksOptions{SharedDevices: shared, OnReport: func(r formats.LinksReport) { report = r }}
	p := project{persons: map[string]*modelPerson{}}
	for ev, err := range history.Concat(formats.LinksWith(source, options), formats.WithoutMerges(source)).Events(t.Context(), hogapi.Position{}) {
		require.NoError(t, err)
		if ev.Name != "" {
			p.receive(t, ev)
		}
	}
	require.Zero(t, p.refused)
	// The events of the source in their order: the events of the visits.
	events := all(t, source)
	require.GreaterOrEqual(t, len(events), len(h.acts))
	truthOf, personOf := map[*modelPerson]string{}, map[string]*modelPerson{}
	oldest := map[*modelPerson]time.Time{}
	for i, v := range h.acts {
		person, truth := p.persons[events[i].DistinctID], h.truth(v, rule)
		if was := truthOf[person]; was != "" {
			require.Equal(t, was, truth, "two became one")
		}
		if was := personOf[truth]; was != nil {
			require.Same(t, was, person, "%s became two", truth)
		}
		truthOf[person], personOf[truth] = truth, person
		if at := oldest[person]; at.IsZero() || v.at.Before(at) {
			oldest[person] = v.at
		}
	}
	several := map[*modelPerson]bool{}
	for _, person := range p.persons {
		if len(person.ids) > 1 {
			several[person] = true
			if at := oldest[person]; !at.IsZero() {
				assert.False(t, person.created.After(at), "a person begins after its oldest event: %v", person.ids)
			}
		}
	}
	assert.EqualValues(t, len(several), report.Persons)
	require.NotEmpty(t, several)
	planned, err := formats.PlanLinks(t.Context(), source, options)
	require.NoError(t, err)
	assert.Equal(t, report, planned)
}
