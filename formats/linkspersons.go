package formats

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/hogapi/hogapi/internal/extsort"
)

// How good an id is for the one that others are linked to.
const (
	rankNamed = iota
	rankUser
	rankOther
	rankLeft // it is not linked
)

// person is the part of an item before the id: the root, a rank or why the id is left out, and the time of the oldest event.
const personKey = idKey + 2 + timeKey

// persons makes the links of the members, and returns the report of them.
func (p *LinksPlan) persons(ctx context.Context, members *extsort.Sorter) (report LinksReport, err error) {
	sorted, err := p.step(ctx, "persons", personKey, func(to *extsort.Sorter, failed *error) { p.name(to, members, failed) })
	if err != nil {
		return report, err
	}
	report.Left = map[string]int64{}
	p.byTime, err = p.step(ctx, "times", timeKey, func(to *extsort.Sorter, failed *error) {
		for _, id := range slices.Sorted(maps.Keys(p.stands)) { // an import that resumes counts them in the same order
			of := p.stands[id]
			report.Left[SkipPlaceholder]++
			report.Placeholders = append(report.Placeholders, LeftOutID{ID: id, Events: of.events})
			*failed = cmp.Or(*failed, putPair(to, pair{Anonymous: id, Unix: of.oldest.unix, Nanos: of.oldest.nanos, Skip: SkipPlaceholder}))
		}
		slices.SortStableFunc(report.Placeholders, func(a, b LeftOutID) int { return cmp.Compare(b.Events, a.Events) })
		var root idDigest
		var main pair
		var person LinkedPerson
		end := func() {
			if person.IDs > 1 {
				report.add(person)
			}
			person = LinkedPerson{}
		}
		for item := range items(sorted, failed) {
			at, id := momentOf(item[idKey+2:]), string(item[personKey:])
			if item[idKey] == rankLeft {
				left := pair{Anonymous: id, Unix: at.unix, Nanos: at.nanos, Skip: SkipSharedDevice}
				if item[idKey+1] == memberUser {
					left.Skip = SkipUserDevice
				}
				report.Left[left.Skip]++
				*failed = putPair(to, left)
				continue
			}
			if person.IDs == 0 || root != idDigest(item[:idKey]) {
				end()
				root, main = idDigest(item[:idKey]), pair{User: id, Unix: at.unix, Nanos: at.nanos}
				person = LinkedPerson{ID: id, IDs: 1}
				continue
			}
			if person.IDs++; len(person.Others) < mostOthers {
				person.Others = append(person.Others, id)
			}
			link := main
			if link.Anonymous = id; at.before(moment{main.Unix, main.Nanos}) {
				link.Unix, link.Nanos = at.unix, at.nanos
			}
			*failed = putPair(to, link)
		}
		end()
	})
	return report, err
}

// name sorts the members by their persons, the one that the others are linked to first, with their ids.
func (p *LinksPlan) name(to, members *extsort.Sorter, failed *error) {
	c := newCursor(members, failed)
	defer c.stop()
	var id named
	isFirst := true
	for item := range items(p.ids, failed) {
		if isFirst || id.digest != idDigest(item[:idKey]) {
			id.put(to, c, failed)
			id, isFirst = named{digest: idDigest(item[:idKey]), rank: rankOther, text: id.text[:0]}, false
		}
		id.add(item)
	}
	id.put(to, c, failed)
}

// named is an id and what is known about it.
type named struct {
	digest idDigest
	rank   byte
	oldest moment
	isSeen bool
	text   []byte
}

// add adds a fact.
func (n *named) add(item []byte) {
	switch item[idKey] {
	case factNamed:
		n.rank = rankNamed
	case factUser:
		n.rank = min(n.rank, rankUser)
	case factSeen:
		if at := momentOf(item[factKey:]); !n.isSeen || at.before(n.oldest) {
			n.oldest = at
		}
		if !n.isSeen {
			n.text = append(n.text, item[factKey+timeKey:]...)
		}
		n.isSeen = true
	}
}

// put sorts the id by its person, if it is a member of one, and notes if it is left out.
func (n *named) put(to *extsort.Sorter, members *cursor, failed *error) {
	if !n.isSeen {
		return
	}
	var last []byte
	for c := members; c.item != nil && *failed == nil; c.advance() {
		switch order := bytes.Compare(c.item[:idKey], n.digest[:]); {
		case order < 0 || bytes.Equal(last, c.item):
			continue
		case order > 0:
			return
		}
		last = append(last[:0], c.item...)
		rank, why := n.rank, c.item[edgeKey]
		if why != memberLinked {
			rank = rankLeft
		}
		*failed = put(to, func(room []byte) []byte {
			room = append(append(room, c.item[idKey:edgeKey]...), rank, why)
			return append(appendTime(room, n.oldest.time()), n.text...)
		})
	}
}
