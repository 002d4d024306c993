package outgoing

import (
	"fmt"
	"maps"
	"slices"
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

// Negative refuses the first field, by name, that is below 0.
func Negative[T int | time.Duration](fields map[string]T) *Refusal {
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if n := fields[field]; n < 0 {
			return Refuse(field, fmt.Sprint(n), "0 or more")
		}
	}
	return nil
}
