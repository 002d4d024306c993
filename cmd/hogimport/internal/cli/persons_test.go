package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/hogapitest"
)

// calls are calls of two users who log in on one device after each other, and of one with a device of his own.
func calls(t *testing.T, p *clitest.Program) {
	t.Helper()
	lines := []string{
		`"type":"track","event":"seen","anonymousId":"a"`, `"type":"identify","anonymousId":"a","userId":"ann"`,
		`"type":"identify","anonymousId":"a","userId":"bob"`, `"type":"track","event":"seen","anonymousId":"c"`,
		`"type":"identify","anonymousId":"c","userId":"cid"`,
	}
	p.Lines(t, "calls.jsonl", len(lines), func(i int) string {
		return fmt.Sprintf(`{"messageId":"m%d","timestamp":"2024-05-01T12:00:%02dZ",%s}`, i, i, lines[i])
	})
}

// Identify calls join no two users of one device, unless that is asked for, and the persons of several ids are named first.
func TestTwoUsersOfADeviceStayTwo(t *testing.T) {
	t.Parallel()
	for flags, want := range map[string][]string{
		"":                            {"cid<c"},
		"--shared-devices=first-user": {"ann<a", "cid<c"},
		"--links=false":               {"ann<a", "bob<a", "cid<c"},
	} {
		server, p := clitest.Serve(t)
		calls(t, p)
		args := []string{"run", "--format", "rudderstack", "calls.jsonl", "--yes", "--rate", "none", "--max-ids", "2", "--memory", "64MiB"}
		if flags != "" {
			args = append(args, flags)
		}
		r := p.Ends(t, 0, args...)
		var pairs []string
		for e := range server.Ledger().Events() {
			var properties map[string]any
			require.NoError(t, json.Unmarshal(e.Properties, &properties))
			if other := properties["$anon_distinct_id"]; e.Event == "$identify" && other != nil {
				pairs = append(pairs, fmt.Sprint(e.DistinctID, "<", other))
			}
		}
		assert.ElementsMatch(t, want, pairs, flags)
		kept, err := filepath.Glob(filepath.Join(p.Dir, "hogimport-state", "*", "import.json"))
		require.NoError(t, err)
		require.Len(t, kept, 1)
		text, err := os.ReadFile(kept[0])
		require.NoError(t, err)
		assert.Contains(t, string(text), `"memory": "64MiB"`, "verify and a run that continues take it too")
		if flags != "--links=false" {
			clitest.Says(t, r.Stderr, "out of more than one id: of ")
		}
	}
}

// A person of too many ids stops the import before its first event, and check says so before.
func TestAPersonOfTooManyIDs(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	p.Lines(t, "calls.jsonl", 5, func(i int) string {
		return fmt.Sprintf(`{"type":"track","event":"e","messageId":"m%d","timestamp":"2024-05-01T12:00:%02dZ","userId":"everybody","anonymousId":"a%[1]d"}`, i, i)
	})
	check := []string{"check", "calls.jsonl", "--format", "segment"}
	p.Ends(t, 3, append(check, "--max-ids", "4")...).Out(t, "6 ids would become one person", "It is everybody, with a", "give --max-ids 6")
	r := p.Run(t, "run", "--format", "segment", "calls.jsonl", "--yes", "--rate", "none", "--max-ids", "4").Err(t, "everybody", "6")
	assert.NotZero(t, r.Code)
	assert.Zero(t, server.Ledger().Unique())
	p.Ends(t, 0, check...).Out(t, "1 person comes out of more than one id", "everybody 6")
	for _, flags := range [][]string{
		{"--max-ids", "many"}, {"--memory", "63MiB"}, {"--memory", "1"}, {"--shared-devices", "none"}, {"--format", "ga4", "--group", "a=b"}, {"--format", "mixpanel", "--group", "a"},
		{"--format", "ga4", "--look-up-ip"}, {"--format", "ga4", "--no-visitor-profiles"},
	} {
		p.Ends(t, 2, append(check, flags...)...)
	}
}

// The properties of today's persons stay with --leave-persons, and links still join ids.
func TestPersonsAreLeftAlone(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	calls(t, p)
	p.Ends(t, 0, "run", "--format", "segment", "calls.jsonl", "--yes", "--rate", "none", "--leave-persons")
	left := 0
	for e := range server.Ledger().Events() {
		var properties map[string]any
		require.NoError(t, json.Unmarshal(e.Properties, &properties))
		if properties["$process_person_profile"] == false {
			left++
		}
		assert.Equal(t, e.Event != "$identify", properties["$process_person_profile"] == false, e.Event)
	}
	assert.Equal(t, 2, left)
}

// A table of a warehouse has the states of users too.
func TestTheNewestStateInATable(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	p.Write(t, "event.csv", "event_type,event_time,user_id,device_id,user_properties\n"+
		`e,2024-05-02T12:00:00,u,d,"{""plan"":""team""}"`+"\n"+`e,2024-05-01T12:00:00,u,d,"{""plan"":""free""}"`+"\n")
	p.Ends(t, 0, "run", "event.csv", "--format", "amplitude-warehouse-people", "--yes", "--rate", "none").Out(t, "1 of 2 records left out")
	for e := range server.Ledger().Events() {
		assert.Equal(t, "$set u", e.Event+" "+e.DistinctID)
		assert.Contains(t, string(e.Properties), `"$set_once":{"plan":"team"}`)
	}
	assert.Equal(t, 1, server.Ledger().Len())
}

// Of the states of a user in Amplitude's export, the newest is sent, and check says so before.
func TestTheNewestStateOfEachUser(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	p.Lines(t, "export.jsonl", 40, func(i int) string {
		return fmt.Sprintf(`{"event_type":"e","event_time":"2024-05-%02d 12:00:00","user_id":"u%d","user_properties":{"plan":"p%d"}}`, 1+i*7%20, i%4, i*7%20)
	})
	args := []string{"export.jsonl", "--format", "amplitude-people"}
	p.Ends(t, 0, append([]string{"check"}, args...)...).Narrow(t).Never(t, "--sort", "--sessions").
		Out(t, "Only the newest event of each person is sent", "Import the events of these files before, with --set-policy strip")
	p.Ends(t, 0, "run", "export.jsonl", "--format", "amplitude", "--set-policy", "strip", "--yes", "--rate", "none")
	clitest.Says(t, p.Ends(t, 0, append([]string{"check"}, args...)...).Stdout, "Nothing has been sent so far", "verify --state hogimport-state/export-people")
	p.Ends(t, 0, append([]string{"run", "--yes", "--rate", "none"}, args...)...).Out(t, "36 of 40 records left out")
	got := map[string]string{}
	for e := range server.Ledger().Events() {
		if e.Event != "$set" {
			continue
		}
		var properties struct {
			Once map[string]string `json:"$set_once"`
		}
		require.NoError(t, json.Unmarshal(e.Properties, &properties))
		got[e.DistinctID] = e.Event + " " + properties.Once["plan"]
	}
	assert.Equal(t, map[string]string{"u0": "$set p16", "u1": "$set p19", "u2": "$set p18", "u3": "$set p17"}, got)
	clitest.Says(t, p.Ends(t, 0, "verify", "--state", "hogimport-state/export-people").Stdout, "Complete: all 4 events are in the project")
	p.Ends(t, 2, append([]string{"check", "--set-policy", "strip"}, args...)...).Err(t, "leaves nothing of user properties")
}

// visits writes visits of Mixpanel: of 7 devices, each of which is silent for 36 minutes after five visits. They are
// in no order.
func visits(t *testing.T, p *clitest.Program, name string, from, n int) {
	t.Helper()
	p.Lines(t, name, n, func(i int) string {
		i = from + (i*37)%n // 37 has no divisor with n in common
		device, step := i%7, i/7
		at := 1709251200 + step*60 + step/5*36*60
		return fmt.Sprintf(`{"event":"visit","properties":{"time":%d,"distinct_id":"user-%d","$insert_id":"%016x"}}`, at, device, i)
	})
}

// sessionsOf has the session of each event that the server has, by uuid.
func sessionsOf(t *testing.T, server *hogapitest.Server) map[uuid.UUID]string {
	t.Helper()
	ids := map[uuid.UUID]string{}
	for ev := range server.Ledger().Events() {
		var p struct {
			ID string `json:"$session_id"`
		}
		require.NoError(t, json.Unmarshal(ev.Properties, &p))
		if p.ID != "" {
			assert.EqualValues(t, 7, uuid.MustParse(p.ID).Version())
		}
		if before, isThere := ids[ev.UUID]; isThere {
			assert.Equal(t, before, p.ID, "sent twice with one session")
		}
		ids[ev.UUID] = p.ID
	}
	return ids
}

func different(ids map[uuid.UUID]string) int {
	all := map[string]bool{}
	for _, id := range ids {
		all[id] = true
	}
	return len(all)
}

// Sessions are the same after kills, with links and without, and are a part of the import that cannot change.
func TestSessions(t *testing.T) {
	t.Parallel()
	const n = 3500
	server, p := clitest.Serve(t)
	visits(t, p, "visits.jsonl", 0, n)
	args := []string{"run", "visits.jsonl", "--format", "mixpanel", "--zone", "UTC", "--sort", "--sessions", "30m", "--yes", "--rate", "none"}
	p.Ends(t, 0, args...).Err(t, "700 sessions made, of 3,500 events.", "7 sessions began within 30m of the first event").Narrow(t)
	want := sessionsOf(t, server)
	require.Len(t, want, n)
	require.Equal(t, 700, different(want))
	assert.FileExists(t, filepath.Join(p.Dir, "hogimport-state", "visits", "sessions.json"))
	p.Ends(t, 2, "run", "visits.jsonl", "--format", "mixpanel", "--zone", "UTC", "--sort", "--sessions", "20m", "--yes").Err(t, "began with another --sessions")
	p.Ends(t, 0, "verify", "--every-uuid")

	server, p = clitest.Serve(t)
	visits(t, p, "visits.jsonl", 0, n)
	for range 3 {
		before := server.Ledger().Len()
		p.Until(t, func() bool { return server.Ledger().Len() > before+500 }, os.Kill, append(args, "--links", "--rate", "1500")...)
	}
	p.Ends(t, 0, append(args, "--links")...)
	assert.Equal(t, want, sessionsOf(t, server))
}

// A later import goes on with the sessions of an earlier one.
func TestSessionsOfALaterImport(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	visits(t, p, "first.jsonl", 0, 70+14) // which ends two visits after a silence
	visits(t, p, "second.jsonl", 70+14, 70)
	flags := []string{"--format", "mixpanel", "--zone", "UTC", "--sort", "--sessions", "30m", "--yes", "--rate", "none"}
	p.Ends(t, 0, append([]string{"run", "first.jsonl"}, flags...)...)
	require.Equal(t, 21, different(sessionsOf(t, server)))
	p.Ends(t, 0, append([]string{"run", "second.jsonl", "--sessions-after", "hogimport-state/first"}, flags...)...).
		Err(t, "14 sessions made, of 70 events").Never(t, "--sessions-after goes on")
	assert.Equal(t, 35, different(sessionsOf(t, server)), "seven of them are of both imports")
}

// Flags that make no sessions are refused with advice.
func TestSessionsThatCannotBeMade(t *testing.T) {
	t.Parallel()
	_, p := clitest.Serve(t)
	visits(t, p, "visits.jsonl", 0, 10)
	for want, flags := range map[string][]string{
		"--sessions needs all events in the order of time add --sort":             {"--format", "mixpanel", "--sessions", "30m"},
		"--sessions is for exports without sessions, and events of amplitude":     {"--format", "amplitude", "--sessions", "30m", "--sort"},
		`--sessions "25h" is not a silence between two sessions`:                  {"--format", "mixpanel", "--sessions", "25h", "--sort"},
		`--sessions "half an hour" is not a silence between two sessions`:         {"--format", "mixpanel", "--sessions", "half an hour", "--sort"},
		"--sessions-after is for imports with --sessions":                         {"--format", "mixpanel", "--sessions-after", "x", "--sort"},
		"there is no such file give the state folder of an import with --session": {"--format", "mixpanel", "--sessions-after", "x", "--sort", "--sessions", "30m"},
	} {
		for _, command := range []string{"run", "check"} {
			p.Ends(t, 2, append([]string{command, "visits.jsonl"}, flags...)...).Err(t, want)
		}
	}
}

// A check says where web analytics would stay empty, and which flags make the sessions.
func TestCheckSuggestsSessions(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, nil)
	visits(t, p, "visits.jsonl", 0, 100)
	at := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	line := func(name, properties string) func(int) string {
		return func(i int) string {
			return fmt.Sprintf(`{"event":%q,"distinct_id":"u%d","timestamp":%q,"properties":{%s}}`, name, i%3, at.Add(time.Duration(i)*time.Minute).Format(time.RFC3339), properties)
		}
	}
	p.Lines(t, "pages.jsonl", 20, line("$pageview", `"$lib":"web"`))
	p.Lines(t, "jobs.jsonl", 20, line("job", `"a":1`))
	p.Lines(t, "servers.jsonl", 20, line("$pageview", `"$lib":"posthog-node"`))
	p.Lines(t, "live.jsonl", 20, line("$pageview", `"$session_id":"018f3406-9e00-79e4-8d7c-07a3d0628443"`))
	const title, flags = "The events have no session", "--sort --sessions 30m --yes"
	for _, args := range [][]string{{"visits.jsonl", "--format", "mixpanel", "--zone", "UTC"}, {"pages.jsonl"}} {
		p.Ends(t, 0, append([]string{"check"}, args...)...).Out(t, title, "PostHog's web analytics", flags)
		p.Ends(t, 0, append([]string{"check", "--sort", "--sessions", "20m"}, args...)...).Out(t, "Sessions are made", "--sort --sessions 20m").Never(t, title)
	}
	for _, name := range []string{"jobs.jsonl", "servers.jsonl", "live.jsonl"} {
		p.Ends(t, 0, "check", name).Never(t, title, "--sessions")
	}
}
