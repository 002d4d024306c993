package wire_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/internal/wire/wiretest"
)

// A cookieless event passes only if it is live and the gate is open for live events.
func TestLiveCookielessEventsPassAnOpenGate(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		minAge, age time.Duration
		value       any
		refused     bool
	}{
		"live":         {-1, time.Minute, true, false},
		"days old":     {-1, 72 * time.Hour, true, true},
		"no boolean":   {-1, time.Minute, "true", true},
		"a gate as is": {0, 72 * time.Hour, true, true},
	} {
		fields := wiretest.Event(func(f *wire.Fields) {
			f.Timestamp, f.Properties = now.Add(-c.age), map[string]any{"$cookieless_mode": c.value}
		})
		_, refusal := wiretest.Encoder(wire.Rules{MinAge: c.minAge, Now: func() time.Time { return now }}).Encode(&fields)
		assert.Equal(t, c.refused, refusal != nil, "%s: %v", name, refusal)
	}
}
