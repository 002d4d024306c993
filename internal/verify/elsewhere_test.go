package verify

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var errOther = errors.New("no room")

// lost takes the event of a day out of the project.
func (p *project) lost(day int) Event {
	ev := p.events[day]
	p.events = slices.Delete(p.events, day, day+1)
	return ev
}

// A missing event may be there without the import's ID, or may have come since.
func TestMissingEventsAreLookedFor(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change          func(p *project, ev Event)
		moved, come     int64
		state           State
		note, ofMissing string
	}{
		"nowhere": {change: func(*project, Event) {}, state: Missing},
		"without the ID": {
			change: func(p *project, ev Event) { p.apart = []Event{ev} }, moved: 1, state: Moved,
			note: "the event " + id(11).String() + " is there without the import's ID, on 1999-03-11 as e",
		},
		"without the ID, on another day": {
			change: func(p *project, ev Event) { ev.Time = day(2); p.apart = []Event{ev} }, moved: 1, state: Moved,
			note: "the event " + id(11).String() + " is there without the import's ID, on 1999-03-03 as e",
		},
		"come since": {change: func(p *project, ev Event) { p.late = []Event{ev} }, come: 1, state: Complete},
		"the lookup fails": {
			change: func(p *project, _ Event) { p.finds = func(bool, Window) error { return errOther } }, state: Missing,
			note: "missing events were not looked for in the whole project: no room",
		},
		"the second lookup fails": {
			change: func(p *project, ev Event) {
				p.late = []Event{ev}
				p.finds = func(ofImport bool, _ Window) error {
					if ofImport {
						return errOther
					}
					return nil
				}
			}, state: Missing, note: "missing events were not looked for in the whole project: no room",
		},
	} {
		c, p := importOf(sent(20))
		tt.change(p, p.lost(10))
		r := standsStill(t, c)
		assert.Equal(t, tt.state, r.State, name)
		isMissing := 1 - tt.moved - tt.come
		assert.Equal(t, []int64{isMissing, tt.moved, 0}, []int64{r.Missing, r.Moved, r.Foreign}, name)
		assert.Equal(t, []int64{isMissing, tt.moved, tt.come}, []int64{r.Cells[10].Missing, r.Cells[10].Moved, r.Cells[10].Seen}, name)
		assert.Len(t, r.MissingIDs, int(isMissing), name)
		assert.Len(t, r.MovedIDs, int(tt.moved), name)
		if tt.note == "" {
			assert.Empty(t, r.Notes, name)
		} else {
			assert.Equal(t, []string{tt.note}, r.Notes, name)
		}
	}
}

// One query looks for a thousand events. After it has failed, all events are named as missing.
func TestLookupsThatEnd(t *testing.T) {
	t.Parallel()
	c, p := importOf(sent(20))
	p.events = nil
	p.finds = func(bool, Window) error { return errOther }
	assert.Len(t, standsStill(t, c).MissingIDs, 20)
	assert.Equal(t, 1, p.looked)

	var many []Event
	for i := range maxLookups + 5 {
		many = append(many, Event{ID: uuid.UUID{0: byte(i >> 8), 1: byte(i), 6: 0x40, 8: 0x80, 15: 1}, Name: "e", Time: day(0)})
	}
	c, p = importOf(many)
	p.events = nil
	r := standsStill(t, c)
	assert.Len(t, r.MissingIDs, maxLookups+5)
	assert.Equal(t, 1, p.looked)
	assert.Contains(t, r.Notes, "the first 1000 missing events were looked for in the whole project, and the others by the import's ID only")
}

// An error that every query would have ends the verification with the result of the counts.
func TestHopelessQueries(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config, *project){
		"for one event": func(_ *Config, p *project) {
			p.lost(10)
			p.finds = func(bool, Window) error { return errHopeless }
		},
		"of a list": func(c *Config, p *project) {
			c.EveryUUID = true
			p.lists = func(string, Window) error { return errHopeless }
		},
		"of a list outside": func(_ *Config, p *project) {
			p.events[5].Name = "another"
			p.lists = func(name string, _ Window) error {
				if name == "another" {
					return errHopeless
				}
				return nil
			}
		},
		"before and after all": func(_ *Config, p *project) {
			p.lost(10)
			p.errs = when(func(w Window) bool { return w.From.Year() == 1900 }, errHopeless)
		},
	} {
		c, p := importOf(sent(20))
		change(&c, p)
		r, err := enough(t, c)
		require.ErrorIs(t, err, errHopeless, name)
		require.NotNil(t, r, name)
		assert.Empty(t, r.MissingIDs, name)
	}
}

// findWithin halves a window that takes too long, up to maxPerEvent queries.
func TestFindWithinSmallerWindows(t *testing.T) {
	t.Parallel()
	const days = 24 * time.Hour
	for name, tt := range map[string]struct {
		window, tooMuch int // days; more than so many take too long
		err             error
		looked          int
	}{
		"at once":           {80, 80, nil, 1},
		"the second half":   {80, 40, nil, 3},
		"quarters":          {80, 20, nil, 7},
		"too often":         {4000, 0, errTooMuch, maxPerEvent},
		"a single day":      {1, 0, errTooMuch, 1},
		"down to each hour": {4, 0, errTooMuch, 3},
	} {
		c, p := importOf(sent(1))
		p.finds = func(_ bool, w Window) error {
			if w.Until.Sub(w.From) > time.Duration(tt.tooMuch)*days {
				return errTooMuch
			}
			return nil
		}
		v, err := newVerifier(c)
		require.NoError(t, err)
		rows, err := v.findWithin(t.Context(), []uuid.UUID{id(1)}, Scope{Window: Window{From: day(1 - tt.window), Until: day(1)}, OfImport: true})
		require.ErrorIs(t, err, tt.err, name)
		assert.Equal(t, tt.err == nil, len(rows) == 1, name)
		assert.Equal(t, tt.looked, p.looked, name)
	}
	c, p := importOf(sent(1))
	v, err := newVerifier(c)
	require.NoError(t, err)
	rows, err := v.findWithin(t.Context(), []uuid.UUID{{1}}, Scope{Window: Window{From: day(0), Until: day(9)}, OfImport: true})
	require.NoError(t, err)
	assert.Empty(t, rows)
	p.finds = func(bool, Window) error { return errOther }
	_, err = v.findWithin(t.Context(), []uuid.UUID{id(1)}, Scope{Window: Window{From: day(0), Until: day(9)}, OfImport: true})
	require.ErrorIs(t, err, errOther)
	assert.Equal(t, 2, p.looked)
}

// The time before and after all events is searched once something is missing, in windows of any size.
func TestEventsBeforeAndAfterAll(t *testing.T) {
	t.Parallel()
	const own, beyond = 2, 3 // windows
	tooMuch := func(most time.Duration) func(Window) error {
		return when(func(w Window) bool { return w.Until.Sub(w.From) > most }, errTooMuch)
	}
	for name, tt := range map[string]struct {
		change func(*Config, *project)
		asked  int // after three looks
		note   string
	}{
		"all there":            {func(c *Config, _ *project) { c.EveryUUID = true }, 3 * own, ""},
		"missing":              {func(_ *Config, p *project) { p.lost(10) }, 3*own + beyond, ""},
		"an unconfirmed one":   {func(c *Config, p *project) { c.unconfirmed(10); p.lost(10) }, 3*own + beyond, ""},
		"moved far":            {func(_ *Config, p *project) { p.events[10].Time = time.Date(1985, 1, 1, 0, 0, 0, 0, time.UTC) }, 3*own + beyond, ""},
		"in smaller windows":   {func(_ *Config, p *project) { p.lost(10); p.errs = tooMuch(5000 * 24 * time.Hour) }, 3*own + 15 + 7 + 1, ""},
		"in windows of weeks":  {func(_ *Config, p *project) { p.lost(10); p.errs = tooMuch(minBeyond) }, 3*own + 69, "was not searched"},
		"in windows of months": {func(_ *Config, p *project) { p.lost(10); p.errs = tooMuch(150 * 24 * time.Hour) }, 3*own + 65, "was not searched"},
		"with another error": {func(_ *Config, p *project) {
			p.lost(10)
			p.errs = when(func(w Window) bool { return w.From.Year() == 1970 }, errOther)
		}, 3*own + beyond, "1970-01-01 to 1999-02-27 was not searched for events that have moved: no room"},
		"no months that are too much": {func(_ *Config, p *project) {
			p.lost(10)
			p.errs = when(func(w Window) bool { return w.From == day(21) }, errTooMuch)
		}, 3*own + beyond, "1999-03-22 to 1999-04-21 was not searched for events that have moved: too much"},
	} {
		c, p := importOf(sent(20))
		tt.change(&c, p)
		var steps []Progress
		c.Progress = func(at Progress) {
			if at.Step == "look elsewhere" && at.Total > 1 {
				steps = append(steps, at)
			}
		}
		r := standsStill(t, c)
		assert.Len(t, p.asked, tt.asked, name)
		for i, at := range steps {
			assert.EqualValues(t, i+1, at.Done, name)
			assert.LessOrEqual(t, at.Done, at.Total, name)
		}
		assert.Len(t, steps, tt.asked-3*own, name)
		if tt.note == "" {
			assert.Empty(t, r.Notes, name)
		} else {
			require.NotEmpty(t, r.Notes, name)
			assert.Contains(t, r.Notes[0], tt.note, name)
		}
	}
	c, p := importOf(sent(20))
	c.unconfirmed(10)
	p.lost(10)
	_, err := Verify(t.Context(), c)
	require.NoError(t, err)
	assert.Len(t, p.asked, own, "at the first look the event may still arrive")
}

// unconfirmed makes the event of a day one that may not have been taken.
func (c *Config) unconfirmed(day int) {
	c.Rows[day].Acknowledged, c.Rows[day].Unconfirmed = 0, 1
	c.Acknowledged, c.Unconfirmed = c.Acknowledged-1, c.Unconfirmed+1
}
