package formats_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
)

// people says how events name ids. The shares are of 100 events, except cross: that of devices which are any id.
type people struct {
	events, users, devices, seconds                        int
	named, anonymous, alias, identify, placeholders, cross int
}

// made are the same events each time.
func (p people) made(seed uint64) []hogapi.Event {
	r := rand.New(rand.NewPCG(seed, 77))
	share := func(of int) bool { return r.IntN(100) < of }
	id := func(kind string, of int) string {
		if share(p.placeholders) {
			return []string{"NULL", "unknown", "0", "-1", "null"}[r.IntN(5)]
		}
		return fmt.Sprint(kind, r.IntN(of))
	}
	device := func() string {
		if share(p.cross) {
			return id("user-", p.users)
		}
		return id("device-", p.devices)
	}
	events := make([]hogapi.Event, p.events)
	for i := range events {
		ev := hogapi.Event{Name: "visit", DistinctID: id("user-", p.users), Timestamp: longAgo.Add(time.Duration(r.IntN(p.seconds))*time.Second + time.Duration(r.IntN(2)))}
		switch r.IntN(50) {
		case 0:
			ev.DistinctID = device()
		case 1:
			ev.DistinctID = ""
		}
		if share(p.named) {
			ev.UserIDs = []string{id("user-", p.users), id("user-", p.users)}[:1+r.IntN(2)]
		}
		if share(p.anonymous) {
			ev.AnonymousID = device()
		}
		if share(p.alias) {
			ev.Name, ev.Properties = "$create_alias", map[string]any{"alias": device()}
		} else if share(p.identify) {
			ev.Name, ev.Properties = "$identify", map[string]any{"$anon_distinct_id": device()}
		}
		events[i] = ev
	}
	return events
}

// An import that an earlier release has stopped within its links continues at the number of a link: the links of the
// same events have the same order, ids, times and uuids in every release. The digests come from the release that first
// sorted on disk. Where it had a link of an id with itself, or a repeated link, there is now a skipped one.
func TestLinksAreThoseOfEarlierReleases(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		people
		alone, firstUser string // digests
	}{
		"devices of one user":  {people{3000, 400, 4000, 900, 0, 60, 0, 0, 0, 0}, "9a922f65f3bcdf2d15025cf9", "3c1111ef886c71dec7839549"},
		"shared devices":       {people{5000, 300, 400, 5000, 0, 70, 0, 0, 0, 0}, "f5b1f377adf3bdcb7c0e088d", "261dc994ce342cac7b1681a6"},
		"ties in time":         {people{3000, 200, 500, 1, 5, 60, 3, 3, 0, 0}, "14cc940a1ae7d29699d7c4b4", "b619961a42243ca8fe32e340"},
		"users that are named": {people{4000, 900, 900, 4000, 25, 40, 0, 0, 0, 0}, "740fabf17176f1a66837a790", "ee49645e74f80963969a7522"},
		"devices of users":     {people{4000, 900, 2000, 4000, 10, 60, 0, 5, 0, 20}, "9b45b15356f99357148699d7", "78ff6a6ac842050dd31691d0"},
		"aliases":              {people{4000, 2000, 4000, 2000, 0, 20, 40, 5, 0, 2}, "1c37c8876d257af4a77222b3", "e0bc7b84bb5f56fc02e6e68d"},
		"placeholders":         {people{4000, 500, 1500, 50, 10, 50, 5, 5, 20, 1}, "baf0c480e33f24ab36328c60", "87b9c5b3985d0eb09791d4cd"},
		"all of it":            {people{100_000, 30_000, 60_000, 80_000, 5, 50, 5, 5, 1, 1}, "bed264bb1cd4f8ba906eafcb", "fab267d0a9ef90b67de8f9ca"},
	} {
		for rule, want := range map[formats.SharedDevices]string{formats.SharedDevicesAlone: c.alone, formats.SharedDevicesFirstUser: c.firstUser} {
			t.Run(name+", "+string(rule), func(t *testing.T) {
				t.Parallel()
				var report formats.LinksReport
				options := formats.LinksOptions{SharedDevices: rule, MaxIDs: -1, OnReport: func(r formats.LinksReport) { report = r }}
				links := all(t, formats.LinksWith(each(c.made(7)...), &options))
				sum, repeated := sequence(links)
				if repeated == 0 { // else that release counted an id twice
					text, err := json.Marshal(report)
					require.NoError(t, err)
					_, _ = sum.Write(text)
				}
				assert.Equal(t, want, hex.EncodeToString(sum.Sum(nil)[:12]), "%d links, %d repeated", len(links), repeated)
			})
		}
	}
}

// sequence is a digest of links, and how many of them are there twice.
func sequence(links []hogapi.Event) (sum hash.Hash, repeated int) {
	sum = sha256.New()
	last := ""
	for _, ev := range links {
		reason, isSkipped := ev.Skipped()
		other, _ := ev.Properties["$anon_distinct_id"].(string)
		text := fmt.Sprint(ev.Name, ev.DistinctID, ev.UUID, ev.Timestamp.Format(time.RFC3339Nano), other, reason, len(ev.Properties))
		if !isSkipped && (text == last || other == ev.DistinctID) || reason == formats.SkipRepeated {
			repeated++
			text = "repeated"
		} else {
			last = text
		}
		_, _ = fmt.Fprintln(sum, ev.Position, text)
	}
	return sum, repeated
}
