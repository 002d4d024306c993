package outgoing

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/hogapi/hogapi/internal/mask"
)

// Refusal is why something is not sent: what is wrong, what was given, and what is allowed. The value is
// empty where it may be secret.
type Refusal struct{ Field, Value, Want string }

// Refuse is a refusal that quotes a value, unless it holds a key.
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

// WantUnit is the advice for a number that was given as a duration: a bare 48 is 48 nanoseconds.
const WantUnit = "a unit, such as 48*time.Hour or 48*time.Second"

// LacksUnit reports whether a duration is shorter than any that a caller can mean.
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
