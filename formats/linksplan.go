package formats

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/internal/extsort"
	"github.com/hogapi/hogapi/internal/jsonb"
	"github.com/hogapi/hogapi/internal/wire"
)

// LinksPlan finds the links of events that are given to it, in any order. [PlanLinks] and [LinksWith] use one. Use
// it yourself where the events are read for another purpose, as in a check. It keeps ids on disk, in the folder for
// temporary files, and takes at most 32 MiB of memory. Close it.
type LinksPlan struct {
	options LinksOptions
	dir     *tempFolder

	mu      sync.Mutex
	ids     *extsort.Sorter // facts about ids, by their digests
	lately  map[[factKey]byte]moment
	stands  map[string]*placeholder // ids that stand for no id
	counted []string                // of them, for the event that is added
	failed  error

	byTime *extsort.Sorter // the links, after Report
}

// moment is a time that takes little room.
type moment struct {
	unix  int64
	nanos int32
}

// placeholder is what is known about an id that is not linked.
type placeholder struct {
	events int64
	oldest moment
}

// A fact is a digest of an id, a kind, a digest of another id or zeros, and what is named below.
const (
	factStrong = iota // both are ids of a person
	factNamed         // a vendor calls the id that of a user
	factUser          // the id was used with an anonymous one
	factSeen          // a time of an event with the id, and the id
	factWeak          // the id is an anonymous one of the other; a time of an event
	factAlias         // an alias event names the id as one of the other; a time of an event
)

const (
	idKey   = 16 // the length of a digest
	factKey = idKey + 1 + idKey
	edgeKey = 2 * idKey
)

type idDigest = [idKey]byte

func digest(text string) idDigest {
	sum := sha256.Sum256([]byte(text))
	return idDigest(sum[:])
}

// Bytes that are sorted in memory at once: ids while events are read, others when they are not.
const (
	idsMemory  = 3 << 20
	stepMemory = 3 << 20
)

// NewLinksPlan returns a plan without events.
func NewLinksPlan(options *LinksOptions) (*LinksPlan, error) {
	o := optionsOf(options)
	if err := o.check(); err != nil {
		return nil, err
	}
	dir, err := newTempFolder("hogapi-links-")
	if err != nil {
		return nil, err
	}
	p := &LinksPlan{options: o, dir: dir, lately: map[[factKey]byte]moment{}, stands: map[string]*placeholder{}}
	if p.ids, err = dir.sorter("ids", factKey, idsMemory); err != nil {
		return nil, errors.Join(err, dir.remove())
	}
	return p, nil
}

// Close removes the files of the plan.
func (p *LinksPlan) Close() error { return p.dir.remove() }

// read adds the events of a source.
func (p *LinksPlan) read(ctx context.Context, source hogapi.Source) error {
	for ev, err := range source.Events(ctx, hogapi.Position{}) {
		if err != nil {
			return err
		}
		if p.Add(&ev); p.failed != nil {
			return p.failed
		}
	}
	return context.Cause(ctx)
}

// Add adds an event. It may be called by several goroutines at once. Report returns its errors.
func (p *LinksPlan) Add(ev *hogapi.Event) {
	if ev.DistinctID == "" || ev.Timestamp.IsZero() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := moment{ev.Timestamp.Unix(), int32(ev.Timestamp.Nanosecond())}
	p.counted = p.counted[:0]
	hasPerson := p.takesPart(ev.DistinctID, at)
	var person idDigest
	if hasPerson {
		person = digest(ev.DistinctID)
		p.seen(person, ev.DistinctID, at)
	}
	for _, id := range ev.UserIDs {
		if id == "" || !p.takesPart(id, at) {
			continue
		}
		user := digest(id)
		p.fact(user, factNamed, idDigest{}, moment{}, "")
		if hasPerson && user != person {
			p.seen(user, id, at)
			p.fact(user, factStrong, person, moment{}, "")
			p.fact(person, factStrong, user, moment{}, "")
		}
	}
	other := func(id string, kind byte) {
		if id != "" && id != ev.DistinctID && p.takesPart(id, at) && hasPerson {
			p.other(person, id, kind, at)
		}
	}
	other(ev.AnonymousID, factWeak)
	switch ev.Name {
	case wire.EventIdentify:
		other(textOf(ev, anonymousProperty), factWeak)
	case wire.EventAlias:
		other(textOf(ev, "alias"), factAlias)
	}
}

// takesPart reports whether an id of an event is linked with others. It counts placeholders, once for the event.
func (p *LinksPlan) takesPart(id string, at moment) bool {
	if p.options.Placeholders || !wire.IsPlaceholder(id) || slices.Contains(p.options.RealIDs, id) {
		return true
	}
	const maxSpellings = 1000
	of := p.stands[id]
	if of == nil && len(p.stands) < maxSpellings {
		of = &placeholder{oldest: at}
		p.stands[id] = of
	}
	if of == nil || slices.Contains(p.counted, id) {
		return false
	}
	p.counted = append(p.counted, id)
	if of.events++; at.before(of.oldest) {
		of.oldest = at
	}
	return false
}

// other notes another id of a person, which others may have used too.
func (p *LinksPlan) other(person idDigest, id string, kind byte, at moment) {
	other := digest(id)
	p.seen(other, id, at)
	p.fact(person, factUser, idDigest{}, moment{}, "")
	p.fact(other, kind, person, at, "")
}

func (p *LinksPlan) seen(id idDigest, text string, at moment) {
	p.fact(id, factSeen, idDigest{}, at, text)
}

// fact notes a fact, unless it was noted lately with a time that is not later.
func (p *LinksPlan) fact(id idDigest, kind byte, other idDigest, at moment, text string) {
	if p.failed != nil {
		return
	}
	var key [factKey]byte
	copy(key[:], id[:])
	key[idKey] = kind
	copy(key[idKey+1:], other[:])
	if was, known := p.lately[key]; known && (was.unix < at.unix || was.unix == at.unix && was.nanos <= at.nanos) {
		return
	}
	const lately = 1 << 13
	if len(p.lately) >= lately {
		clear(p.lately)
	}
	p.lately[key] = at
	p.failed = put(p.ids, func(room []byte) []byte {
		room = append(room, key[:]...)
		return append(appendTime(room, at.time()), text...)
	})
}

// textOf is a text among the properties of an event, or "".
func textOf(ev *hogapi.Event, name string) (text string) {
	if ev.RawProperties == nil {
		text, _ = ev.Properties[name].(string)
		return text
	}
	_ = jsonb.Object(ev.RawProperties, func(key, value []byte) { // of damaged ones, those before the fault
		if string(key) == name && len(value) > 0 && value[0] == '"' {
			text, _ = jsonb.Unquote(value)
		}
	})
	return text
}

func put(to *extsort.Sorter, write func(room []byte) []byte) error {
	if to.IsFull() {
		if err := to.EndRun(nil); err != nil {
			return err
		}
	}
	return to.Add(func(room []byte) ([]byte, error) { return write(room), nil })
}

func putPair(to *extsort.Sorter, p pair) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return put(to, func(room []byte) []byte { return append(appendTime(room, p.at()), text...) })
}

// momentOf reads what appendTime has written.
func momentOf(b []byte) moment {
	return moment{int64(binary.BigEndian.Uint64(b) ^ 1<<63), int32(binary.BigEndian.Uint32(b[8:]))}
}

// items are the items of a sorter that is finished, until *err has an error, which may be that of reading them. Each is
// valid until the next one.
func items(of *extsort.Sorter, err *error) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		failed := of.Read(0, func(item []byte, _ int64) bool { return *err == nil && yield(item) })
		*err = cmp.Or(*err, failed)
	}
}

// cursor finds items by the digests that they begin with, which are asked for in ascending order.
type cursor struct {
	next func() ([]byte, bool)
	stop func()
	item []byte // nil after the last
}

func newCursor(of *extsort.Sorter, err *error) *cursor {
	c := &cursor{}
	c.next, c.stop = iter.Pull(items(of, err))
	c.advance()
	return c
}

func (c *cursor) advance() { c.item, _ = c.next() }
