package verify

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hogapi/hogapi/internal/uuidsum"
)

// Each state has its conditions, and nothing that can still arrive is missing.
func TestStateByCounts(t *testing.T) {
	t.Parallel()
	const hours = time.Hour
	settled := sight{Acknowledged: 10, Looks: 3, Stood: hours, Quiet: 24 * hours, Patience: 24 * hours}
	with := func(change func(*sight)) sight {
		s := settled
		change(&s)
		return s
	}
	sum := func(n int64, low uint64) uuidsum.Sum { return uuidsum.Sum{N: n, Low: low} }
	for name, tt := range map[string]struct {
		sight sight
		want  State
	}{
		"all":                             {with(func(s *sight) { s.Seen, s.Sent, s.There = 10, sum(10, 7), sum(10, 7) }), Complete},
		"all, at the first look":          {sight{Acknowledged: 10, Seen: 10, Sent: sum(10, 7), There: sum(10, 7)}, Complete},
		"all, the unconfirmed too":        {with(func(s *sight) { s.Seen, s.Unconfirmed, s.Sent, s.There = 12, 2, sum(12, 7), sum(12, 7) }), Complete},
		"as many others":                  {with(func(s *sight) { s.Seen, s.Sent, s.There = 10, sum(10, 7), sum(10, 8) }), Unknown},
		"as many":                         {with(func(s *sight) { s.Seen = 10 }), ByCounts},
		"as many, an older receipt":       {with(func(s *sight) { s.Seen, s.There = 10, sum(10, 7) }), ByCounts},
		"as many, half of it older":       {with(func(s *sight) { s.Seen, s.Sent, s.There = 10, sum(5, 4), sum(10, 7) }), ByCounts},
		"as many, no sums there":          {with(func(s *sight) { s.Seen, s.Sent = 10, sum(10, 7) }), ByCounts},
		"as many, of some days":           {with(func(s *sight) { s.Seen, s.Sent, s.There = 10, sum(10, 7), sum(9, 6) }), ByCounts},
		"as many others, unconfirmed too": {with(func(s *sight) { s.Seen, s.Unconfirmed, s.Sent, s.There = 12, 2, sum(12, 7), sum(12, 8) }), Unknown},
		"as many, the unconfirmed too":    {with(func(s *sight) { s.Seen, s.Unconfirmed = 12, 2 }), ByCounts},
		"some of the unconfirmed so far":  {with(func(s *sight) { s.Seen, s.Unconfirmed, s.Unfinished = 11, 2, true }), CompleteUnconfirmed},
		"some of the unconfirmed":         {with(func(s *sight) { s.Seen, s.Unconfirmed = 11, 2 }), CompleteUnconfirmed},
		"none of the unconfirmed, or one": {with(func(s *sight) { s.Seen, s.Unconfirmed = 10, 2 }), CompleteUnconfirmed},
		"one too many":                    {with(func(s *sight) { s.Seen, s.Unconfirmed = 13, 2 }), TooMany},
		"more while it runs":              {with(func(s *sight) { s.Seen, s.Unfinished = 13, true }), Unknown},
		"short":                           {with(func(s *sight) { s.Seen = 9 }), Missing},
		"nothing there":                   {with(func(s *sight) { s.Seen = 0 }), Missing},
		"short, and it grew":              {with(func(s *sight) { s.Seen, s.Grew = 9, true }), StillArriving},
		"short, two looks":                {with(func(s *sight) { s.Seen, s.Looks = 9, 2 }), StillArriving},
		"short, within the hour":          {with(func(s *sight) { s.Seen, s.Stood = 9, hours-1 }), StillArriving},
		"short, within the day":           {with(func(s *sight) { s.Seen, s.Quiet = 9, 24*hours-1 }), StillArriving},
		"short, a name apart":             {with(func(s *sight) { s.Seen, s.Uncountable = 9, true }), Unknown},
		"all, a name apart":               {with(func(s *sight) { s.Seen, s.Sent, s.There, s.Uncountable = 10, sum(10, 7), sum(10, 7), true }), Complete},
		"short by what is hidden":         {with(func(s *sight) { s.Seen, s.Hidden = 8, 2 }), Unknown},
		"short, as many copies":           {with(func(s *sight) { s.Seen, s.Copies = 5, 10 }), Unknown},
		"short, fewer copies":             {with(func(s *sight) { s.Seen, s.Copies = 5, 9 }), Missing},
		"short, copies, can arrive":       {with(func(s *sight) { s.Seen, s.Copies, s.Looks = 5, 10, 2 }), StillArriving},
		"short by more":                   {with(func(s *sight) { s.Seen, s.Hidden = 7, 2 }), Missing},
		"the look failed":                 {with(func(s *sight) { s.Seen, s.Failed = 9, true }), Unknown},
		"the look failed, once all":       {with(func(s *sight) { s.Seen, s.Failed = 10, true }), Unknown},
	} {
		assert.Equal(t, tt.want, tt.sight.state(), name)
	}
}

func TestMayShareUUIDs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		acknowledged, seen, copies int64
		want                       bool
	}{{10, 9, 10, true}, {10, 9, 9, false}, {10, 10, 12, false}, {10, 11, 12, false}} {
		assert.Equal(t, tt.want, sight{Acknowledged: tt.acknowledged, Seen: tt.seen, Copies: tt.copies}.mayShareUUIDs(), "%+v", tt)
	}
}

func TestUncountable(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"$exception", "$feature_flag_called", "$performance_event", "$$heatmap", "$$client_ingestion_warning", "$ai_generation"} {
		assert.True(t, isUncountable(name), name)
	}
	for _, name := range []string{"", "signup", "$pageview", "$aim"} {
		assert.False(t, isUncountable(name), name)
	}
}

func TestStanding(t *testing.T) {
	t.Parallel()
	at := date("2024-01-01")
	s, grew := standing{}.Next(0, at)
	assert.Equal(t, standing{0, at, 1}, s, "nothing seen is a count too")
	assert.False(t, grew)
	s, grew = standing{}.Next(5, at)
	assert.Equal(t, standing{5, at, 1}, s)
	assert.False(t, grew, "the first look compares with nothing")
	s, grew = s.Next(5, at.Add(time.Hour))
	assert.Equal(t, standing{5, at, 2}, s)
	assert.False(t, grew)
	s, grew = s.Next(6, at.Add(2*time.Hour))
	assert.Equal(t, standing{6, at.Add(2 * time.Hour), 1}, s)
	assert.True(t, grew)
	s, grew = s.Next(4, at.Add(3*time.Hour))
	assert.Equal(t, standing{4, at.Add(3 * time.Hour), 1}, s, "less than before begins again")
	assert.False(t, grew)
}
