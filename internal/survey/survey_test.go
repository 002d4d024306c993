package survey

import (
	"hash/maphash"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
)

var noon = time.Date(2020, 1, 1, 12, 0, 0, 0, time.UTC)

func id(n int) uuid.UUID { return uuid.UUID{14: byte(n >> 8), 15: byte(n)} }

func TestSurvey(t *testing.T) {
	t.Parallel()
	s := New(maphash.MakeSeed())
	add := func(n int, name string, after time.Duration) Found {
		return s.Add(Event{ID: id(n), Name: name, Person: uint64(n) * uuidMixFactor, Time: noon.Add(after), Size: 100 + n})
	}
	assert.Equal(t, Found{}, add(1, "a", 0))
	assert.Equal(t, Found{}, add(2, "a", time.Hour))
	assert.Equal(t, Found{Jump: time.Hour}, add(3, "b", 0))
	assert.Equal(t, Found{IsDouble: true}, add(3, "b", time.Microsecond), "of one time, as it is kept")
	assert.Equal(t, Found{IsDouble: true, IsConflict: true}, add(3, "b", time.Minute))
	assert.Equal(t, Found{IsDouble: true, IsConflict: true}, add(3, "c", time.Minute))
	assert.Equal(t, Found{Jump: 24 * time.Hour, IsDouble: true, IsConflict: true}, add(3, "b", time.Minute-24*time.Hour), "of another day")
	assert.Equal(t, Totals{
		Events: 7, Bytes: 718, Largest: 103, Oldest: noon.Add(time.Minute - 24*time.Hour), Newest: noon.Add(time.Hour), LargestJump: 24 * time.Hour, WideSpans: 1,
	}, s.Totals())
	assert.EqualValues(t, 3, s.Persons())
	var rows []string
	for _, r := range s.Days() {
		rows = append(rows, r.Period+" "+r.Name)
	}
	assert.Equal(t, []string{"2019-12-31 b", "2020-01-01 a", "2020-01-01 b", "2020-01-01 c"}, rows)
}

// Of each 1,000 events the survey says whether they span more than a day.
func TestWideSpans(t *testing.T) {
	t.Parallel()
	s := New(maphash.MakeSeed())
	for i := range 3 * spanEvents {
		step := time.Second
		if i >= 2*spanEvents {
			step = 2 * time.Minute
		}
		s.Add(Event{ID: id(i), Time: noon.Add(time.Duration(i) * step)})
	}
	assert.EqualValues(t, 1, s.Totals().WideSpans)
	assert.Zero(t, New(maphash.MakeSeed()).Totals())
}

// When there are too many uuids, further ones are compared with the remembered ones.
func TestManyUUIDs(t *testing.T) {
	t.Parallel()
	s := New(maphash.MakeSeed())
	s.Add(Event{ID: id(1)})
	for i := range maxIDs {
		s.ids.Add(uint64(i)<<32|1<<63, 0)
	}
	s.Add(Event{ID: id(2)})
	assert.True(t, s.Totals().IsPartial)
	assert.False(t, s.Add(Event{ID: id(2)}).IsDouble)
	assert.True(t, s.Add(Event{ID: id(1)}).IsDouble)
}
