package verify

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/uuidsum"
)

// Equal counts are no proof: the sums show other events in the place of the sent ones, at the first look and without
// a further query.
func TestOthersInTheirPlace(t *testing.T) {
	t.Parallel()
	c, p := importOf(sent(20))
	for i := range p.events {
		p.events[i].ID = id(byte(100 + i))
	}
	source := c.Source
	c.Source = nil
	r := verifyOnce(t, c)
	assert.Equal(t, Unknown, r.State)
	assert.Contains(t, r.Cells[0].Reason, "but not the same ones")
	assert.Len(t, p.asked, 2, "the day before, and the month")

	c.Source = source
	r = verifyOnce(t, c)
	assert.Equal(t, TooMany, r.State)
	assert.Contains(t, r.Cells[0].Reason, "; and 1 of the source are not there yet")
	r = standsStill(t, c)
	assert.Equal(t, Missing, r.State)
	assert.Len(t, r.MissingIDs, 20)
	assert.Len(t, r.ForeignIDs, 20)
}

// Without the sums of one side, comparing all uuids is the proof. Without a source there is no proof.
func TestCompleteByCounts(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config, *project){
		"an older receipt":                 func(c *Config, _ *project) { c.Rows[3].Sum = uuidsum.Sum{} },
		"a server that does not add uuids": func(_ *Config, p *project) { p.noSums = true },
	} {
		c, p := importOf(sent(20))
		change(&c, p)
		source := c.Source
		c.Source = nil
		r := verifyOnce(t, c)
		assert.Equal(t, ByCounts, r.State, name)
		assert.Contains(t, r.Cells[3].Reason, "a Source settles it")

		c.Source = source
		r = verifyOnce(t, c)
		assert.Equal(t, Complete, r.State, name)
		assert.NotEmpty(t, p.listed, "all uuids were compared")
		p.events[3].ID = id(99)
		r = standsStill(t, c)
		assert.Equal(t, []uuid.UUID{id(4)}, r.MissingIDs, name)
	}
}

// A list that is shorter than the count of its events says nothing of any of them.
func TestShortListsNameNothing(t *testing.T) {
	t.Parallel()
	c, p := importOf(sent(60)) // more than are looked for one by one
	p.short, c.EveryUUID = 1, true
	r := standsStill(t, c)
	assert.Equal(t, Unknown, r.State)
	assert.Empty(t, r.MissingIDs)
	assert.Equal(t, "the service lists 0 uuids of the 1 that it has counted: look again", r.Cells[0].Reason)

	c, p = importOf(sent(20))
	p.noSums, p.short = true, 1
	assert.Equal(t, Unknown, verifyOnce(t, c).State, "even if the counts agree")

	c, p = importOf(sent(20))
	p.short = 1
	p.events[5].Name = "another"
	r = standsStill(t, c)
	require.Len(t, r.Outside, 1)
	assert.Contains(t, r.Outside[0].Reason, "the service lists 0 uuids of the 1 that it has counted")
	assert.Equal(t, Moved, r.Outside[0].State, "and not rejects that were imported again")
}

// An import of which nothing was taken is asked for too: another one may have its ID.
func TestNothingWasSent(t *testing.T) {
	t.Parallel()
	c, p := importOf(sent(20))
	c.Rows, c.Acknowledged, c.Oldest, c.Newest, c.Source = nil, 0, time.Time{}, time.Time{}, nil
	r := verifyOnce(t, c)
	assert.Equal(t, TooMany, r.State)
	assert.EqualValues(t, 20, r.Foreign)

	p.errs = func(Window) error { return errors.New("no room") }
	r = verifyOnce(t, c)
	assert.Equal(t, Unknown, r.State)
	assert.Contains(t, r.Notes, "the count failed: no room")

	p.errs, p.events = nil, nil
	r = verifyOnce(t, c)
	assert.Equal(t, Complete, r.State)
	c.IsOpen = true
	r = verifyOnce(t, c)
	assert.Equal(t, Unfinished, r.State)
}

// A look that was killed after a window had failed knows of it when it continues: its cells are neither complete nor missing.
func TestAKilledLookKnowsWhatFailed(t *testing.T) {
	t.Parallel()
	c, p := importOf(sent(60)) // March and April
	c.Dir, c.Source = t.TempDir(), nil
	ctx, cancel := context.WithCancel(t.Context())
	p.errs = func(w Window) error {
		switch {
		case w.From == march:
			return errors.New("no room")
		case w.From.After(march):
			cancel()
			return ctx.Err()
		}
		return nil
	}
	_, err := Verify(ctx, c)
	require.ErrorIs(t, err, context.Canceled)
	p.errs, p.asked = nil, nil
	r := verifyOnce(t, c)
	require.Len(t, p.asked, 1, "April; it continues")
	assert.Equal(t, Unknown, r.State)
	assert.Equal(t, Unknown, r.Cells[0].State)
	assert.Equal(t, "the count failed: no room", r.Cells[0].Reason)
	assert.Equal(t, Complete, r.Cells[59].State)
}

// stopAt returns a context that ends when the n-th count begins.
func (p *project) stopAt(t *testing.T, n int) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p.asked = nil
	p.errs = func(Window) error {
		if len(p.asked)+len(p.cheap) == n {
			cancel()
		}
		return ctx.Err()
	}
	return ctx
}

// A look that was killed continues to count, also where it follows a comparison that was killed a day before.
func TestAKilledLookAfterAKilledComparison(t *testing.T) {
	t.Parallel()
	c, p := importOf(sent(20))
	c.Dir, c.EveryUUID = t.TempDir(), true
	ctx, cancel := context.WithCancel(t.Context())
	p.lists = func(string, Window) error { cancel(); return ctx.Err() }
	_, err := Verify(ctx, c)
	require.ErrorIs(t, err, context.Canceled)
	p.lists = nil

	c.Now = func() time.Time { return day(50).Add(freshComparison) }
	_, err = Verify(p.stopAt(t, 2), c)
	require.ErrorIs(t, err, context.Canceled)
	p.errs, p.asked = nil, nil
	assert.Equal(t, Complete, verifyOnce(t, c).State)
	assert.Len(t, p.asked, 1, "the window that was not counted")
}

// A look that was killed knows how many events it could not keep apart when it continues.
func TestAKilledLookKnowsWhatWasLeftOut(t *testing.T) {
	t.Parallel()
	c, p := importOf(sent(20))
	c.Dir, c.Source = t.TempDir(), nil
	for i := range maxOutside + 3 {
		p.events = append(p.events, Event{ID: id(99), Name: strconv.Itoa(i), Time: day(-1)})
	}
	_, err := Verify(p.stopAt(t, 2), c)
	require.ErrorIs(t, err, context.Canceled)
	p.errs = nil
	r := verifyOnce(t, c)
	assert.Equal(t, 1, r.Looks)
	assert.Contains(t, r.Notes, "3 events are of further days and names that the receipt does not have")
}

// A count stands since the end of the look that saw it first: a look may take long.
func TestACountStandsSinceTheEndOfItsLook(t *testing.T) {
	t.Parallel()
	c, p := importOf(sent(20))
	p.events, c.Dir, c.Source = p.events[:19], t.TempDir(), nil
	now := day(50)
	c.Now = func() time.Time { return now }
	p.errs = func(Window) error { now = now.Add(20 * time.Minute); return nil } // two windows
	verifyOnce(t, c)
	p.errs = nil
	verifyOnce(t, c)
	now = now.Add(enoughTime - 1)
	assert.Equal(t, StillArriving, verifyOnce(t, c).State)
	now = now.Add(1)
	assert.Equal(t, Missing, verifyOnce(t, c).State)
}

// The looks of an older receipt of the same import say nothing of a newer one.
func TestLooksOfAnOlderReceipt(t *testing.T) {
	t.Parallel()
	c, p := importOf(sent(20))
	p.events, c.Dir, c.Source = p.events[:19], t.TempDir(), nil
	look := func(at time.Duration) *Result {
		c.Now = func() time.Time { return day(50).Add(at) }
		r := verifyOnce(t, c)
		return r
	}
	look(0)
	look(time.Hour)
	c.Digest = "of a later run"
	r := look(2 * time.Hour)
	assert.Equal(t, 1, r.Looks)
	assert.Equal(t, StillArriving, r.State, "these are not three looks")
	look(3 * time.Hour)
	assert.Equal(t, Missing, look(4*time.Hour).State)
}

// Of more missing events than can be named, all are counted.
func TestMoreAreMissingThanNamed(t *testing.T) {
	t.Parallel()
	c, p := importOf(sent(20))
	p.events = nil
	c.Dir = t.TempDir()
	v, err := newVerifier(c)
	require.NoError(t, err)
	v.Patience = defaultPatience
	for range enoughLooks {
		v.memory.Look = lookState{}
		require.NoError(t, v.look(t.Context()))
	}
	for i := range v.memory.Cells {
		v.memory.Cells[i].Since = day(40)
	}
	v.judge()
	v.finds = findings{cells: make([]cellFinds, 20), outside: map[Key]cellFinds{}, strange: map[uuid.UUID]Key{}, ours: map[uuid.UUID]bool{}}
	v.found[0] = Found{Absent: 3, AbsentIDs: []uuid.UUID{id(1)}}
	v.finds.missing = make([]uuid.UUID, maxMissingIDs-1, maxMissingIDs)
	v.found[1] = Found{Absent: 2, AbsentIDs: []uuid.UUID{id(2), id(3)}}
	require.NoError(t, v.settleAbsent(t.Context()))
	r := v.result()
	assert.EqualValues(t, []int64{3, 2}, []int64{r.Cells[0].Missing, r.Cells[1].Missing})
	assert.Len(t, r.MissingIDs, maxMissingIDs)
	require.NoError(t, v.files.close())
	all := NewMissingEvents([]uuid.UUID{id(1), id(2)}, 5)
	search := NewSearch(all, 0)
	assert.True(t, search.Takes(1, id(1), true))
	assert.True(t, search.Takes(2, id(2), true))
	require.ErrorContains(t, search.End(), "3 more are not named")
}
