package verify

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/queries"
	"github.com/hogapi/hogapi/internal/uuidsum"
	"github.com/hogapi/hogapi/ops"
)

var march = time.Date(1999, 3, 1, 0, 0, 0, 0, time.UTC)

func day(n int) time.Time { return march.AddDate(0, 0, n) }

type project struct {
	source []Event
	events []Event
	apart  []Event       // without the import's ID
	late   []Event       // come after they were counted and listed
	copies map[int]int64 // further ones, by day
	noSums bool
	short  int                               // lists end before so many of their last uuids
	errs   func(Window) error                // of counts; may be nil
	lists  func(name string, w Window) error // may be nil
	finds  func(ofImport bool, w Window) error
	asked  []Window // counts of the import
	cheap  []Window // of all
	summed int
	listed []string // names
	looked int      // queries for one event
}

var (
	errTooMuch   = &queries.Error{Kind: queries.TooMuch, Err: errors.New("too much")}
	errHopeless  = &queries.Error{Kind: queries.Hopeless, Err: errors.New("no scope")}
	errUnreached = &queries.Error{Kind: queries.Unreachable, Err: errors.New("no route")}
)

// shown are the events of a scope.
func (p *project) shown(s Scope, more ...Event) (events []Event) {
	events = append(slices.Clone(p.events), more...)
	if !s.OfImport {
		events = append(events, p.apart...)
	}
	return slices.DeleteFunc(events, func(ev Event) bool {
		isOf := len(s.Slices) == 0 || slices.Contains(s.Slices, ending(ev.ID, len(s.Slices[0])))
		return !isOf || ev.Time.Before(s.From) || !ev.Time.Before(s.Until) || len(s.Names) > 0 && !slices.Contains(s.Names, ev.Name)
	})
}

func (p *project) Count(_ context.Context, s Scope) (rows []CountRow, err error) {
	w := s.Window
	if s.OfImport {
		p.asked = append(p.asked, w)
	} else {
		p.cheap = append(p.cheap, w)
	}
	if p.errs != nil {
		err = p.errs(w)
	}
	if err != nil {
		return nil, err
	}
	seen := map[Event]bool{}
	for _, ev := range p.shown(s) {
		n := Counts{Seen: 1, Copies: 1, Sum: p.sum(ev.ID)}
		if !s.OfImport && seen[ev] {
			n = Counts{Copies: 1}
		}
		seen[ev] = true
		rows = append(rows, CountRow{Day: ev.Time, Event: ev.Name, Counts: n})
	}
	for n, copies := range p.copies {
		if !day(n).Before(w.From) && day(n).Before(w.Until) {
			rows = append(rows, CountRow{Day: day(n), Event: "e", Counts: Counts{Copies: copies}})
		}
	}
	return rows, nil
}

func (p *project) sum(id uuid.UUID) uuidsum.Sum {
	if p.noSums {
		return uuidsum.Sum{}
	}
	return uuidsum.Of(id)
}

func (p *project) Find(_ context.Context, ids []uuid.UUID, s Scope) (rows []FoundRow, err error) {
	p.looked++
	if p.finds != nil {
		err = p.finds(s.OfImport, s.Window)
	}
	for _, ev := range p.shown(s, p.late...) {
		if err == nil && slices.Contains(ids, ev.ID) {
			rows = append(rows, FoundRow{ev.ID, ev.Time, ev.Name})
		}
	}
	return rows, err
}

func (p *project) Sums(_ context.Context, s Scope, digits int) (rows []SliceRow, err error) {
	p.summed++
	seen := map[uuid.UUID]bool{}
	for _, ev := range p.shown(s) {
		if !seen[ev.ID] {
			sum := uuidsum.Of(ev.ID)
			rows = append(rows, SliceRow{ending(ev.ID, digits), uuidsum.Sum{N: 1, Hash: sum.Hash, Hashed: 1}})
		}
		seen[ev.ID] = true
	}
	return rows, nil
}

func (p *project) List(_ context.Context, s Scope) (ids []uuid.UUID, err error) {
	p.listed = append(p.listed, s.Names[0])
	if p.lists != nil {
		if err := p.lists(s.Names[0], s.Window); err != nil {
			return nil, err
		}
	}
	for _, ev := range p.shown(s) {
		ids = append(ids, ev.ID)
	}
	slices.SortFunc(ids, compareIDs)
	ids = slices.Compact(ids)
	return ids[:max(0, len(ids)-p.short)], nil
}

func (p *project) Read() (int64, queries.Cost) { return 0, queries.Cost{} }

func (p *project) PerRow(bool) int64 { return 1 }

// when fails with err in some windows.
func when(isIn func(Window) bool, err error) func(Window) error {
	return func(w Window) error {
		if isIn(w) {
			return err
		}
		return nil
	}
}

// sent are the events of an import: one a day, for so many days.
func sent(n int) (events []Event) {
	for i := range n {
		events = append(events, Event{ID: id(byte(i + 1)), Name: "e", Time: day(i)})
	}
	return events
}

// importOf has sent some events, and all of them are in the project.
func importOf(events []Event) (Config, *project) {
	p := &project{source: events, events: slices.Clone(events)}
	c := Config{
		Import: Import{
			ID: "i", Digest: "d", Oldest: events[0].Time, Newest: events[len(events)-1].Time, Acknowledged: int64(len(events)),
			LastAcknowledged: day(40),
		},
		Project: p, Patience: 24 * time.Hour, Now: func() time.Time { return day(50) }, Progress: func(Progress) {},
		Source: func(context.Context) iter.Seq2[Event, error] { return sequence(nil, p.source...) },
	}
	for _, ev := range events {
		c.Rows = append(c.Rows, Row{Key: Key{Period: ev.Time.Format(time.DateOnly), Name: ev.Name}, Acknowledged: 1, Sum: unhashed(uuidsum.Of(ev.ID))})
	}
	return c, p
}

// unhashed is the sum of an older release: its events are proven by their import's ID only.
func unhashed(s uuidsum.Sum) uuidsum.Sum {
	s.Hash, s.Hashed = 0, 0
	return s
}

// hashed gives the receipt the sums of hashes.
func hashed(c *Config, events []Event) {
	for i := range c.Rows {
		c.Rows[i].Sum = uuidsum.Sum{}
		for _, ev := range events {
			if ev.Time.Format(time.DateOnly) == c.Rows[i].Period && ev.Name == c.Rows[i].Name {
				c.Rows[i].Sum.Add(uuidsum.Of(ev.ID))
			}
		}
	}
}

// enough makes as many looks as it takes before anything is called missing.
func enough(t *testing.T, c Config) (r *Result, err error) {
	t.Helper()
	c.Dir = t.TempDir()
	for i := range enoughLooks {
		c.Now = func() time.Time { return day(50).Add(time.Duration(i) * enoughTime) }
		r, err = Verify(t.Context(), c)
	}
	return r, err
}

func standsStill(t *testing.T, c Config) *Result {
	t.Helper()
	r, err := enough(t, c)
	require.NoError(t, err)
	return r
}

func TestAllIsThere(t *testing.T) {
	t.Parallel()
	c, p := importOf(sent(20))
	var steps []int64
	c.Progress = func(at Progress) { steps = append(steps, at.Done, at.Total) }
	r := verifyOnce(t, c)
	assert.Equal(t, Complete, r.State)
	assert.Equal(t, []int64{1, 2, 2, 2}, steps)
	assert.EqualValues(t, 20, r.Seen)
	assert.Empty(t, p.listed, "where the counts agree no uuids are compared")
	assert.Len(t, p.asked, 2, "the day before, and the month")
}

func TestWhatIsAbsentIsNamed(t *testing.T) {
	t.Parallel()
	c, p := importOf(sent(20))
	foreign := Event{ID: id(99), Name: "e", Time: day(7)}
	p.events[3].Time = day(12)                 // into another cell
	p.events[5].Name = "another"               // into one that the receipt does not have
	p.events[7] = foreign                      // in the place of an event: the cell has as many as before
	p.events = slices.Delete(p.events, 10, 11) // lost
	r := verifyOnce(t, c)
	assert.Equal(t, TooMany, r.State, "at the first look nothing is missing yet")
	assert.Zero(t, r.Missing)

	r = standsStill(t, c)
	assert.Equal(t, Missing, r.State)
	assert.Equal(t, []uuid.UUID{id(8), id(11)}, r.MissingIDs)
	assert.Equal(t, []uuid.UUID{id(4), id(6)}, r.MovedIDs)
	assert.Equal(t, []uuid.UUID{id(99)}, r.ForeignIDs)
	assert.EqualValues(t, []int64{2, 2, 1}, []int64{r.Missing, r.Moved, r.Foreign})
}

func TestAnotherSourceNamesNothing(t *testing.T) {
	t.Parallel()
	c, p := importOf(sent(20))
	p.events = p.events[:19]
	p.source = nil
	r := standsStill(t, c)
	assert.EqualValues(t, 1, r.Missing)
	assert.Empty(t, r.MissingIDs)
	assert.Contains(t, r.Cells[19].Reason, "the source has 0 events for this day and name, not 1")

	c.unconfirmed(19)
	c.EveryUUID = true
	assert.Contains(t, standsStill(t, c).Cells[19].Reason, "the source has 0 events for this day and name, not 1")
}

func TestASourceThatFailsLeavesTheCounts(t *testing.T) {
	t.Parallel()
	c, p := importOf(sent(20))
	p.events = p.events[:19]
	failed := errors.New("hogapi: the disk is gone")
	c.Source = func(context.Context) iter.Seq2[Event, error] { return sequence[Event](failed) }
	c.LastAcknowledged, c.EveryUUID = day(0), true
	r, err := Verify(t.Context(), c)
	require.ErrorIs(t, err, failed)
	require.EqualError(t, err, "hogapi: verify: the source failed: the disk is gone")
	assert.EqualValues(t, 19, r.Seen)
	assert.Equal(t, Unknown, r.State)
}

func TestWindowsThatAreTooMuchAreHalved(t *testing.T) {
	t.Parallel()
	c, p := importOf(sent(20))
	p.errs = when(func(w Window) bool { return w.Until.Sub(w.From) > 7*24*time.Hour }, errTooMuch)
	r := verifyOnce(t, c)
	assert.Equal(t, Complete, r.State)
	assert.EqualValues(t, 20, r.Seen)
}

func TestFailedCounts(t *testing.T) {
	t.Parallel()
	for err, wantAsked := range map[error]int{errTooMuch: 42, errUnreached: 1} { // down to each day; or not at all
		c, p := importOf(sent(20))
		p.errs = func(Window) error { return err }
		r, failed := Verify(t.Context(), c)
		require.NoError(t, failed)
		assert.Equal(t, Unknown, r.State)
		assert.Zero(t, r.Missing, "a look that fails has not seen nothing")
		assert.Equal(t, "the count failed: "+err.Error(), r.Cells[0].Reason)
		assert.Len(t, p.asked, wantAsked)
	}
	c, p := importOf(sent(20))
	p.errs = func(Window) error { return errHopeless }
	_, err := Verify(t.Context(), c)
	require.ErrorIs(t, err, errHopeless)
}

// A look that was stopped continues in its folder for an hour: the windows that were counted are not counted again.
func TestContinuesToCount(t *testing.T) {
	t.Parallel()
	for after, counted := range map[time.Duration]int{freshLook - 1: 1, freshLook: 0} {
		c, p := importOf(sent(20))
		c.Dir = t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		p.errs = func(Window) error {
			if len(p.asked) == 2 {
				cancel()
				return ctx.Err()
			}
			return nil
		}
		_, err := Verify(ctx, c)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "continues with the same Dir")
		first := p.asked
		p.errs, p.asked = nil, nil
		c.Now = func() time.Time { return day(50).Add(after) }
		var last Progress
		c.Progress = func(at Progress) { last = at }
		r := verifyOnce(t, c)
		assert.Equal(t, Complete, r.State)
		assert.Equal(t, 1, r.Looks)
		assert.Equal(t, first[counted:], p.asked)
		assert.Equal(t, Progress{Look: 1, Step: "count", Done: 2, Total: 2, Acked: 20, Seen: 20, Cells: 20}, last)

		c.ID = "another"
		_, err = Verify(t.Context(), c)
		unfit, ok := errors.AsType[*ops.InputError](err)
		require.True(t, ok, "%v", err)
		assert.Equal(t, "i", unfit.Value)
		assert.Equal(t, []string{"verify.json"}, leftIn(t, c.Dir))
	}
}

// A look that an earlier version began continues, after a first window of two. The folder of a version with another form is refused.
func TestFolderOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	c, p := importOf(sent(20))
	c.Dir = t.TempDir()
	require.NoError(t, os.CopyFS(c.Dir, os.DirFS("testdata/v0.1.0")))
	kept, err := os.ReadFile(filepath.Join(c.Dir, memoryName))
	require.NoError(t, err)
	r := verifyOnce(t, c)
	assert.Equal(t, Complete, r.State)
	assert.Equal(t, 1, r.Looks)
	assert.Len(t, p.asked, 1)

	other := bytes.Replace(kept, []byte(`"version":1`), []byte(`"version":0`), 1)
	require.NoError(t, os.WriteFile(filepath.Join(c.Dir, memoryName), other, 0o600))
	_, err = Verify(t.Context(), c)
	require.ErrorContains(t, err, "another release")
	left, err := os.ReadFile(filepath.Join(c.Dir, memoryName))
	require.NoError(t, err)
	assert.Equal(t, other, left)
}

func TestTimesAreRoundedAsFarAsTheyAreShort(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]time.Duration{
		22*time.Second + 300*time.Millisecond: 22 * time.Second, 5*time.Minute + 4*time.Second: 5*time.Minute + 4*time.Second,
		23*time.Hour + 45*time.Minute + 4*time.Second: 23*time.Hour + 45*time.Minute,
	} {
		assert.Equal(t, want, rounded(d))
	}
}
