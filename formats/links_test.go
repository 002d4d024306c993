package formats_test

import (
	"fmt"
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
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
)

// A device with two users is never linked, in any order of its pairs, also where an older pair
// comes again: a link would make them one person for good. A pair of a device with one user is
// linked at the oldest time of an event of either.
func TestLinksOfSharedDevices(t *testing.T) {
	t.Parallel()
	row := func(device, user string, second int) string {
		return fmt.Sprintf(`{"who":%q,"device":%q,"at":"2024-05-01T12:00:%02dZ"}`+"\n", user, device, second)
	}
	rows := []string{row("d", "ann", 1), row("d", "bob", 2), row("d", "ann", 3), row("d", "bob", 4)}
	var orders24 func(before, rest []string)
	orders24 = func(before, rest []string) {
		for i := range rest {
			others := append(slices.Clone(rest[:i]), rest[i+1:]...)
			orders24(append(slices.Clone(before), rest[i]), others)
		}
		if len(rest) > 0 {
			return
		}
		text := strings.Join(before, "") + row("e", "eve", 9) + row("e", "eve", 7) + row("e", "eve", 8) + row("e", "", 6) + `{"who":"e","at":"2024-05-01T12:00:05Z"}` + "\n"
		var links []string
		for ev, err := range formats.Links(history.Files(orders, write(t, "o.jsonl", text))).Events(t.Context(), hogapi.Position{}) {
			require.NoError(t, err)
			links = append(links, fmt.Sprint(ev.Name, " ", ev.DistinctID, " ", ev.Timestamp.Second()))
		}
		require.Len(t, links, 2, text)
		require.Contains(t, links, "$identify eve 5", text)
		require.NotContains(t, strings.Join(links, ","), "ann", text)
		require.NotContains(t, strings.Join(links, ","), "bob", text)
	}
	orders24(nil, rows)
}

// Each pair of ids is linked once, at the time of the oldest event of either and oldest first, but for
// devices with two users, which are counted.
func TestLinks(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	var b strings.Builder
	oldest, users := map[string]time.Time{}, map[string]map[string]bool{}
	for range 3000 {
		device := fmt.Sprint("d", random.IntN(200))
		user := "u of " + device
		if device == "d7" || device == "d8" {
			user = fmt.Sprint("u", random.IntN(3))
		}
		at := longAgo.Add(time.Duration(random.IntN(1e6)) * time.Millisecond)
		seen := func(ids ...string) {
			for _, id := range ids {
				if first, known := oldest[id]; !known || at.Before(first) {
					oldest[id] = at
				}
			}
		}
		switch random.IntN(3) {
		case 0: // anonymous
			fmt.Fprintf(&b, `{"who":%q,"device":%q,"at":%q}`+"\n", device, device, at.Format(time.RFC3339Nano))
			seen(device)
			continue
		case 1:
			fmt.Fprintf(&b, `{"who":%q,"at":%q}`+"\n", user, at.Format(time.RFC3339Nano))
			seen(user)
			continue
		}
		seen(device, user)
		fmt.Fprintf(&b, `{"who":%q,"device":%q,"at":%q}`+"\n", user, device, at.Format(time.RFC3339Nano))
		if users[device] == nil {
			users[device] = map[string]bool{}
		}
		users[device][user] = true
	}
	source := history.Files(orders, write(t, "orders.jsonl", b.String()+`{"who":"x","at":"never"}`+"\n"))
	links := formats.Links(source)
	var seen []string
	var places []hogapi.Position
	ids := map[uuid.UUID]bool{}
	last := time.Time{}
	for ev, err := range links.Events(t.Context(), hogapi.Position{}) {
		require.NoError(t, err)
		seen, places = append(seen, fmt.Sprint(ev.Name, ev.DistinctID, ev.UUID)), append(places, ev.Position)
		if ev.Name == "" {
			continue // skipped
		}
		device, _ := ev.Properties["$anon_distinct_id"].(string)
		require.Equal(t, "$identify", ev.Name)
		require.Len(t, users[device], 1)
		require.True(t, users[device][ev.DistinctID])
		first := oldest[device]
		if other := oldest[ev.DistinctID]; other.Before(first) {
			first = other
		}
		require.Equal(t, first, ev.Timestamp)
		require.False(t, ev.Timestamp.Before(last))
		last = ev.Timestamp
		ids[ev.UUID] = true
	}
	shared := 0
	for _, of := range users {
		if len(of) > 1 {
			shared++
		}
	}
	require.Positive(t, shared)
	assert.Len(t, ids, len(users)-shared)
	assert.Len(t, seen, len(users))
	for i, p := range places {
		if i%20 == 0 {
			var rest []string
			for ev, err := range links.Events(t.Context(), p) {
				require.NoError(t, err)
				rest = append(rest, fmt.Sprint(ev.Name, ev.DistinctID, ev.UUID))
			}
			require.Equal(t, seen[i+1:], append([]string{}, rest...))
		}
	}

	// With the source it is one import, and the links come first.
	server := hogapitest.New()
	receipt, err := history.Import(t.Context(), server.Client(t), history.Concat(links, source), &history.Options{
		ID: "orders", Rate: hogapi.RateUnlimited, Checkpoint: history.CheckpointFile(filepath.Join(t.TempDir(), "checkpoint")), Rejects: history.RejectFile(filepath.Join(t.TempDir(), "rejects")),
	})
	require.NoError(t, err)
	assert.EqualValues(t, len(users)-shared+3000, receipt.Acknowledged)
	assert.EqualValues(t, 1, receipt.Rejected)
	assert.Equal(t, map[string]int64{formats.SkipSharedDevice: int64(shared)}, receipt.Skips)
	for _, err := range links.Events(t.Context(), hogapi.Position{Key: "x"}) {
		require.ErrorContains(t, err, "no position")
	}
}
