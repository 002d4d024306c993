package formattest

import (
	"encoding/hex"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/testevents"
)

// Counts are the numbers that a generator of records expects and a check of them finds.
type Counts struct {
	Events  map[string]int64 // by day and name
	Skips   map[string]int64 // by reason
	Facts   map[string]int64 // events by the facts about them, such as the kind of their distinct id
	Rejects int64
	Doubles int64 // events with the uuid of an earlier event
	Times   int64 // the sum of all times in nanoseconds, as far as it has room
}

func newCounts() Counts {
	return Counts{Events: map[string]int64{}, Skips: map[string]int64{}, Facts: map[string]int64{}}
}

func (c *Counts) note(at time.Time, facts []string) {
	c.Times += at.UnixNano()
	for _, fact := range facts {
		c.Facts[fact]++
	}
}

// Generator makes records and notes the events that are expected of them.
type Generator struct {
	Dice

	Want    Counts
	Records [][]byte
	again   func()          // makes the last record again, if it made an event
	uuids   map[string]bool // of events
}

// NewGenerator makes a generator, which makes the same records in every run.
func NewGenerator(seed uint64) Generator {
	dice := Dice{rand.New(rand.NewPCG(seed, seed))} //nolint:gosec // of a test
	return Generator{Dice: dice, Want: newCounts(), uuids: map[string]bool{}}
}

// Event notes an event.
func (g *Generator) Event(at time.Time, name string, facts ...string) {
	g.Want.Events[at.UTC().Format(time.DateOnly)+" "+name]++
	g.Want.note(at, facts)
}

// Uses notes an event's uuid, in any form: an event with the uuid of an earlier one is a double.
func (g *Generator) Uses(id string) {
	if g.uuids[id] {
		g.Want.Doubles++
	}
	g.uuids[id] = true
}

// Good adds a record of one event, with its uuid in any form, or "" where each record has another.
func (g *Generator) Good(record any, id string, at time.Time, name string, facts ...string) {
	line := Line(record)
	g.again = func() {
		g.Records = append(g.Records, line)
		g.Event(at, name, facts...)
		if id != "" {
			g.Uses(id)
		}
	}
	g.again()
}

// Again adds the last record again in so many of a hundred cases, if it was a good one.
func (g *Generator) Again(percent int) bool {
	if g.again == nil || !g.Percent(percent) {
		return false
	}
	g.again()
	return true
}

// Skip adds a record that is skipped.
func (g *Generator) Skip(record any, reason string) {
	g.again = nil
	g.Records = append(g.Records, Line(record))
	g.Want.Skips[reason]++
}

// Reject adds a record that is rejected.
func (g *Generator) Reject(record []byte) {
	g.again = nil
	g.Records = append(g.Records, record)
	g.Want.Rejects++
}

// Check compares the counts of a check of a file with the counts of the generator. facts are the facts of an event.
func (g *Generator) Check(t *testing.T, format history.Format, path string, facts func(hogapi.Event) []string) {
	t.Helper()
	got := newCounts()
	source := history.Map(history.Files(format, path), func(ev hogapi.Event) ([]hogapi.Event, error) {
		got.note(ev.Timestamp, facts(ev))
		return []hogapi.Event{ev}, nil
	})
	report, err := history.Check(t.Context(), source, &history.Options{ID: "generated", MaxRejectShare: -1})
	require.NoError(t, err)
	require.False(t, report.UUIDsPartial)
	for _, row := range report.Days {
		got.Events[row.Day+" "+row.Event] += row.Events
	}
	maps.Copy(got.Skips, report.Skips)
	got.Rejects, got.Doubles = report.Rejected, report.DoubleUUIDs.Count
	for reason, finding := range report.Reasons {
		if finding.Count != g.Want.Rejects {
			t.Logf("%s: %d: %+v", reason, finding.Count, finding.Examples)
		}
	}
	assert.Equal(t, g.Want, got)
}

// IDs are facts about the ids of an event: the kinds of its distinct id and of its anonymous id, which may be "", and
// whether it has a uuid of its vendor's id.
func IDs(person, linked string, hasUUID bool) (facts []string) {
	facts = []string{person}
	if linked != "" {
		facts = append(facts, "linked "+linked)
	}
	if hasUUID {
		facts = append(facts, "own uuid")
	}
	return facts
}

// IDsOf are IDs of an event, with the kinds of its ids.
func IDsOf(ev hogapi.Event, kind func(id string) string) []string {
	linked := ev.AnonymousID
	if linked != "" {
		linked = kind(linked)
	}
	return IDs(kind(ev.DistinctID), linked, ev.UUID != uuid.Nil)
}

// Size is the number of records of a generator.
func Size() int { return testevents.Sized(10_000, 30_000, 100_000) }

// Dice make the same choices in every run.
type Dice struct{ *rand.Rand }

// Percent is true in so many of a hundred cases.
func (d Dice) Percent(n int) bool { return d.IntN(100) < n }

// UUID is a version 4 uuid.
func (d Dice) UUID() (id uuid.UUID) {
	for i := range id {
		id[i] = byte(d.Uint32())
	}
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id
}

// Hex is a text of 2n hexadecimal digits.
func (d Dice) Hex(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(d.Uint32())
	}
	return hex.EncodeToString(b)
}

// Pick is one of the texts.
func (d Dice) Pick(of ...string) string { return of[d.IntN(len(of))] }

// Time is a time of the five days around the leap day of 2024, to the millisecond.
func (d Dice) Time() time.Time {
	return time.Date(2024, 2, 27, 0, 0, 0, 0, time.UTC).Add(time.Duration(d.IntN(5*24*3600*1000)) * time.Millisecond)
}

// Line is a value as a line of JSON.
func Line(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
