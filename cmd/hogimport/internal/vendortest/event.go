package vendortest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Event is one event that a project holds. Both vendors' records are made from it.
type Event struct {
	ID       string    // a UUID; the vendor's id of the record
	Name     string    // as the vendor has it
	Time     time.Time // when it happened
	Received time.Time // when the vendor stored it: seconds later, days later for a device that was offline
	User     string    // empty before login
	Device   string    // empty for servers; both empty: an event without any id
	Plan     string    // a property
	Copies   int       // how often the raw export has it
}

// Generate returns events that happened from from until before to, in the order of their time: 5 % received 1 to 20
// days late, 3 % twice in the raw export, 2 % without user and device. The same arguments give the same events.
func Generate(from, to time.Time, count int, seed uint64) []Event {
	random := rand.New(rand.NewPCG(seed, 1))
	const users = 20
	names := []string{"page", "Plan Upgraded", "Search", "Sign Up"}
	events := make([]Event, count)
	for i := range events {
		at := from.Add(time.Duration(random.Int64N(int64(to.Sub(from))))).Truncate(time.Millisecond)
		person := random.IntN(users)
		e := Event{
			ID:       uuid(random),
			Name:     names[random.IntN(len(names))],
			Time:     at.UTC(),
			Received: at.Add(time.Duration(random.IntN(30_000)) * time.Millisecond).UTC(),
			Device:   fmt.Sprintf("%08x-77aa", 0x18f0c2a1+person),
			Plan:     []string{"free", "team", "enterprise"}[random.IntN(3)],
			Copies:   1,
		}
		if random.IntN(2) == 0 {
			e.User = fmt.Sprintf("u-%d", 4000+person)
		}
		if random.Float64() < 0.05 {
			e.Received = e.Received.Add(time.Duration(1+random.IntN(20)) * 24 * time.Hour)
		}
		if random.Float64() < 0.03 {
			e.Copies = 2
		}
		if random.Float64() < 0.02 {
			e.User, e.Device = "", ""
		}
		events[i] = e
	}
	slices.SortStableFunc(events, func(a, b Event) int { return a.Time.Compare(b.Time) })
	return events
}

// Rows returns the number of records in a raw export of events.
func Rows(events []Event) (rows int) {
	for _, e := range events {
		rows += e.Copies
	}
	return rows
}

func uuid(random *rand.Rand) string {
	a, b := random.Uint64(), random.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", a>>32, a>>16&0xffff, a&0xfff, 0x8000|b>>48&0x3fff, b&0xffffffffffff)
}
