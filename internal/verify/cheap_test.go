package verify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/queries"
)

// hashedImport has sent some events with sums of hashes, and all of them are in the project.
func hashedImport(events []Event) (Config, *project) {
	c, p := importOf(events)
	hashed(&c, events)
	return c, p
}

// Cells with the receipt's hashes are complete without a reading by the import's ID, and are never read again.
func TestProvenCellsAreReadOnce(t *testing.T) {
	t.Parallel()
	c, p := hashedImport(sent(40))
	c.Dir = t.TempDir()
	lost := p.lost(10)
	r, err := Verify(t.Context(), c)
	require.NoError(t, err)
	assert.Equal(t, Missing, max(r.State, Missing))
	assert.Equal(t, []string{"1999-03-01 to 1999-03-31", "1999-04-01 to 1999-04-09"}, windows(p.cheap))
	assert.Empty(t, p.asked, "the source shows what is absent")
	assert.EqualValues(t, 39, r.Seen)

	p.cheap, c.Now = nil, func() time.Time { return day(60) }
	r, err = Verify(t.Context(), c)
	require.NoError(t, err)
	assert.Equal(t, []string{"1999-03-11"}, windows(p.cheap), "a month with one open day costs a day")
	assert.Contains(t, r.Notes, "39 of 40 days and names were proven before, until 1999-04-20 00:00:00 UTC, and were not read again; another Dir reads them again")

	p.events, p.cheap = append(p.events, lost), nil
	r, err = Verify(t.Context(), c)
	require.NoError(t, err)
	assert.Equal(t, []any{Complete, int64(40)}, []any{r.State, r.Seen})
	assert.Equal(t, []string{"1999-03-11"}, windows(p.cheap))
	p.cheap = nil
	_, err = Verify(t.Context(), c)
	require.NoError(t, err)
	assert.Len(t, p.cheap, 2, "it was complete: events may have gone since")
}

// A killed look reads no window again that it has read.
func TestAKilledLookKnowsWhatIsProven(t *testing.T) {
	t.Parallel()
	c, p := hashedImport(sent(70)) // three months
	c.Dir = t.TempDir()
	_, err := Verify(p.stopAt(t, 2), c)
	require.Error(t, err)
	p.errs, p.cheap = nil, nil
	r, err := Verify(t.Context(), c)
	require.NoError(t, err)
	assert.Equal(t, Complete, r.State)
	assert.Equal(t, []string{"1999-04-01 to 1999-04-30", "1999-05-01 to 1999-05-09"}, windows(p.cheap))
}

// A server that no longer has the hashes is asked for all days by the import's ID, and a kill then makes nothing count twice.
func TestProvenCellsWithoutHashes(t *testing.T) {
	t.Parallel()
	c, p := hashedImport(sent(70)) // three months
	c.Dir = t.TempDir()
	_, err := Verify(p.stopAt(t, 2), c)
	require.Error(t, err)
	ctx := p.stopAt(t, 5)
	stops := p.errs
	p.errs = func(w Window) error {
		if len(p.asked) == 0 {
			return &queries.Error{Kind: queries.Refused, Err: errRefused}
		}
		return stops(w)
	}
	_, err = Verify(ctx, c)
	require.Error(t, err)
	p.errs = nil
	r, err := Verify(t.Context(), c)
	require.NoError(t, err)
	assert.Equal(t, []any{Complete, int64(70)}, []any{r.State, r.Seen}, "%v", r.Notes)
}

// Whoever shares days, names and uuids: an import is complete only if it is, and no event is missing that is there.
func TestEventsOfOthers(t *testing.T) {
	t.Parallel()
	at := func(ev Event, n int, name string, last byte) Event {
		ev.Time, ev.Name = day(n), name
		ev.ID[15] = last
		return ev
	}
	for name, tt := range map[string]struct {
		change func(p *project)
		state  State
		byID   bool
	}{
		"none":                             {func(*project) {}, Complete, false},
		"on the same days":                 {func(p *project) { p.apart = []Event{at(p.events[3], 3, "e", 99)} }, Complete, true},
		"under other names":                {func(p *project) { p.apart = []Event{at(p.events[3], 3, "other", 99)} }, Complete, false},
		"our events have another ID":       {func(p *project) { p.apart, p.events = p.events[3:5], slices.Delete(slices.Clone(p.events), 3, 5) }, Complete, false},
		"our uuid under another name too":  {func(p *project) { p.apart = []Event{at(p.events[3], 3, "other", 4)} }, Complete, false},
		"our uuid on another day too":      {func(p *project) { p.apart = []Event{at(p.events[3], 5, "e", 4)} }, Complete, true},
		"our uuid under another name only": {func(p *project) { p.apart = []Event{at(p.lost(3), 3, "other", 4)} }, Moved, false},
		"our uuid on another day only":     {func(p *project) { p.apart = []Event{at(p.lost(3), 90, "e", 4)} }, Missing, false}, // beyond all days
		"copies that are not merged":       {func(p *project) { p.events = slices.Concat(p.events, p.events[3:4]) }, Complete, false},
		"another event in place of ours":   {func(p *project) { p.apart = []Event{at(p.lost(3), 3, "e", 99)} }, Missing, true},
		"one of ours is lost among others": {func(p *project) {
			p.lost(3)
			p.apart = []Event{at(p.events[3], 3, "e", 98), at(p.events[3], 3, "e", 99)}
		}, Missing, true},
		"more with our ID than we have sent": {func(p *project) { p.events = append(p.events, at(p.events[3], 3, "e", 99)) }, TooMany, true},
	} {
		c, p := hashedImport(sent(20))
		tt.change(p)
		r := standsStill(t, c)
		if name == "our uuid on another day only" {
			assert.Equal(t, Missing, max(r.State, Missing), name)
			continue
		}
		assert.Equal(t, tt.state, r.State, "%s: %v", name, r.Notes)
		assert.Equal(t, tt.byID, len(p.asked) > 0, name)
	}
}

// Two others in place of two of ours with the same sums of digits are found out by the hashes.
func TestEqualSumsProveNothing(t *testing.T) {
	t.Parallel()
	var events []Event
	for _, last := range []byte{4, 6} {
		events = append(events, Event{ID: id(last), Name: "e", Time: day(0)})
	}
	c, p := hashedImport(events)
	p.events, p.apart = nil, []Event{{ID: id(3), Name: "e", Time: day(0)}, {ID: id(7), Name: "e", Time: day(0)}}
	r := standsStill(t, c)
	assert.Equal(t, Missing, r.State)
	assert.Equal(t, []uuid.UUID{id(4), id(6)}, r.MissingIDs)
}

// An event that comes between the two readings, or before the list, is neither missing nor too many.
func TestEventsThatComeMeanwhile(t *testing.T) {
	t.Parallel()
	for after := range 4 {
		c, p := hashedImport(sent(20))
		late := p.lost(10)
		p.apart = []Event{{ID: id(99), Name: "e", Time: day(10)}}
		n := 0
		p.errs = func(w Window) error {
			if n++; n == after+1 && w.From.After(day(0)) {
				p.events = append(p.events, late)
			}
			return nil
		}
		p.lists = func(string, Window) error {
			if !slices.Contains(p.events, late) {
				p.events = append(p.events, late)
			}
			return nil
		}
		r := standsStill(t, c)
		assert.Zero(t, r.Missing+r.Foreign, "%d: %v", after, r.State)
		assert.NotEqual(t, Missing, r.State)
	}
}

// The absent events of a large cell are found in one reading of sums and one list, which do not grow with the cell.
func TestLargeCellsAreNarrowed(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var events []Event
	for range 30_000 {
		var id uuid.UUID
		for i := range id {
			id[i] = byte(random.Uint32())
		}
		events = append(events, Event{ID: id, Name: "e", Time: day(0)})
	}
	c, p := importOf(events[:1])
	c.Rows[0].Acknowledged, c.Acknowledged = int64(len(events)), int64(len(events))
	hashed(&c, events)
	p.source = events
	p.events = slices.Clone(events[3:])
	r := standsStill(t, c)
	assert.Equal(t, Missing, r.State)
	assert.ElementsMatch(t, []uuid.UUID{events[0].ID, events[1].ID, events[2].ID}, r.MissingIDs)
	assert.Equal(t, []int{1, 1, 0}, []int{p.summed, len(p.listed), len(p.asked)})
}

// Random projects: complete only if each cell has exactly the import's events, by the ID or among all; an event is named as
// missing only if it is nowhere.
func TestRandomProjects(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 7))
		events := sent(5 + random.IntN(20))
		c, p := hashedImport(events)
		for n := random.IntN(4); n > 0; n-- {
			i := random.IntN(len(p.events))
			ev := p.events[i]
			switch random.IntN(6) {
			case 0:
				p.events = slices.Delete(p.events, i, i+1)
			case 1:
				p.events[i].Name = "other"
			case 2:
				p.events[i].Time = day(random.IntN(25))
			case 3:
				p.apart, p.events = append(p.apart, ev), slices.Delete(p.events, i, i+1)
			case 4:
				p.apart = append(p.apart, Event{ID: id(byte(100 + n)), Name: ev.Name, Time: ev.Time})
			case 5:
				p.apart = append(p.apart, Event{ID: ev.ID, Name: ev.Name, Time: day(random.IntN(25))})
			}
		}
		if random.IntN(3) == 0 {
			c.Source = nil
		}
		ids := map[uuid.UUID]bool{}
		isThere := func(list []Event, ev Event) bool { return slices.Contains(list, ev) }
		all := slices.Concat(p.events, p.apart)
		isWhole := true
		for _, ev := range all {
			ids[ev.ID] = true
		}
		for _, ev := range events {
			isWhole = isWhole && isThere(all, ev)
		}
		r := standsStill(t, c)
		if r.State == Complete {
			require.True(t, isWhole, "seed %d", seed)
		}
		for _, id := range r.MissingIDs {
			require.False(t, ids[id], fmt.Sprintf("seed %d: %v is there", seed, id))
		}
		if isWhole && len(p.apart) == 0 && len(p.events) == len(events) {
			require.Equal(t, Complete, r.State, "seed %d", seed)
		}
	}
}

// A look that follows reads by the ID again only if enough have come since.
func TestLooksBesideOthers(t *testing.T) {
	t.Parallel()
	events := sent(20)
	c, p := hashedImport(events)
	c.Dir, c.LastAcknowledged = t.TempDir(), day(50)
	p.events = nil
	for i := range events {
		p.apart = append(p.apart, Event{ID: id(byte(100 + i)), Name: "e", Time: day(i)})
	}
	for n := range 11 {
		p.asked = nil
		c.Now = func() time.Time { return day(50).Add(time.Duration(n) * time.Minute) }
		r, err := Verify(context.Background(), c)
		require.NoError(t, err)
		assert.EqualValues(t, 2*n, r.Seen)
		switch n {
		case 0:
			assert.Equal(t, []string{"1999-03-01 to 1999-03-20"}, windows(p.asked))
		default:
			assert.Equal(t, []string{fmt.Sprintf("1999-03-%02d to 1999-03-%02d", 2*n-1, 2*n)}, windows(p.asked))
		}
		p.events = append(p.events, events[min(2*n, 20):min(2*n+2, 20)]...)
	}
}
