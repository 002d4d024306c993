package outgoing

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/hogapi/hogapi/internal/mask"
)

// Refusal says why something is not sent: the field, the given value, and valid values. The value
// is empty if it may be secret.
type Refusal struct{ Field, Value, Want string }

// Refuse returns a refusal that quotes the value, unless it contains a key.
func Refuse(field, value, want string) *Refusal {
	return &Refusal{field, mask.UnlessKey(value), want}
}

// Negative refuses the first number, by name, that is below 0.
func Negative(fields map[string]int) *Refusal {
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if n := fields[field]; n < 0 {
			return Refuse(field, strconv.Itoa(n), "0 or more")
		}
	}
	return nil
}

// Within refuses a number below least or above most, unless it is 0 for the default.
func Within(field string, n, least, most int) *Refusal {
	if n == 0 || least <= n && n <= most {
		return nil
	}
	want := fmt.Sprintf("%d to %d, or 0 for the default", least, most)
	if most == math.MaxInt {
		want = fmt.Sprintf("at least %d, or 0 for the default", least)
	}
	return Refuse(field, strconv.Itoa(n), want)
}

// WantUnit is advice for a duration without a unit: a bare 48 is 48 nanoseconds.
const WantUnit = "a unit, such as 48*time.Hour or 48*time.Second"

// LacksUnit reports whether a duration is too short to be meant.
func LacksUnit(d time.Duration) bool { return 0 < d && d < time.Millisecond }

// Durations refuses the first duration, by name, that is below 0 or lacks a unit.
func Durations(fields map[string]time.Duration) *Refusal {
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		switch d := fields[field]; {
		case d < 0:
			return Refuse(field, d.String(), "a positive duration, or 0 for the default")
		case LacksUnit(d):
			return Refuse(field, d.String(), WantUnit)
		}
	}
	return nil
}
