package formats_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/ga4"
	"github.com/hogapi/hogapi/formats/heap"
	"github.com/hogapi/hogapi/formats/internal/formattest"
	"github.com/hogapi/hogapi/formats/matomo"
	"github.com/hogapi/hogapi/formats/pendo"
	"github.com/hogapi/hogapi/formats/snowplow"
	"github.com/hogapi/hogapi/formats/umami"
	"github.com/hogapi/hogapi/formats/warehouse"
	"github.com/hogapi/hogapi/history"
)

const (
	inTable = "2006-01-02 15:04:05" // a time in a table
	aDay    = 24 * time.Hour
)

// The vendors of which each row is an act, with a user and the id of a device.
func init() {
	maps.Copy(writers, map[string]writer{
		"ga4": {format: ga4.Format(nil), keepsID: true, write: func(_ *lives, number int, v act) any {
			return map[string]any{"event_name": "visit", "event_timestamp": v.at.UnixMicro(), "event_bundle_sequence_id": number, "user_id": orNull(v.user), "user_pseudo_id": orNull(v.visitor)}
		}},
		"ga4 in a warehouse": {format: warehouse.GA4(nil, nil), keepsID: true, write: func(_ *lives, number int, v act) any {
			return map[string]any{"_fivetran_id": fmt.Sprint(number), "name": "visit", "timestamp": v.at.Format(inTable), "user_id": v.user, "user_pseudo_id": v.visitor}
		}},
		"amplitude in a warehouse": {format: warehouse.Amplitude(nil, nil), keepsID: true, write: func(_ *lives, number int, v act) any {
			return map[string]any{"_insert_id": fmt.Sprint(number), "event_type": "visit", "event_time": v.at.Format(inTable), "user_id": v.user, "device_id": v.visitor}
		}},
		"segment in a warehouse":     {format: warehouse.Segment(nil, &warehouse.Options{Table: "tracks"}), write: writeTrack},
		"rudderstack in a warehouse": {format: warehouse.Segment(nil, &warehouse.Options{Table: "tracks"}), keepsID: true, write: writeTrack},
		"snowplow": {format: snowplow.Format(&snowplow.Options{HasNames: true}), keepsID: true, write: func(_ *lives, number int, v act) any {
			return map[string]any{"event": "unstruct", "event_name": "visit", "event_id": fmt.Sprint(number), "collector_tstamp": v.at.Format(inTable), "user_id": v.user, "domain_userid": v.visitor}
		}},
		"umami": {format: umami.Format(nil), keepsID: true, write: func(_ *lives, number int, v act) any {
			return map[string]any{"event_type": 2, "event_name": "visit", "event_id": fmt.Sprint(number), "created_at": v.at.Format(inTable), "distinct_id": v.user, "session_id": v.visitor}
		}},
		"matomo": {format: matomo.Format(nil), keepsID: true, write: func(_ *lives, number int, v act) any {
			return map[string]any{"idSite": "1", "idVisit": fmt.Sprint(number), "firstActionTimestamp": v.at.Unix(), "lastActionTimestamp": v.at.Unix(), "userId": orNull(v.user), "visitorId": orNull(v.visitor),
				"actionDetails": []any{map[string]any{"type": "event", "eventAction": "visit", "pageId": fmt.Sprint(number), "timestamp": v.at.Unix()}}}
		}},
		"pendo": {format: pendo.Format(nil), keepsID: true, write: func(_ *lives, number int, v act) any {
			row := map[string]any{"eventType": "visit", "eventId": fmt.Sprint(number), "browserTimestamp": v.at.UnixMilli(), "visitorId": v.user}
			switch {
			case v.user == "":
				row["visitorId"] = "_PENDO_T_" + v.visitor
			case v.isLogin:
				row["oldVisitorId"] = "_PENDO_T_" + v.visitor
			}
			return row
		}},
		"heap": {format: heap.Format(nil), write: func(_ *lives, number int, v act) any {
			id := v.user
			if id == "" {
				id = v.visitor
			}
			return map[string]any{"type": "visit", "event_id": fmt.Sprint(number), "time": v.at.Format(inTable), "user_id": heapID(id)}
		}, rest: func(h *lives) (rows []any) { // who logged in, and the names of all users
			joined := map[string]bool{}
			for _, v := range h.acts {
				if v.isLogin {
					rows = append(rows, map[string]any{"from_user_id": heapID(v.visitor), "to_user_id": heapID(v.user), "time": v.at.Format(inTable)})
				}
				if v.user != "" && !joined[v.user] {
					joined[v.user] = true
					rows = append(rows, map[string]any{"user_id": heapID(v.user), "identity": v.user, "joindate": v.at.Format(inTable)})
				}
			}
			return rows
		}},
	})
}

// heapID is the number that Heap has for a user or a visitor.
func heapID(id string) json.Number {
	kind, number, _ := strings.Cut(id, "-")
	return json.Number(map[string]string{"user": "92039881174223", "visitor": "72039881174223"}[kind] + strings.Repeat("0", 4-len(number)) + number)
}

func writeTrack(_ *lives, number int, v act) any {
	return map[string]any{"id": fmt.Sprint("m-", number), "event": "visit", "timestamp": v.at.Format(inTable), "user_id": v.user, "anonymous_id": v.visitor}
}

// step is something that somebody did in a session that is known.
type step struct {
	at           time.Time
	user, device string
	number       int
	session      *knownSession
}

type knownSession struct {
	number      int
	user        string // at its end
	first, last time.Time
	steps       []step
}

// newSteps makes devices with one user after the other. Each visits several times, and logs in once. The days are
// around a change of Europe's clocks.
func newSteps(seed uint64) (all []step, sessions []*knownSession) {
	dice := formattest.Dice{Rand: rand.New(rand.NewPCG(seed, 2))}
	begin := time.Date(2024, 3, 28, 0, 0, 0, 0, time.UTC)
	for device := range 40 {
		at := begin.Add(time.Duration(dice.IntN(24*3600)) * time.Second)
		for owner := range 1 + dice.IntN(3) {
			user, steps := "", 0
			for range 1 + dice.IntN(4) {
				at = at.Add(35*time.Minute + time.Duration(dice.IntN(20*3600))*time.Second)
				s := &knownSession{number: len(sessions) + 1, first: at}
				for range 1 + dice.IntN(8) {
					if steps++; dice.Percent(30) {
						user = fmt.Sprintf("user-%d-%d", device, owner)
					}
					s.last, s.user = at, user
					s.steps = append(s.steps, step{at, user, fmt.Sprintf("device-%d-%d", device, owner), len(all) + 1, s})
					all = append(all, s.steps[len(s.steps)-1])
					at = at.Add(time.Duration(1+dice.IntN(25*60)) * time.Second)
				}
				at, sessions = s.last, append(sessions, s)
			}
		}
	}
	return all, sessions
}

func (s step) name() string { return fmt.Sprint("step-", s.number) }

// sessionWriters write the steps of a session as vendors do. A step is found by the name of its event.
var sessionWriters = map[string]struct {
	format history.Format
	key    string // for formats.Sessions
	isOwn  bool   // the format makes the sessions
	step   func(s step) any
	visit  func(s *knownSession) any // in place of step
}{
	"amplitude in a warehouse": {format: warehouse.Amplitude(nil, nil), isOwn: true, step: func(s step) any {
		return map[string]any{"event_type": s.name(), "event_time": s.at.Format(inTable), "user_id": s.user, "device_id": s.device, "session_id": fmt.Sprint(s.session.first.UnixMilli()), "platform": "Web"}
	}},
	"ga4": {format: ga4.Format(nil), isOwn: true, step: func(s step) any {
		return map[string]any{"event_name": s.name(), "event_timestamp": s.at.UnixMicro(), "user_id": orNull(s.user), "user_pseudo_id": s.device,
			"event_params": []any{map[string]any{"key": "ga_session_id", "value": map[string]any{"int_value": s.session.first.Unix()}}}}
	}},
	"ga4 in a warehouse": {format: warehouse.GA4(nil, nil), isOwn: true, step: func(s step) any {
		return map[string]any{"name": s.name(), "timestamp": s.at.Format(inTable), "user_id": s.user, "user_pseudo_id": s.device, "param_ga_session_id": fmt.Sprint(s.session.first.Unix())}
	}},
	"segment in a warehouse": {format: warehouse.Segment(nil, &warehouse.Options{Table: "tracks"}), step: func(s step) any {
		return map[string]any{"id": s.name(), "event": s.name(), "timestamp": s.at.Format(inTable), "user_id": s.user, "anonymous_id": s.device}
	}},
	"rudderstack in a warehouse": {format: warehouse.Segment(nil, &warehouse.Options{Table: "tracks"}), isOwn: true, step: func(s step) any {
		return map[string]any{"id": s.name(), "event": s.name(), "timestamp": s.at.Format(inTable), "user_id": s.user, "anonymous_id": s.device, "context_session_id": fmt.Sprint(s.session.first.UnixMilli())}
	}},
	"snowplow": {format: snowplow.Format(&snowplow.Options{HasNames: true}), key: snowplow.SessionKey, step: func(s step) any {
		return map[string]any{"event": "unstruct", "event_name": s.name(), "event_id": s.name(), "derived_tstamp": s.at.Format(inTable), "user_id": s.user, "domain_userid": s.device, "domain_sessionid": fmt.Sprint(s.session.number)}
	}},
	"umami": {format: umami.Format(nil), key: umami.SessionKey, step: func(s step) any {
		return map[string]any{"event_type": 2, "event_name": s.name(), "event_id": s.name(), "created_at": s.at.Format(inTable), "distinct_id": s.user, "session_id": s.device, "visit_id": fmt.Sprint(s.session.number)}
	}},
	"heap": {format: heap.Format(nil), key: heap.SessionKey, step: func(s step) any {
		return map[string]any{"type": s.name(), "event_id": s.name(), "time": s.at.Format(inTable), "user_id": s.device, "session_id": s.session.number}
	}},
	"pendo": {format: pendo.Format(nil), step: func(s step) any {
		return map[string]any{"eventType": s.name(), "eventId": s.name(), "browserTimestamp": s.at.UnixMilli(), "visitorId": s.device}
	}},
	"matomo":            {format: matomo.Format(&matomo.Options{Zone: berlin}), isOwn: true, visit: writeVisit},
	"matomo in no zone": {format: matomo.Format(nil), isOwn: true, visit: writeVisit},
}

var berlin = func() *time.Location {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	return zone
}()

// writeVisit writes a visit, with the times of actions by the site's clock.
func writeVisit(s *knownSession) any {
	var actions []any
	for _, one := range s.steps {
		_, ahead := one.at.In(berlin).Zone()
		actions = append(actions, map[string]any{"type": "event", "eventAction": one.name(), "pageId": fmt.Sprint(one.number), "timestamp": one.at.Unix() + int64(ahead)})
	}
	return map[string]any{"idSite": "1", "idVisit": fmt.Sprint(s.number), "visitorId": s.steps[0].device, "userId": orNull(s.user),
		"firstActionTimestamp": s.first.Unix(), "lastActionTimestamp": s.last.Unix(), "actionDetails": actions}
}

// In generated histories, each session is one session by PostHog's rules: no two are joined, and no session is split.
func TestSessionsOfVendors(t *testing.T) {
	t.Parallel()
	for name, w := range sessionWriters {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(4) {
				steps, sessions := newSteps(seed)
				var text bytes.Buffer
				for _, s := range sessions {
					if w.visit != nil {
						text.Write(append(formattest.Line(w.visit(s)), '\n'))
						continue
					}
					for _, one := range s.steps {
						text.Write(append(formattest.Line(w.step(one)), '\n'))
					}
				}
				var source history.Source = formats.Sorted(history.Files(w.format, write(t, "h.jsonl", text.String())), t.TempDir())
				if !w.isOwn {
					source = formats.Sessions(source, &formats.SessionOptions{Key: w.key})
				}
				checkSessions(t, steps, sessions, source, name == "matomo in no zone")
			}
		})
	}
}

// checkSessions compares the sessions of a source with the known ones. With isUnclear, visits over a change of the
// clocks are rejected.
func checkSessions(t *testing.T, steps []step, sessions []*knownSession, source history.Source, isUnclear bool) {
	t.Helper()
	idOf, sessionOf, found := map[*knownSession]string{}, map[string]*knownSession{}, 0
	for ev, err := range source.Events(t.Context(), hogapi.Position{}) {
		require.NoError(t, err)
		if ev.Name == "" && isUnclear {
			continue
		}
		number, err := strconv.Atoi(strings.TrimPrefix(ev.Name, "step-"))
		require.NoError(t, err, ev.Name)
		one := steps[number-1]
		require.Equal(t, one.at, ev.Timestamp)
		var p struct {
			ID uuid.UUID `json:"$session_id"`
		}
		require.NoError(t, json.Unmarshal(ev.RawProperties, &p))
		require.Equal(t, uuid.Version(7), p.ID.Version())
		id := p.ID.String()
		if was := idOf[one.session]; was != "" {
			require.Equal(t, was, id, "a session became two")
		}
		if was := sessionOf[id]; was != nil {
			require.Equal(t, was.number, one.session.number, "two sessions became one")
		}
		idOf[one.session], sessionOf[id], found = id, one.session, found+1
		seconds, nanos := p.ID.Time().UnixTime()
		begun := time.Unix(seconds, nanos)
		assert.False(t, begun.After(one.at), "the id begins after an event")
		assert.Less(t, one.at.Sub(begun), aDay)
		assert.Equal(t, one.session.first.Unix(), begun.Unix())
	}
	if isUnclear {
		assert.Greater(t, found, len(steps)*9/10)
		return
	}
	assert.Len(t, steps, found)
	assert.Len(t, sessionOf, len(sessions))
}
