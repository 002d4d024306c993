package formats_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"

	"github.com/hogapi/hogapi/formats"
)

// The id has the start as its time, and differs by the start, the device and the session. It never changes.
func TestSessionID(t *testing.T) {
	t.Parallel()
	start := time.Date(2024, 5, 1, 12, 0, 0, 123_456_789, time.FixedZone("", 3600))
	assert.Equal(t, sessionIDNow, formats.SessionID(start, "device", "1714561200123").String(), "imports that began before have this id")
	seen := map[uuid.UUID]string{}
	for _, at := range []time.Time{start, start.Add(time.Millisecond), time.UnixMilli(0), time.UnixMilli(1<<48 - 1)} {
		for _, names := range [][2]string{{"a", "bc"}, {"ab", "c"}, {"abc", ""}, {"", "abc"}, {"", ""}, {"a\x00b", "c"}, {"é", "\xff"}} {
			id := formats.SessionID(at, names[0], names[1])
			text := fmt.Sprint(at, names)
			assert.Empty(t, seen[id], text)
			seen[id] = text
			assert.EqualValues(t, 7, id.Version(), text)
			assert.Equal(t, uuid.RFC4122, id.Variant(), text)
			var ms int64
			for _, b := range id[:6] {
				ms = ms<<8 | int64(b)
			}
			assert.Equal(t, at.UnixMilli(), ms, text)
			assert.Equal(t, id, formats.SessionID(at.UTC().Truncate(time.Millisecond), names[0], names[1]), text)
		}
	}
	for _, at := range []time.Time{{}, time.UnixMilli(-1), time.Unix(-1, 999_999_999), time.UnixMilli(1 << 48), time.Unix(math.MaxInt64/2, 0)} {
		assert.Equal(t, uuid.Nil, formats.SessionID(at, "a", "b"), at)
	}
}

const sessionIDNow = "018f33cf-affb-78eb-9366-1948af622749"
