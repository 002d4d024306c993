package verify

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/uuidsum"
)

// reject writes a reject file that has an event, and names it in Rejects.
func (c *Config) reject(t *testing.T, id uuid.UUID, reason string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rejects.jsonl")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `{"uuid":%q,"$reject":{"reason":%q,"import":"i"}}`, id, reason), 0o600))
	c.Rejects = []string{path}
}

func verifyOnce(t *testing.T, c Config) *Result {
	t.Helper()
	r, err := Verify(t.Context(), c)
	require.NoError(t, err)
	return r
}

// Of a cell that lacks two events, one is elsewhere, and one is missing.
func TestOneIsElsewhereAndOneIsMissing(t *testing.T) {
	t.Parallel()
	for to, cell := range map[time.Time]int{day(0): 0, day(12): 12} {
		c, p := importOf(slices.Insert(sent(20), 4, Event{ID: id(30), Name: "e", Time: day(3)}))
		p.lost(4)
		p.events[3].Time = to
		r := standsStill(t, c)
		assert.Equal(t, Missing, r.State)
		assert.EqualValues(t, []int64{1, 1}, []int64{r.Cells[3].Missing, r.Cells[3].Moved})
		assert.EqualValues(t, []int64{0, 1, 0}, []int64{r.Cells[cell].Missing, r.Cells[cell].Moved, r.Cells[cell].Foreign})
		assert.Equal(t, []uuid.UUID{id(30)}, r.MissingIDs)
		assert.Equal(t, []uuid.UUID{id(4)}, r.MovedIDs)
	}
}

// Of a cell with an unconfirmed event that lacks two events, one is elsewhere, and the other may be the unconfirmed one.
func TestOneIsElsewhereAndOneIsUnconfirmed(t *testing.T) {
	t.Parallel()
	c, p := importOf(slices.Insert(sent(20), 4, Event{ID: id(30), Name: "e", Time: day(3)}))
	c.unconfirmed(4)
	p.lost(4)
	p.events[3].Time = day(12)
	r := standsStill(t, c)
	assert.Equal(t, Moved, r.State)
	assert.Zero(t, r.Missing)
	assert.Equal(t, []uuid.UUID{id(4)}, r.MovedIDs)
}

// Events that are in another cell are found there at the first look: then the cells that are still short
// are compared too, and only then.
func TestCellsThatAreCompared(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*Config, *project)
		listed string
		state  State
	}{
		"none":                 {func(*Config, *project) {}, "", Complete},
		"every one":            {func(c *Config, _ *project) { c.EveryUUID = true }, strings.Repeat("e", 20), Complete},
		"none that can arrive": {func(_ *Config, p *project) { p.lost(10) }, "", StillArriving},
		"one with too many":    {func(_ *Config, p *project) { p.events = append(p.events, Event{id(90), "e", day(3), false}) }, "e", TooMany},
		"an unconfirmed one":   {func(c *Config, p *project) { c.unconfirmed(10); p.lost(10); p.lost(3) }, "e", StillArriving},
		"to another day":       {func(_ *Config, p *project) { p.events[10].Time = day(3) }, "ee", Moved},
		"to another name":      {func(_ *Config, p *project) { p.events[10].Name = "f" }, "ef", Moved},
	} {
		c, p := importOf(sent(20))
		tt.change(&c, p)
		read := 0
		before := c.Source
		c.Source = func(ctx context.Context) iter.Seq2[Event, error] { read++; return before(ctx) }
		var steps []int64
		c.Progress = func(at Progress) {
			if at.Step == "compare uuids" {
				assert.EqualValues(t, 20, at.Total, name)
				steps = append(steps, at.Done)
			}
		}
		r := verifyOnce(t, c)
		assert.Equal(t, tt.listed, strings.Join(p.listed, ""), name)
		assert.Equal(t, tt.state, r.State, name)
		assert.Equal(t, min(1, len(tt.listed)), read, name)
		if name == "every one" {
			assert.Equal(t, []int64{1, 2, 3}, steps[:3])
		}
		if tt.state == Moved {
			assert.Equal(t, []uuid.UUID{id(11)}, r.MovedIDs, name)
			assert.EqualValues(t, 1, r.Moved, name)
		}
		assert.Empty(t, r.Notes, name)
	}
}

// The source has the events that were refused too. If they are there, they were imported again.
func TestRejectsThatWereImportedAgain(t *testing.T) {
	t.Parallel()
	again := Event{ID: id(50), Name: "e", Time: day(3)}
	for name, isOutside := range map[string]bool{"in a cell": false, "outside": true} {
		c, p := importOf(sent(20))
		p.source = append(p.source, again, Event{Name: "e", Time: day(4)}) // the last was not sent
		c.reject(t, again.ID, "answer_400")
		there := again
		if isOutside {
			there.Name = "f"
		}
		p.events = append(p.events, there)
		r := verifyOnce(t, c)
		assert.Equal(t, Complete, r.State, name)
		assert.Zero(t, r.Foreign, name)
		if isOutside {
			require.Len(t, r.Outside, 1)
			assert.Equal(t, "rejected events that were imported again", r.Outside[0].Reason)
			continue
		}
		assert.Equal(t, "1 rejected events are there too: they were imported again", r.Cells[3].Reason)
		c.EveryUUID = true
		assert.Empty(t, verifyOnce(t, c).Cells[4].Reason)
	}
}

// Events of which the import has no answer may be there or not.
func TestUnconfirmedEvents(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		event  string
		change func(*Config)
		still  bool // after three looks
		state  State
		reason string
	}{
		"without Rejects": {"e", func(*Config) {}, true, CompleteUnconfirmed, "1 events are not there, and without Rejects it is not known whether they are the unconfirmed ones"},
		"without Rejects, and may arrive": {
			"e", func(*Config) {}, false, CompleteUnconfirmed,
			"1 events are not there, and the unconfirmed ones among them may still arrive: 1 looks in 0s have seen so many: it takes 3 looks over 1h0m0s, with Wait or the same Dir",
		},
		"unconfirmed": {"e", func(c *Config) { c.reject(t, id(11), "unconfirmed") }, true, Missing, ""},
		"unconfirmed, and may arrive": {
			"e", func(c *Config) { c.reject(t, id(11), "unconfirmed") }, false, CompleteUnconfirmed,
			"1 events are not there, and the unconfirmed ones among them may still arrive: 1 looks in 0s have seen so many: it takes 3 looks over 1h0m0s, with Wait or the same Dir",
		},
		"unconfirmed, of a name apart": {
			"$exception", func(c *Config) { c.reject(t, id(11), "unconfirmed") }, true, CompleteUnconfirmed,
			"1 events are not there, and they are unconfirmed ones: the service drops, changes or keeps elsewhere events of this name",
		},
		"another is unconfirmed": {"e", func(c *Config) { c.reject(t, id(99), "unconfirmed") }, true, Missing, ""},
		"another is unconfirmed, and may arrive": {
			"e", func(c *Config) { c.reject(t, id(99), "unconfirmed") }, false, StillArriving,
			"1 looks in 0s have seen so many: it takes 3 looks over 1h0m0s, with Wait or the same Dir",
		},
		"without a source": {"e", func(c *Config) { c.Source = nil }, true, CompleteUnconfirmed, "which of the unconfirmed events are there is not known: give Source and Rejects"},
	} {
		events := sent(20)
		events[10].Name = tt.event
		c, p := importOf(events)
		p.lost(10)
		c.unconfirmed(10)
		tt.change(&c)
		var r *Result
		if tt.still {
			r = standsStill(t, c)
		} else {
			r = verifyOnce(t, c)
		}
		assert.Equal(t, tt.state, r.State, name)
		assert.Equal(t, tt.reason, r.Cells[10].Reason, name)
		assert.Equal(t, tt.state == Missing, r.Missing == 1, name)
	}

	c, _ := importOf(sent(1))
	c.Rejects = []string{"rejects.jsonl"}
	v, err := newVerifier(c)
	require.NoError(t, err)
	v.rejected.unconfirmed = []uuid.UUID{id(1), id(2)}
	assert.True(t, v.canBeUnconfirmed(0, 2, []uuid.UUID{id(1), id(2)}))
	assert.False(t, v.canBeUnconfirmed(0, 3, []uuid.UUID{id(1), id(2)}), "one of them is not named")
	assert.False(t, v.canBeUnconfirmed(0, 2, []uuid.UUID{id(1), id(3)}))
}

// Without a source, the counts say how many events there are too few or too many.
func TestCountsWithoutASource(t *testing.T) {
	t.Parallel()
	pairs := sent(20)
	for i := range pairs {
		pairs[i].Time = day(i / 2)
	}
	c, p := importOf(pairs)
	p.lost(10)
	c.Source = nil
	r := standsStill(t, c)
	assert.Equal(t, Missing, r.State)
	assert.EqualValues(t, []int64{1, 1, 1}, []int64{r.Missing, r.Cells[5].Missing, r.Cells[5].Seen})
	assert.Equal(t, []string{"without VerifyOptions.Source the missing events cannot be named; events with equal uuids, which count once, may be among them"}, r.Notes)
	assert.Empty(t, verifyOnce(t, c).Notes, "nothing is missing yet")

	c, p = importOf(pairs)
	c.Source = nil
	c.unconfirmed(10)
	p.events = append(p.events, Event{ID: id(90), Name: "e", Time: day(5)}, Event{ID: id(91), Name: "e", Time: day(5)}, Event{ID: id(92), Name: "f", Time: day(5)})
	r = verifyOnce(t, c)
	assert.Equal(t, TooMany, r.State)
	assert.EqualValues(t, []int64{2, 1, 0}, []int64{r.Foreign, r.Moved, r.Missing})
	assert.Equal(t, "more than were sent: the ID was used for other data too, rejects were imported again, or the receipt is of an older checkpoint", r.Cells[5].Reason)
	assert.EqualValues(t, []int64{23, 23}, []int64{r.Seen + r.Outside[0].Seen, r.Copies + r.Outside[0].Copies})
}

// Each state that is not plain says why.
func TestReasons(t *testing.T) {
	t.Parallel()
	const others = "as many events are there as were sent, but not the same ones"
	for want, tt := range map[string]struct {
		event  string
		change func(*Config, *project)
		state  State
	}{
		"": {"e", func(*Config, *project) {}, Complete},
		others: {
			"e", func(_ *Config, p *project) { p.events[10].ID = id(90) }, Unknown,
		},
		"2 events of the import have an $import_job_id of their own, by which they are not found": {
			"e", func(c *Config, p *project) { p.lost(10); c.Hidden = 2 }, Unknown,
		},
		"as many copies are there as were acknowledged, of fewer uuids": {
			"e", func(_ *Config, p *project) { p.lost(10); p.copies = map[int]int64{10: 1} }, Unknown,
		},
		"the service drops, changes or keeps elsewhere events of this name": {
			"$exception", func(_ *Config, p *project) { p.lost(10) }, Unknown,
		},
		"the import is not finished: import the rest, and verify its last receipt": {
			"e", func(c *Config, p *project) {
				p.events = append(p.events, Event{ID: id(90), Name: "e", Time: day(10)})
				c.IsOpen = true
			}, Unknown,
		},
		"the receipt is of an older release, which did not sum up uuids: a Source settles it": {
			"e", func(c *Config, _ *project) { c.Rows[10].Sum = uuidsum.Sum{} }, ByCounts,
		},
		"the service does not sum up uuids: a Source settles it": {
			"e", func(_ *Config, p *project) { p.noSums = true }, ByCounts,
		},
		"events of the source with equal uuids count once, and may be among them: a Source settles it": {
			"e", func(_ *Config, p *project) { p.lost(10) }, Missing,
		},
	} {
		events := sent(20)
		events[10].Name = tt.event
		c, p := importOf(events)
		c.Source = nil
		tt.change(&c, p)
		r := standsStill(t, c)
		assert.Equal(t, tt.state, r.Cells[10].State, want)
		if want == others {
			assert.Contains(t, r.Cells[10].Reason, want)
		} else if strings.HasPrefix(want, "as many copies") {
			assert.Contains(t, r.Cells[10].Reason, want)
		} else {
			assert.Equal(t, want, r.Cells[10].Reason)
		}
	}
}

// Until events can be missing, a cell says when that will be.
func TestArrivingSaysWhy(t *testing.T) {
	t.Parallel()
	c, p := importOf(sent(20))
	p.lost(10)
	for quiet, want := range map[time.Duration]string{
		24*time.Hour - time.Minute: "the last acknowledgement came 23h59m0s ago, and events may take 24h0m0s",
		24 * time.Hour:             "1 looks in 0s have seen so many: it takes 3 looks over 1h0m0s, with Wait or the same Dir",
	} {
		c.LastAcknowledged, c.Patience = day(50).Add(-quiet), 0 // the default
		r := verifyOnce(t, c)
		assert.Equal(t, StillArriving, r.State)
		assert.Equal(t, want, r.Cells[10].Reason)
	}
	c.Dir = t.TempDir()
	all := slices.Clone(p.events)
	p.lost(3)
	verifyOnce(t, c)
	p.events = all
	assert.Equal(t, Complete, verifyOnce(t, c).Cells[3].State)
	p.events = append(p.events, sent(20)[10])
	assert.Equal(t, Complete, verifyOnce(t, c).State)
}

// An import that is not finished may have events that the source does not have yet.
func TestStrangersOfAnUnfinishedImport(t *testing.T) {
	t.Parallel()
	c, p := importOf(sent(20))
	p.events[7].ID = id(90)
	c.IsOpen, c.EveryUUID = true, true
	r := verifyOnce(t, c)
	assert.Equal(t, Unknown, r.State)
	assert.Zero(t, r.Foreign)
	assert.Equal(t, unfinished, r.Cells[7].Reason)
	assert.Equal(t, Complete, r.Cells[6].State)
	assert.Empty(t, r.Cells[6].Reason)

	c.IsOpen = false
	r = verifyOnce(t, c)
	assert.Equal(t, "events with the import's ID that the source does not have; and 1 of the source are not there yet", r.Cells[7].Reason)
	p.events[7].ID = id(8)
	p.events = append(p.events, Event{ID: id(90), Name: "e", Time: day(7)})
	assert.Equal(t, "events with the import's ID that the source does not have", verifyOnce(t, c).Cells[7].Reason)
}

// Events of the source that share a uuid are stored once, or once a day.
func TestSharedUUIDs(t *testing.T) {
	t.Parallel()
	twice := sent(20)
	twice[11].ID = twice[10].ID
	c, _ := importOf(twice)
	for i := range c.Rows {
		c.Rows[i].Period = "1999-03"
	}
	c.EveryUUID = true
	r := verifyOnce(t, c)
	assert.Equal(t, Complete, r.State)
	assert.EqualValues(t, 1, r.Cells[0].Doubled)
	assert.Equal(t, "1 events of the source share the uuid of another one, and are stored once", r.Cells[0].Reason)

	oneDay := sent(2)
	oneDay[1] = oneDay[0]
	c, p := importOf(oneDay)
	p.events, p.copies = p.events[:1], map[int]int64{0: 1}
	r = verifyOnce(t, c)
	assert.Equal(t, Complete, r.State, "as many copies are there: the source settles it at the first look")
	assert.EqualValues(t, []int64{1, 1, 2}, []int64{r.Cells[0].Doubled, r.Seen, r.Copies})
}

// A list that takes too long is read in smaller windows. Another error says why a cell was not compared.
func TestListsThatFail(t *testing.T) {
	t.Parallel()
	const week = 7 * 24 * time.Hour
	for name, tt := range map[string]struct {
		lists  func(string, Window) error
		listed int
		reason string
	}{
		"a month is too much": {func(_ string, w Window) error {
			if w.Until.Sub(w.From) > week {
				return errTooMuch
			}
			return nil
		}, 13, ""}, // 7 windows that are small enough, and 6 that were not
		"a day is too much": {func(string, Window) error { return errTooMuch }, 5 + 5, "the uuids could not be listed: 1999-03-01: too much"},
		"another error":     {func(string, Window) error { return errOther }, 1, "the uuids could not be listed: 1999-03-01 to 1999-03-31: no room"},
	} {
		c, p := importOf(sent(20))
		for i := range c.Rows {
			c.Rows[i].Period = "1999-03"
		}
		p.lists, c.EveryUUID = tt.lists, true
		r := verifyOnce(t, c)
		assert.Equal(t, tt.reason, r.Cells[0].Reason, name)
		assert.Equal(t, tt.reason == "", r.State == Complete, name)
		assert.Len(t, p.listed, tt.listed, name)
	}

	c, p := importOf(sent(20))
	p.events[10].Name = "f"
	p.lists = func(name string, _ Window) error {
		if name == "f" {
			return errOther
		}
		return nil
	}
	r := verifyOnce(t, c)
	require.Len(t, r.Outside, 1)
	assert.Equal(t, "not all uuids could be listed", r.Outside[0].Reason)
	assert.EqualValues(t, 1, r.Moved)
	assert.Empty(t, r.ForeignIDs)
}

// Of very many days and names that the receipt does not have, some are compared.
func TestVeryManyOutside(t *testing.T) {
	t.Parallel()
	c, p := importOf(sent(1))
	for i := range maxOutsideList + 2 {
		p.events = append(p.events, Event{ID: uuid.UUID{1, byte(i >> 8), byte(i)}, Name: fmt.Sprintf("f%04d", i), Time: day(0)})
	}
	r := verifyOnce(t, c)
	assert.Len(t, p.listed, maxOutsideList)
	assert.Equal(t, []string{"2 days and names that are not in the receipt were not compared with the source: there are too many"}, r.Notes)
	assert.EqualValues(t, []int64{maxOutsideList, 2}, []int64{r.Foreign, r.Moved})
}

// A source that has more is said to be another one. How far it is read is shown now and then.
func TestReadingTheSource(t *testing.T) {
	t.Parallel()
	c, p := importOf(sent(20))
	c.EveryUUID, c.Read = true, 7
	p.source = slices.Concat(p.source, make([]Event, 2*sourceSteps), []Event{{id(90), "f", day(3), false}, {id(91), "e", day(30), false}})
	var done []int64
	c.Progress = func(at Progress) {
		if at.Step == "read the source" {
			done = append(done, at.Done, at.Total)
		}
	}
	r := verifyOnce(t, c)
	assert.Equal(t, Complete, r.State)
	assert.Equal(t, []int64{sourceSteps, 7, 2 * sourceSteps, 7}, done)
	require.Len(t, r.Notes, 1)
	assert.Contains(t, r.Notes[0], "2 events of the source are of days and names that the receipt does not have")
}

// A comparison that was stopped continues in its folder for a day: the source is not read again, nor are
// the lists that it had.
func TestContinuesToCompare(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		after        time.Duration
		change       func(*Config)
		read, listed int
	}{
		"at once":           {0, func(*Config) {}, 0, 15},
		"within a day":      {freshComparison - 1, func(*Config) {}, 0, 15},
		"after a day":       {freshComparison, func(*Config) {}, 0, 20},
		"of another source": {0, func(c *Config) { c.SourceID = "another" }, 1, 20},
	} {
		c, p := importOf(sent(20))
		c.Dir, c.EveryUUID, c.SourceID = t.TempDir(), true, "source"
		ctx, cancel := context.WithCancel(t.Context())
		p.lists = func(string, Window) error {
			if len(p.listed) == 6 {
				cancel()
				return ctx.Err()
			}
			return nil
		}
		read, source := 0, c.Source
		c.Source = func(ctx context.Context) iter.Seq2[Event, error] { read++; return source(ctx) }
		_, err := Verify(ctx, c)
		require.ErrorIs(t, err, context.Canceled, name)
		require.ErrorContains(t, err, "stopped, and continues with the same Dir", name)
		p.lists, p.listed, read = nil, nil, 0
		c.Now = func() time.Time { return day(50).Add(tt.after) }
		tt.change(&c)
		r := verifyOnce(t, c)
		assert.Equal(t, Complete, r.State, name)
		assert.Equal(t, []int{tt.read, tt.listed}, []int{read, len(p.listed)}, name)
		assert.Equal(t, []string{"verify.json"}, leftIn(t, c.Dir))
	}
}

// A memory that does not fit the receipt's cells is not used.
func TestAMemoryOfOtherCells(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*memory){
		"cells": func(m *memory) { m.Cells = m.Cells[1:] },
		"grew":  func(m *memory) { m.Grew = m.Grew[1:] },
		"seen":  func(m *memory) { m.Look.Seen = m.Look.Seen[1:] },
	} {
		c, _ := importOf(sent(20))
		c.Dir = t.TempDir()
		verifyOnce(t, c)
		v, err := newVerifier(c)
		require.NoError(t, err)
		require.Equal(t, 1, v.memory.Looks)
		change(&v.memory)
		require.NoError(t, v.files.save(&v.memory))
		require.NoError(t, v.files.close())
		r := verifyOnce(t, c)
		assert.Equal(t, Complete, r.State, name)
		assert.Equal(t, 1, r.Looks, name)
	}
}

// A window without cells that could not be counted is a note.
func TestAWindowWithoutCellsFails(t *testing.T) {
	t.Parallel()
	c, p := importOf(sent(20))
	p.errs = when(func(w Window) bool { return w.From.Before(march) }, errOther)
	r := verifyOnce(t, c)
	assert.Equal(t, Complete, r.State)
	assert.Equal(t, []string{"1999-02-28, where the import has no events, could not be counted: no room"}, r.Notes)
	p.errs = when(func(w Window) bool { return !w.From.Before(march) }, errOther)
	assert.Empty(t, verifyOnce(t, c).Notes, "the cells say it")
}

// With Wait it looks until all has arrived, after longer and longer pauses. It gives up after ten looks in a row that have
// failed, and after no number of others.
func TestWaitsAsLongAsItLooks(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		errs  func(looks int) error
		there func(looks int) bool
		state State
		looks int
		took  time.Duration
	}{
		"each look fails":   {func(int) error { return errOther }, func(int) bool { return true }, Unknown, maxFailedLooks, (1 + 2 + 4 + 8 + 16 + 4*30) * time.Minute},
		"each second fails": {func(n int) error { return []error{nil, errOther}[n%2] }, func(n int) bool { return n > 24 }, Complete, 26, (31 + 20*30) * time.Minute},
		"none fails":        {func(int) error { return nil }, func(n int) bool { return n > 14 }, Complete, 15, (31 + 9*30) * time.Minute},
		"at once":           {func(int) error { return nil }, func(int) bool { return true }, Complete, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, p := importOf(sent(1))
				c.Wait, c.Now, c.LastAcknowledged = true, time.Now, time.Now()
				looks, all, begin := 0, p.events, time.Now()
				p.errs = func(w Window) error {
					if w.From.Before(march) { // the first window of a look
						looks++
					}
					p.events = nil
					if tt.there(looks) {
						p.events = all
					}
					return tt.errs(looks)
				}
				r := verifyOnce(t, c)
				assert.Equal(t, tt.state, r.State)
				assert.Equal(t, tt.looks, r.Looks)
				assert.Equal(t, tt.took, time.Since(begin))
			})
		})
	}
}

// Comparing uuids shows events as absent that may still come: then it waits for them.
func TestWaitsForWhatWasCompared(t *testing.T) {
	t.Parallel()
	for name, isUnconfirmed := range map[string]bool{"acknowledged": false, "unconfirmed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, p := importOf(sent(20))
				c.Wait, c.Now, c.LastAcknowledged = true, time.Now, time.Now()
				if isUnconfirmed {
					c.unconfirmed(10)
					p.lost(10)
				} else {
					p.events[10].ID = id(90) // another one in its place: there are as many
				}
				looks := 0
				c.Progress = func(at Progress) {
					if at.Step == "wait" {
						if looks++; looks == 3 {
							p.events = sent(20)
							if !isUnconfirmed {
								p.events = append(p.events, Event{ID: id(90), Name: "e", Time: day(10)})
							}
						}
					}
				}
				r := verifyOnce(t, c)
				assert.Equal(t, 3, looks)
				if isUnconfirmed {
					assert.Equal(t, Complete, r.State)
				} else {
					assert.Equal(t, "events with the import's ID that the source does not have", r.Cells[10].Reason, "and none that is not there yet")
				}
			})
		})
	}
}

// An event that was compared and never arrives is missing once nothing more can arrive: then the wait ends.
func TestTheWaitForWhatWasComparedEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*24*time.Hour)
		defer cancel()
		c, p := importOf(sent(20))
		c.Wait, c.Now, c.LastAcknowledged = true, time.Now, time.Now()
		p.events[10].ID = id(90) // another one in its place: there are as many, so the count never changes
		begin := time.Now()
		r, err := Verify(ctx, c)
		require.NoError(t, err, "it waits without end")
		assert.Equal(t, []uuid.UUID{id(11)}, r.MissingIDs)
		assert.GreaterOrEqual(t, time.Since(begin), c.Patience)
		assert.Less(t, time.Since(begin), c.Patience+2*longestLookPause)
	})
}

// Without Dir, uuids are sorted in a folder that is removed in the end.
func TestTemporaryFolder(t *testing.T) {
	temp := t.TempDir()
	setTemp(t, temp)
	c, _ := importOf(sent(20))
	c.EveryUUID = true
	source := c.Source
	c.Source = func(ctx context.Context) iter.Seq2[Event, error] {
		left, err := os.ReadDir(temp)
		require.NoError(t, err)
		assert.Len(t, left, 1)
		return source(ctx)
	}
	assert.Equal(t, Complete, verifyOnce(t, c).State)
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	assert.Empty(t, left)

	setTemp(t, filepath.Join(temp, "none"))
	_, err = Verify(t.Context(), c)
	require.ErrorContains(t, err, "verify.uuids in the temporary folder")
	require.ErrorContains(t, err, "or set VerifyOptions.Dir")

	c.Dir, c.Source = t.TempDir(), source
	assert.Equal(t, Complete, verifyOnce(t, c).State, "with Dir nothing is written elsewhere")
}

// setTemp sets the temporary folder, by the variables of Unix and Windows.
func setTemp(t *testing.T, folder string) {
	t.Helper()
	t.Setenv("TMPDIR", folder)
	t.Setenv("TMP", folder)
}

// leftIn returns the files of a folder without its lock, which Windows removes.
func leftIn(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		if e.Name() != "verify.lock" {
			names = append(names, e.Name())
		}
	}
	return names
}
