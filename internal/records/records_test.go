package records_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hogapi/hogapi/internal/records"
)

func TestDigest(t *testing.T) {
	t.Parallel()
	same := new(records.Digester).Of([]byte(`{"a":1,"b":"x"}`))
	assert.Equal(t, same, new(records.Digester).Of([]byte(" { \"b\" : \"x\",\n\"a\":1 }")))
	assert.NotEqual(t, same, new(records.Digester).Of([]byte(`{"a":1.0,"b":"x"}`)))
	assert.NotEqual(t, new(records.Digester).Of([]byte("a b")), new(records.Digester).Of([]byte("ab")), "what is not JSON")
	assert.Len(t, same.String(), 22)
}

func TestEqualsCountWithinASecond(t *testing.T) {
	t.Parallel()
	at := func(seconds float64) time.Time {
		return time.Unix(1700000000, 0).Add(time.Duration(seconds * float64(time.Second)))
	}
	type step struct {
		at   time.Time
		what string
		want int64
	}
	for name, steps := range map[string][]step{
		"neighbours":              {{at(0), "a", 0}, {at(0), "a", 1}, {at(0), "b", 0}, {at(0), "a", 2}},
		"another second between":  {{at(0.9), "a", 0}, {at(1.1), "b", 0}, {at(0.9), "a", 1}},
		"the second before":       {{at(1), "a", 0}, {at(0.5), "b", 0}, {at(1), "a", 1}},
		"far away between":        {{at(0), "a", 0}, {at(5), "b", 0}, {at(0), "a", 0}},
		"two seconds between":     {{at(0), "a", 0}, {at(2), "b", 0}, {at(0), "a", 0}, {at(0), "a", 1}},
		"without a time":          {{time.Time{}, "a", 0}, {time.Time{}, "a", 1}, {at(0), "b", 0}, {time.Time{}, "b", 1}},
		"back within the windows": {{at(0), "a", 0}, {at(1), "a", 0}, {at(0), "a", 1}, {at(1), "a", 1}},
	} {
		var e records.Equals
		for i, s := range steps {
			e.Pass(s.at)
			assert.Equal(t, s.want, e.Before(new(records.Digester).Of([]byte(s.what))), "%s, step %d", name, i)
		}
	}
	var e records.Equals
	for i, settled := range []bool{false, false, false, true, true} {
		e.Pass(at(float64(i)))
		assert.Equal(t, settled, e.IsSettled())
	}
}
