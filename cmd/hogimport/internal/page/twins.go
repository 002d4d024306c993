package page

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/page"
	"github.com/hogapi/hogapi/internal/estimate"
)

// Twins finds files that have events of other files with another content: the tables of one day, or an export that was made
// again with more columns. Copies with the id of the vendor are stored once, and do not count.
type Twins struct {
	IsGA4 bool // it copies rows from one table to another and completes them

	seed   maphash.Seed
	events estimate.Sample[uint32] // by person, time and name, with twice the number of the file that had it first, and 1 for an id
	files  []twinFile
	number map[string]uint32 // of a file
	last   uint32
}

// twinFile counts events of a file that were looked at.
type twinFile struct {
	name          string
	events, twins int64
	hasIDs        int64  // twins that have ids of the vendor both, such as several events of one batch
	with          uint32 // the file of the last one
}

func newTwins(seed maphash.Seed) Twins {
	return Twins{seed: seed, events: estimate.Sample[uint32]{Most: maxSampled}, number: map[string]uint32{}}
}

func (t *Twins) add(ev *hogapi.Event) {
	hasID := uint32(0)
	if ev.UUID != uuid.Nil {
		hasID = 1
	}
	if ev.Position.Key == "" || hasID == 1 && !t.IsGA4 {
		return
	}
	if len(t.files) == 0 || t.files[t.last].name != ev.Position.Key {
		number, isKnown := t.number[ev.Position.Key]
		if !isKnown {
			number = uint32(len(t.files))
			t.number[ev.Position.Key] = number
			t.files = append(t.files, twinFile{name: ev.Position.Key})
		}
		t.last = number
	}
	var h maphash.Hash
	h.SetSeed(t.seed)
	_, _ = h.WriteString(ev.DistinctID)
	_ = h.WriteByte(0)
	_, _ = h.WriteString(ev.Name)
	var at [8]byte
	binary.LittleEndian.PutUint64(at[:], uint64(ev.Timestamp.UnixMicro()))
	_, _ = h.Write(at[:])
	first, isKnown, isKept := t.events.Add(h.Sum64(), t.last<<1|hasID)
	if !isKept {
		return
	}
	own := &t.files[t.last]
	own.events++
	if isKnown && first>>1 != t.last {
		own.add(first>>1, first&hasID == 1)
		t.files[first>>1].add(t.last, first&hasID == 1)
	}
}

func (f *twinFile) add(with uint32, haveIDs bool) {
	f.with = with
	if haveIDs {
		f.hasIDs++
	} else {
		f.twins++
	}
}

// findings names the file with the largest share of twins.
func (t *Twins) findings() []page.Finding {
	const percent = 100
	const half, tenth = 50, 10
	worst, all, share := -1, int64(0), int64(0)
	for i := range t.files {
		f := &t.files[i]
		if percent*f.hasIDs >= half*f.events {
			f.twins += f.hasIDs
		}
		f.twins = min(f.twins, f.events)
		all += f.twins
		if f.events == 0 {
			continue
		}
		if of := percent * f.twins / f.events; f.twins > 0 && (worst < 0 || of > share) {
			worst, share = i, of
		}
	}
	if worst < 0 || !t.IsGA4 && share < half {
		return nil
	}
	f := t.files[worst]
	title := about(all/2*t.events.Share(), t.events.Share(), "event is", "events are") + " in two files, with another content"
	text := page.Share(f.twins, f.events) + " of the events in " + page.Shown(f.name) + " have the person, the time and the name of an event in " +
		page.Shown(t.files[f.with].name) + ". "
	level := page.Warn
	if t.IsGA4 && share >= tenth {
		level = page.Bad
		text += "Google moves the rows of a day from its intraday table to the table of the day, and completes them: each event would be there twice. " +
			"Import one of the two files."
	} else {
		text += "If they are two exports of one time, each event would be there twice: import one of the two files."
	}
	return []page.Finding{page.NewFinding(level, title, text, "duplicates")}
}
