package cli

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
)

// people is a source of five people, of whom two used one device.
type people struct{}

func (people) Name() string { return "people" }

func (people) Events(context.Context, hogapi.Position) iter.Seq2[hogapi.Event, error] {
	return func(yield func(hogapi.Event, error) bool) {
		for i := range 5 {
			ev := hogapi.Event{Name: "e", DistinctID: fmt.Sprint("u", i), AnonymousID: fmt.Sprint("d", min(i, 3)), Timestamp: time.Unix(int64(1e9+i), 0)}
			ev.Position = hogapi.Position{Key: "people", Offset: int64(i + 1)}
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// The number of links, including links that are left out, is known wherever a run begins among
// them.
func TestLinksAreCountedWhereverARunBegins(t *testing.T) {
	t.Parallel()
	for after := range int64(5) {
		found := int64(-1)
		l := &linkSource{Source: formats.Links(people{}), ended: func(all, _ int64) { found = all }}
		var at hogapi.Position
		if after > 0 {
			at = hogapi.Position{Key: "links", Offset: after}
		}
		for _, err := range l.Events(t.Context(), at) {
			require.NoError(t, err)
		}
		assert.EqualValues(t, 4, found, after)
	}
}

// The result adds up after rejects, skips and unconfirmed events.
func TestTheResultAddsUp(t *testing.T) {
	t.Parallel()
	shared := map[string]int64{formats.SkipSharedDevice: 3, "no id": 1473}
	for _, c := range []struct {
		links int64
		r     hogapi.Receipt
		want  string
	}{
		{0, hogapi.Receipt{Read: 100, Acknowledged: 100}, "100 events acknowledged; no record left out or rejected"},
		{0, hogapi.Receipt{Read: 1, Acknowledged: 1}, "1 event acknowledged; no record left out or rejected"},
		{900, hogapi.Receipt{Read: 50_610, Acknowledged: 49_137, Skipped: 1473},
			"48,237 events and 900 links of persons acknowledged; 1,473 of 49,710 records left out"},
		{903, hogapi.Receipt{Read: 50_613, Acknowledged: 49_137, Skipped: 1476, Skips: shared},
			"48,237 events and 900 links of persons acknowledged; 1,473 of 49,710 records and 3 of 903 links left out"},
		{0, hogapi.Receipt{Read: 100, Acknowledged: 90, Skipped: 4, Rejected: 5, Unconfirmed: 1},
			"90 events acknowledged; of 100 records 4 left out, 5 rejected, 1 unconfirmed"},
		{900, hogapi.Receipt{Read: 50_610, Acknowledged: 49_100, Skipped: 1473, Rejected: 37}, // of which some can be links
			"49,100 events and links of persons acknowledged; of 49,710 records and 900 links 1,473 left out, 37 rejected"},
	} {
		assert.Equal(t, c.want, (&state{kept: kept{Links: c.links}}).account(c.r))
	}
}

// How many links were sent is said only where it is known.
func TestLinksOfAVerification(t *testing.T) {
	t.Parallel()
	shared := map[string]int64{formats.SkipSharedDevice: 3}
	identify := []hogapi.DayCount{{Day: "2024-05-01", Event: "$identify", Acknowledged: 7}}
	for name, c := range map[string]struct {
		kept       kept
		r          hogapi.Receipt
		has        bool
		read, sent int64
	}{
		"all":          {kept{Links: 903, Input: input{Links: true}}, hogapi.Receipt{Finished: true, Skips: shared}, true, 903, 900},
		"rejects":      {kept{Links: 903, Input: input{Links: true}}, hogapi.Receipt{Finished: true, Rejected: 1}, true, 903, 0},
		"unconfirmed":  {kept{Links: 903, Input: input{Links: true}}, hogapi.Receipt{Finished: true, Unconfirmed: 1}, true, 903, 0},
		"not finished": {kept{Links: 903, Input: input{Links: true}}, hogapi.Receipt{}, true, 0, 0},
		"only shared":  {kept{Links: 3, Input: input{Links: true}}, hogapi.Receipt{Finished: true, Skips: shared}, false, 3, 0},
		"not counted":  {kept{Input: input{Links: true}}, hogapi.Receipt{Finished: true, Days: identify}, true, 0, 0},
		"no pair":      {kept{Input: input{Links: true}}, hogapi.Receipt{Finished: true}, false, 0, 0},
		"of the files": {kept{}, hogapi.Receipt{Finished: true, Days: identify}, false, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			has, read, sent := (&state{kept: c.kept}).links(c.r)
			assert.Equal(t, []any{c.has, c.read, c.sent}, []any{has, read, sent})
		})
	}
}
