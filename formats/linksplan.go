package formats

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/extsort"
	"github.com/hogapi/hogapi/internal/jsonb"
	"github.com/hogapi/hogapi/internal/wire"
)

// LinksPlan finds the links of events that are given to it, in any order. [PlanLinks] and [LinksWith] use one. Use
// it yourself where the events are read for another purpose, as in a check. It keeps ids on disk, in the folder for
// temporary files, and Report takes memory for them: see LinksOptions.Memory. Close it.
type LinksPlan struct {
	options LinksOptions
	dir     *tempFolder

	mu      sync.Mutex
	ids     *extsort.Sorter // facts about ids, by their digests
	lately  map[[factKey]byte]noted
	persons map[string]stamp        // the ids of events that were added, with a time from which on they tell nothing new
	key     []byte                  // of persons
	stands  map[string]*placeholder // ids that stand for no id
	counted []string                // of them, for the event that is added
	failed  error
	digest  func(text string) idDigest

	byTime *extsort.Sorter // the links, after Report
}

// noted is a time of a fact, and the id if the fact has it.
type noted struct {
	at   stamp
	text string
}

// placeholder is the knowledge about an id that is not linked.
type placeholder struct {
	events int64
	oldest stamp
}

// A fact is a digest of an id, a kind, a digest of another id or zeros, and the data named below.
const (
	factStrong = iota // both are ids of a person
	factNamed         // a vendor calls the id that of a user
	factUser          // the id was used with an anonymous one
	factSeen          // a time of an event with the id, and the id
	factWeak          // the id is an anonymous one of the other; a time of an event
	factAlias         // an alias event names the id as one of the other; a time of an event
	factEnd           // there are no more facts about the id
)

type fact struct {
	id, other idDigest
	kind      byte
	at        stamp
	text      []byte // valid until the next one
}

func factOf(item []byte) fact {
	return fact{idDigest(item), idDigest(item[idKey+1:]), item[idKey], stamp(item[factKey:]), item[factKey+timeKey:]}
}

const (
	idKey   = 16 // the length of a digest
	factKey = idKey + 1 + idKey
)

type idDigest = [idKey]byte

func digest(text string) idDigest {
	sum := sha256.Sum256([]byte(text))
	return idDigest(sum[:])
}

// Bytes that are sorted in memory at once: facts while events are read, links when they are not.
const (
	idsMemory   = 8 << 20
	linksMemory = 8 << 20
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
	p := &LinksPlan{options: o, dir: dir, lately: map[[factKey]byte]noted{}, persons: map[string]stamp{}, stands: map[string]*placeholder{}, digest: digest}
	if p.ids, err = dir.sorter("ids", factKey, idsMemory); err != nil {
		return nil, errors.Join(err, dir.remove())
	}
	return p, nil
}

// Close removes the files of the plan.
func (p *LinksPlan) Close() error { return p.dir.remove() }

// read adds the events of a source.
func (p *LinksPlan) read(ctx context.Context, source history.Source) error {
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
	at := stampOf(ev.Timestamp)
	if p.key = p.key[:0]; ev.Name == wire.EventIdentify || ev.Name == wire.EventAlias {
		p.note(ev, at)
		return
	}
	for _, id := range append([]string{ev.DistinctID, ev.AnonymousID}, ev.UserIDs...) {
		p.key = binary.AppendUvarint(p.key, uint64(len(id)))
		p.key = append(p.key, id...)
	}
	if from, known := p.persons[string(p.key)]; known && from.earlier(at) == from {
		return
	}
	const maxKey, maxPersons = 1 << 8, 1 << 15
	if p.note(ev, at); len(p.counted) > 0 || len(p.key) > maxKey {
		return
	}
	if len(p.persons) >= maxPersons {
		clear(p.persons)
	}
	p.persons[string(p.key)] = at
}

// note notes the facts that an event tells.
func (p *LinksPlan) note(ev *hogapi.Event, at stamp) {
	p.counted = p.counted[:0]
	hasPerson := p.takesPart(ev.DistinctID, at)
	var person idDigest
	if hasPerson {
		person = p.digest(ev.DistinctID)
		p.fact(person, factSeen, idDigest{}, at, ev.DistinctID)
	}
	for _, id := range ev.UserIDs {
		if id == "" || !p.takesPart(id, at) {
			continue
		}
		user := p.digest(id)
		p.fact(user, factNamed, idDigest{}, stamp{}, "")
		if hasPerson && id != ev.DistinctID {
			p.fact(user, factSeen, idDigest{}, at, id)
			p.fact(user, factStrong, person, stamp{}, "")
			p.fact(person, factStrong, user, stamp{}, "")
		}
	}
	other := func(id string, kind byte) {
		if id == "" || id == ev.DistinctID || !p.takesPart(id, at) || !hasPerson {
			return
		}
		device := p.digest(id)
		p.fact(device, factSeen, idDigest{}, at, id)
		p.fact(person, factUser, idDigest{}, stamp{}, "")
		p.fact(device, kind, person, at, "")
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
func (p *LinksPlan) takesPart(id string, at stamp) bool {
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
	of.events++
	of.oldest = at.earlier(of.oldest)
	return false
}

// fact notes a fact, unless it was noted lately with a time that is not later.
func (p *LinksPlan) fact(id idDigest, kind byte, other idDigest, at stamp, text string) {
	if p.failed != nil {
		return
	}
	var key [factKey]byte
	copy(key[:], id[:])
	key[idKey] = kind
	copy(key[idKey+1:], other[:])
	if was, known := p.lately[key]; known && was.text == text && was.at.earlier(at) == was.at {
		return
	}
	const maxNoted, maxText = 1 << 13, 1 << 10
	if len(p.lately) >= maxNoted {
		clear(p.lately)
	}
	if len(text) <= maxText {
		p.lately[key] = noted{at, strings.Clone(text)} // of a record, which is not kept
	}
	p.failed = put(p.ids, func(room []byte) []byte {
		return append(append(append(room, key[:]...), at[:]...), text...)
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
	return put(to, func(room []byte) []byte { return append(append(room, p.at[:]...), text...) })
}

// stamp is a time in the order of its bytes.
type stamp [timeKey]byte

var never = stamp(bytes.Repeat([]byte{0xff}, timeKey))

func stampOf(at time.Time) (s stamp) {
	appendTime(s[:0], at)
	return s
}

func (s stamp) time() time.Time {
	return time.Unix(int64(binary.BigEndian.Uint64(s[:])^1<<63), int64(binary.BigEndian.Uint32(s[8:]))).UTC()
}

func (s stamp) earlier(other stamp) stamp {
	if bytes.Compare(other[:], s[:]) < 0 {
		return other
	}
	return s
}

// items are the items of a sorter that is finished, until *err has an error, which may be that of reading them. Each is
// valid until the next one.
func items(of *extsort.Sorter, err *error) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		failed := of.Read(0, func(item []byte, _ int64) bool { return *err == nil && yield(item) })
		*err = cmp.Or(*err, failed)
	}
}
