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
	r := p.Ends(t, 0, args...).Err(t, "700 sessions made, of 3,500 events.", "7 sessions began within 30m of the first event")
	r.Narrow(t)
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
