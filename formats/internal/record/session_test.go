package record

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"

	"github.com/hogapi/hogapi/formats"
)

// A session keeps PostHog's rule for each of its events, alone: the time of the id is not after the event, and
// less than 24 hours before it.
func TestSession(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	start := time.UnixMilli(1_709_251_198_012)
	of := func(after time.Duration) uuid.UUID { return Session(start, "d", "s", start.Add(after)) }
	for after, want := range map[time.Duration]int{ // the number of the piece, or -1 for no session
		0: 0, 1: 0, time.Second: 0, day - 1: 0, day: 1, day + 1: 1, 2*day - 1: 1, 2 * day: 2, 1000*day + time.Hour: 1000,
		-1: -1, -time.Millisecond: -1, -day: -1, -1000 * day: -1,
	} {
		if want < 0 {
			assert.Equal(t, uuid.Nil, of(after), after)
			continue
		}
		assert.Equal(t, formats.SessionID(start.Add(time.Duration(want)*day), "d", "s"), of(after), after)
	}
	assert.NotEqual(t, of(0), of(day))
	far := time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	assert.Equal(t, formats.SessionID(far, "d", "s"), Session(time.Unix(86400, 0), "d", "s", far))
	assert.Equal(t, of(0), Session(start.Add(999_999), "d", "s", start), "the id is not more exact than a millisecond")
	for _, none := range []time.Time{{}, time.UnixMilli(-1), time.UnixMilli(0), time.UnixMilli(999)} { // the marks of no session
		assert.Equal(t, uuid.Nil, Session(none, "d", "s", start), none)
	}
	assert.NotEqual(t, uuid.Nil, Session(time.Unix(1, 0), "d", "s", start), "a number that is not a time makes sessions of 24 hours at most")
}

func TestAddSession(t *testing.T) {
	t.Parallel()
	var o Object
	o.Begin()
	start := time.UnixMilli(1_709_251_198_012)
	o.AddSession(start, "d", "s", start.Add(-1))
	assert.Equal(t, "{}", string(o.JSON()))
	o.AddSession(start, "d", "s", start)
	assert.Equal(t, `{"$session_id":"`+formats.SessionID(start, "d", "s").String()+`"}`, string(o.JSON()))
}
