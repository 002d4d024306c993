package hogapi_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// Pages that lead back to an earlier one are noticed, however long the way there and the circle are, with events or without. A walk
// that never comes back is not mistaken for one.
func TestPagesThatGoInCircles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, around int64 // pages before the circle and in it
		empty          bool
	}{
		"two pages":            {0, 3, false},
		"after a way":          {10, 3, false},
		"a long circle":        {7, 400, false},
		"pages without events": {2, 5, true},
		"no circle":            {1000, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pages := int64(0)
			source := hogapi.PagedSource("rows", func(ctx context.Context, after hogapi.Position) ([]hogapi.Event, hogapi.Position, error) {
				if pages++; pages > 5000 || c.around == 0 && after.Offset >= c.before {
					return nil, after, ctx.Err()
				}
				next := after.Offset + 1
				if c.around > 0 && next >= c.before+c.around {
					next = c.before + 1
				}
				upTo := hogapi.Position{Offset: next}
				if c.empty {
					return nil, upTo, nil
				}
				return []hogapi.Event{{Name: "e", DistinctID: "ann", Timestamp: longAgo, Position: upTo}}, upTo, nil
			})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			_, err := hogapitest.New().Client(t).Import(ctx, source, &hogapi.ImportOptions{ID: "circle", Rate: hogapi.Unpaced})
			if c.around == 0 {
				require.NoError(t, err)
				assert.EqualValues(t, c.before+1, pages)
				return
			}
			require.ErrorContains(t, err, "the pages repeat: an earlier one also ended at ")
			var stop *hogapi.StopError
			require.ErrorAs(t, err, &stop)
			assert.Equal(t, hogapi.StopSource, stop.Reason)
			assert.LessOrEqual(t, pages, 3*(c.before+c.around)+3, "soon")
		})
	}
}
