package formats

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"maps"
	"runtime"
	"slices"

	"github.com/hogapi/hogapi/internal/extsort"
)

// union are the persons of ids, which are numbered in the order of their digests.
type union struct {
	digests []idDigest // of the ids, ascending
	up      []int32    // another id of the person; the first id of a person has the number of its ids, with a minus
	marks   []byte
}

const bytesPerID = idKey + 4 + 1

// Marks of an id, and of the first id of a person.
const (
	isLeft    = 1 << iota // nobody gets it as a device
	hasBefore             // its person got a merge, or a device with a smaller digest
	hasAfter              // its person got a device with a larger digest

	isRepeated = isLeft | hasBefore | hasAfter
)

// find returns the number of an id.
func (u *union) find(id idDigest) int {
	at, _ := slices.BinarySearchFunc(u.digests, id, func(a, b idDigest) int { return bytes.Compare(a[:], b[:]) })
	return at
}

// first is the id of the same person with the smallest digest.
func (u *union) first(i int) int {
	for u.up[i] >= 0 {
		up := int(u.up[i])
		if u.up[up] >= 0 {
			u.up[i] = u.up[up]
		}
		i = up
	}
	return i
}

// join makes one person of two.
func (u *union) join(a, b int) {
	if a, b = u.first(a), u.first(b); a != b {
		a, b = min(a, b), max(a, b)
		u.add(a, b, hasBefore)
	}
}

// add adds a person to another one, which gets a mark.
func (u *union) add(to, from int, mark byte) {
	u.up[to] += u.up[from]
	u.up[from] = int32(to)
	u.marks[to] |= mark
}

// Report finds the links and returns the report of them. Call it once, after the last event.
func (p *LinksPlan) Report(ctx context.Context) (report LinksReport, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed != nil {
		return report, p.failed
	}
	p.lately, p.persons = nil, nil
	if err := p.ids.Finish(ctx, nil); err != nil {
		return report, err
	}
	u, err := p.union(ctx)
	if err != nil {
		return report, err
	}
	p.join(ctx, u)
	p.giveDevices(ctx, u)
	sorted, err := p.sorted(ctx, "persons", personKey, func(to *extsort.Sorter) { p.members(ctx, u, to) })
	if err != nil {
		return report, err
	}
	p.byTime, err = p.sorted(ctx, "times", timeKey, func(to *extsort.Sorter) { p.links(sorted, to, &report) })
	return report, err
}

// sorted sorts the records that fill adds.
func (p *LinksPlan) sorted(ctx context.Context, name string, key int, fill func(to *extsort.Sorter)) (*extsort.Sorter, error) {
	to, err := p.dir.sorter(name, key, linksMemory)
	if err != nil {
		return nil, err
	}
	if fill(to); p.failed != nil {
		return nil, p.failed
	}
	return to, to.Finish(ctx, nil)
}

// facts yields the facts about all ids with the numbers of the ids, and a factEnd after each id. It ends if the plan
// fails.
func (p *LinksPlan) facts(ctx context.Context) iter.Seq2[int, fact] {
	return func(yield func(int, fact) bool) {
		n, last := -1, idDigest{}
		for item := range items(p.ids, &p.failed) {
			if id := idDigest(item); n < 0 || id != last {
				if n >= 0 && !yield(n, fact{id: last, kind: factEnd}) {
					return
				}
				n, last = n+1, id
				p.failed = cmp.Or(p.failed, context.Cause(ctx))
			}
			if p.failed != nil || !yield(n, factOf(item)) {
				return
			}
		}
		if n >= 0 && p.failed == nil {
			yield(n, fact{id: last, kind: factEnd})
		}
	}
}

// union takes the memory for the ids, unless they are too many.
func (p *LinksPlan) union(ctx context.Context) (*union, error) {
	n := 0
	var text []byte
	for _, f := range p.facts(ctx) {
		switch f.kind {
		case factSeen:
			if len(text) > 0 && !bytes.Equal(text, f.text) {
				p.failed = errors.New("two ids have the same digest, so that their links would be those of one: import without links")
			}
			text = append(text[:0], f.text...)
		case factEnd:
			n, text = n+1, text[:0]
		}
	}
	if err := cmp.Or(p.failed, tooManyIDs(n, p.options.Memory)); err != nil {
		return nil, err
	}
	u := &union{make([]idDigest, n), make([]int32, n), make([]byte, n)}
	for i, f := range p.facts(ctx) {
		u.digests[i], u.up[i] = f.id, -1
	}
	return u, p.failed
}

// join makes one person of ids that always belong together, and of an id and its alias, if nobody else uses that.
func (p *LinksPlan) join(ctx context.Context, u *union) {
	alias, isAlias, isShared := -1, false, false
	for i, f := range p.facts(ctx) {
		switch f.kind {
		case factStrong:
			u.join(i, u.find(f.other))
		case factWeak, factAlias:
			other := u.find(f.other)
			isShared = isShared || alias >= 0 && alias != other
			alias, isAlias = other, isAlias || f.kind == factAlias
		case factEnd:
			if isAlias && !isShared {
				u.join(i, alias)
			}
			alias, isAlias, isShared = -1, false, false
		}
	}
}

// giveDevices gives each anonymous id to the person that used it, if it is one person.
func (p *LinksPlan) giveDevices(ctx context.Context, u *union) {
	user, isPerson, isShared := -1, false, false
	var since stamp
	for i, f := range p.facts(ctx) {
		switch f.kind {
		case factStrong, factNamed, factUser:
			isPerson = true
		case factWeak, factAlias:
			other := u.first(u.find(f.other))
			isShared = isShared || user >= 0 && user != other
			if order := bytes.Compare(f.at[:], since[:]); user < 0 || order < 0 || order == 0 && other < user {
				user, since = other, f.at
			}
		case factEnd:
			switch {
			case user < 0 || !isShared && user == u.first(i):
			case isPerson || isShared && p.options.SharedDevices == SharedDevicesAlone:
				u.marks[i] |= isLeft
			case i < user:
				u.add(user, i, hasBefore)
			default:
				u.add(user, i, hasAfter)
			}
			user, isPerson, isShared = -1, false, false
		}
	}
}

// A member begins with a key: the number of the first id of its person, from 1, the rank, why it is left out, and the time of the
// oldest event. Then follow 1 if it repeats a member, and the id.
const (
	personKey = 4 + 2 + timeKey

	rankNamed, rankUser, rankOther, rankLeft = byte(0), byte(1), byte(2), byte(3)
	memberLinked, memberShared, memberUser   = byte(0), byte(1), byte(2)
)

// members puts the ids of the persons that have several. The first one of a person is the one that others are linked to.
func (p *LinksPlan) members(ctx context.Context, u *union, to *extsort.Sorter) {
	var text []byte
	oldest, rank, why := never, rankOther, memberShared
	for i, f := range p.facts(ctx) {
		switch f.kind {
		case factStrong:
			why = memberUser
		case factNamed:
			rank, why = rankNamed, memberUser
		case factUser:
			rank, why = min(rank, rankUser), memberUser
		case factSeen:
			oldest, text = f.at.earlier(oldest), append(text[:0], f.text...)
		case factEnd:
			member := func(person int, rank, why, repeats byte) {
				p.failed = cmp.Or(p.failed, put(to, func(room []byte) []byte {
					room = append(binary.BigEndian.AppendUint32(room, uint32(person)), rank, why)
					return append(append(append(room, oldest[:]...), repeats), text...)
				}))
			}
			first, mark := u.first(i), u.marks[i]
			if mark&isLeft > 0 {
				member(0, rankLeft, why, 0)
			}
			if u.up[first] < -1 {
				member(first+1, rank, memberLinked, 0)
			}
			if i == first && why == memberUser && mark == isRepeated {
				member(first+1, rank, memberLinked, 1)
			}
			oldest, rank, why = never, rankOther, memberShared
		}
	}
	*u = union{}
	runtime.GC() // else the heap grows on top of what is free now, to twice the memory of the ids
}

// links makes the links of members, and the report.
func (p *LinksPlan) links(members, to *extsort.Sorter, report *LinksReport) {
	report.Left = map[string]int64{}
	add := func(link pair) { p.failed = cmp.Or(p.failed, putPair(to, link)) }
	for _, id := range slices.Sorted(maps.Keys(p.stands)) { // an import that resumes counts them in the same order
		of := p.stands[id]
		report.Left[SkipPlaceholder]++
		report.Placeholders = append(report.Placeholders, LeftOutID{ID: id, Events: of.events})
		add(pair{Anonymous: id, at: of.oldest, Skip: SkipPlaceholder})
	}
	slices.SortStableFunc(report.Placeholders, func(a, b LeftOutID) int { return cmp.Compare(b.Events, a.Events) })
	var number uint32 // of the person
	var main pair
	var person LinkedPerson
	for item := range items(members, &p.failed) {
		link := pair{Anonymous: string(item[personKey+1:]), at: stamp(item[personKey-timeKey:])}
		if item[4] == rankLeft {
			link.Skip = SkipSharedDevice
			if item[5] == memberUser {
				link.Skip = SkipUserDevice
			}
			report.Left[link.Skip]++
			add(link)
			continue
		}
		isRepeated := item[personKey] == 1
		if of := binary.BigEndian.Uint32(item); of != number {
			report.add(person)
			number, main, person = of, pair{User: link.Anonymous, at: link.at}, LinkedPerson{ID: link.Anonymous, IDs: 1}
			continue
		}
		link.User, link.at = main.User, link.at.earlier(main.at)
		if isRepeated {
			link.Skip = SkipRepeated
		} else if person.IDs++; len(person.Others) < maxOthers {
			person.Others = append(person.Others, link.Anonymous)
		}
		add(link)
	}
	report.add(person)
}
