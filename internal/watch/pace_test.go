package watch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPaceHasDefaults(t *testing.T) {
	t.Parallel()
	p, refusal := Pace{}.WithDefaults()
	require.Nil(t, refusal)
	assert.Equal(t, Pace{Interval: 5 * time.Second, MaxInterval: 30 * time.Second, MaxFailures: 20, Settle: 2 * time.Minute}, p)
	p, refusal = Pace{Interval: time.Hour, MaxInterval: time.Minute}.WithDefaults()
	require.Nil(t, refusal)
	assert.Equal(t, time.Hour, p.MaxInterval, "never below the first interval")
	for field, p := range map[string]Pace{
		"WatchOptions.Interval": {Interval: -1}, "WatchOptions.MaxInterval": {MaxInterval: -1}, "WatchOptions.Settle": {Settle: -1}, "WatchOptions.Timeout": {Limit: -1},
		"WatchOptions.MaxFailures": {MaxFailures: -1},
	} {
		_, refusal := p.WithDefaults()
		require.NotNil(t, refusal, field)
		assert.Equal(t, field, refusal.Field)
	}
}
