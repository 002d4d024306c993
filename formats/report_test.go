package formats

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
)

func TestHours(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		events int64
		rate   int
		want   float64
	}{{7_200_000, 0, 2}, {7200, 1, 2}, {1800, 1, 0.5}, {1800, -1, 0}} {
		assert.InDelta(t, tt.want, hours(tt.events, tt.rate), 1e-9, "%+v", tt)
	}
}

// A cut is where the project has events on each day that follows.
func TestCut(t *testing.T) {
	t.Parallel()
	r := CheckReport{CheckReport: history.CheckReport{Days: []history.CheckCount{{Day: "2024-05-03"}, {Day: "2024-05-01"}, {Day: "2024-05-02"}}}}
	for want, held := range map[string][]HeldDay{
		"":           {{Day: "2024-05-01", Project: 1}, {Day: "2024-05-03"}},
		"2024-05-03": {{Day: "2024-05-01", Project: 1}, {Day: "2024-05-02"}, {Day: "2024-05-03", Project: 1}},
		"2024-05-02": {{Day: "2024-05-02", Project: 2}, {Day: "2024-05-03", Project: 1}, {Day: "2024-05-04"}},
	} {
		r.Held = held
		assert.Equal(t, want, r.Cut())
	}
}

// A report says no more than it has.
func TestReportInWords(t *testing.T) {
	t.Parallel()
	const billing = "\nbilling: historical events less than 48 hours old are billed as live ones, so the gate refuses them; whether others are billed, your plan says"
	r := CheckReport{Format: "generic", Zone: "UTC"}
	head := "format generic\n" + r.CheckReport.String() + "\n"
	const double = "records with the vendor's id of an earlier one  0\n"
	assert.Equal(t, head+double+"to import: 0 events of about 0 persons"+billing, r.String())

	r.Good, r.Hours, r.Test = 3, 0.25, "local times"
	r.Oldest, r.Newest = time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC), time.Date(2024, 5, 2, 0, 0, 0, 0, time.UTC)
	r.OldestLocal, r.NewestLocal = r.Oldest, r.Newest
	r.IDs = map[string]int64{"text": 1, "number": 10, "uuid": 1, "none": 2}
	r.Kept = map[string]int64{"b": 1, "a": 1, "c": 2}
	r.Held, r.CutFrom = []HeldDay{{"2024-05-02", 7, 2}}, "2024-05-02"
	text := r.String()
	assert.Contains(t, text, `
in UTC                                          from 2024-05-01T00:00:00Z  to 2024-05-02T00:00:00Z
in UTC                                          from 2024-05-01T00:00:00Z  to 2024-05-02T00:00:00Z
distinct id: number                             10                         71.4 %
distinct id: none                               2                          14.3 %
distinct id: text                               1                          7.1 %
distinct id: uuid                               1                          7.1 %
records with the vendor's id of an earlier one  0
test: local times
kept under their own names: "c" 2, "a" 1, "b" 1
`)
	assert.Contains(t, text, "to import: 3 events of about 0 persons, 0.2 hours at the chosen rate")
	assert.Contains(t, text, "from 2024-05-02 on the project has events on every day of the files")

	many := map[string]int64{}
	for i := range 30 {
		many[fmt.Sprintf("%02d", i)] = 1
	}
	assert.NotContains(t, counted(many), "more")
	many["30"], many["31"] = 1, 1
	assert.Contains(t, counted(many), `"29" 1, and 2 more`)
}

// A refused record is not an example. A property counts as kept if it has the name of a key of the record.
func TestSeen(t *testing.T) {
	t.Parallel()
	i := newInspector(nil)
	event := hogapi.Event{Name: "e", DistinctID: "a", RawProperties: []byte(`{"kept":1,"inner":2,"$own":3,"made":4}`)}
	record := []byte(`{ "kept": 1, "o": {"inner": 2}, "$own": 3, "list": ["made"] }`)
	i.see(record, []hogapi.Event{event}, errors.New("refused"))
	i.see(record, nil, nil)
	assert.Empty(t, i.result.Examples)
	i.see(record, []hogapi.Event{event}, nil)
	assert.Equal(t, map[string]int64{"kept": 1, "inner": 1}, i.report(history.CheckReport{}).Kept)
	require.Len(t, i.result.Examples, 1)
	assert.JSONEq(t, string(record), i.result.Examples[0].Before)
	assert.NotContains(t, i.result.Examples[0].Before, " ", "it is one line")
	assert.Equal(t, "{ damaged", conversion([]byte("{ damaged"), nil).Before)

	for n := range maxKept + 1 {
		name := fmt.Sprintf("key%04d", n)
		event.RawProperties = fmt.Appendf(nil, `{%q:1}`, name)
		i.see(event.RawProperties, []hogapi.Event{event}, nil)
	}
	assert.Len(t, i.report(history.CheckReport{}).Kept, maxKept)
	event.RawProperties = []byte(`{"kept":1}`)
	i.see(event.RawProperties, []hogapi.Event{event}, nil)
	assert.EqualValues(t, 2, i.report(history.CheckReport{}).Kept["kept"], "a name that is known counts")
}

// Ids and uuids are recognized as by these patterns, and keys are counted after so many that they are forgotten.
func TestFormsOfIDs(t *testing.T) {
	t.Parallel()
	type pattern struct {
		name string
		of   *regexp.Regexp
	}
	patterns := []pattern{
		{"none", regexp.MustCompile(`^$`)}, {"uuid", regexp.MustCompile(`^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`)},
		{"number", regexp.MustCompile(`^[0-9]+$`)}, {"e-mail", regexp.MustCompile(`^[^@\s]+@[^@\s]+\.[^@\s]+$`)}, {"text", regexp.MustCompile(``)},
	}
	dice := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var id []byte
		for range dice.IntN(7) {
			id = append(id, []string{"a", "7", "@", ".", "\t", "\v", "é", "\xff", uuid.Max.String(), "-"}[dice.IntN(10)]...)
		}
		if len(id) > 0 && dice.IntN(2) == 0 {
			id = bytes.ToUpper(id)
		}
		for _, p := range patterns {
			if p.of.Match(id) {
				require.Equal(t, p.name, formOf(string(id)), "%q", id)
				break
			}
		}
		assert.Equal(t, bytes.Contains(bytes.ToLower(id), []byte(uuid.Max.String())), hasUUID(id, uuid.Max), "%q", id)
	}
	i := newInspector(nil)
	for n := range 3 * maxKeys {
		event := hogapi.Event{DistinctID: "a", RawProperties: fmt.Appendf(nil, `{"key":1,"$%d":2}`, n)}
		i.see(event.RawProperties, []hogapi.Event{event}, nil)
	}
	assert.Equal(t, map[string]int64{"key": 3 * maxKeys}, i.report(history.CheckReport{}).Kept)
	assert.LessOrEqual(t, len(i.keys.known), maxKeys+2)
}

// Three events of different names are shown, and two more for other kinds of ids.
func TestExamples(t *testing.T) {
	t.Parallel()
	i := newInspector(nil)
	for n, step := range []struct {
		event    hogapi.Event
		examples int
	}{
		{hogapi.Event{Name: "a", DistinctID: "x"}, 1},
		{hogapi.Event{Name: "a", DistinctID: "y"}, 1},
		{hogapi.Event{Name: "a", DistinctID: "x", AnonymousID: "x"}, 1}, // it has one id
		{hogapi.Event{Name: "a", DistinctID: "x", AnonymousID: "z"}, 2},
		{hogapi.Event{Name: "b", DistinctID: "x"}, 3},
		{hogapi.Event{Name: "c", DistinctID: "x"}, 3},
		{hogapi.Event{Name: "c", DistinctID: "7"}, 4},
		{hogapi.Event{Name: "c", DistinctID: "ann@example.com"}, 5},
		{hogapi.Event{Name: "c", DistinctID: uuid.Max.String()}, 5},
	} {
		i.see([]byte("{}"), []hogapi.Event{step.event}, nil)
		assert.Len(t, i.result.Examples, step.examples, n)
	}
}

// Ids that differ in one half, or in both in the same way, are different.
func TestDoubleIDs(t *testing.T) {
	t.Parallel()
	i := newInspector(nil)
	for _, id := range []uuid.UUID{{7: 1, 15: 2}, {7: 1, 15: 3}, {7: 2, 15: 2}, {7: 3}, {15: 1}, uuid.Nil, uuid.Nil} {
		i.seeID(id)
	}
	assert.Zero(t, i.result.DoubleIDs)
	i.seeID(uuid.UUID{7: 2, 15: 2})
	assert.EqualValues(t, 1, i.result.DoubleIDs)
}
