package formats

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hogapi/hogapi/internal/extsort"
)

// Report finds the links and returns the report of them. Call it once, after the last event.
func (p *LinksPlan) Report(ctx context.Context) (report LinksReport, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed != nil {
		return report, p.failed
	}
	p.lately = nil
	if err = p.ids.Finish(ctx, nil); err != nil {
		return report, err
	}
	edges, uses, err := p.split(ctx)
	if err != nil {
		return report, err
	}
	roots, err := p.stars(ctx, edges)
	if err != nil {
		return report, err
	}
	devices, err := p.usersOfDevices(ctx, uses, roots)
	if err != nil {
		return report, err
	}
	members, err := p.members(ctx, devices, roots)
	if err != nil {
		return report, err
	}
	return p.persons(ctx, members)
}

// step sorts what a function puts.
func (p *LinksPlan) step(ctx context.Context, name string, key int, fill func(to *extsort.Sorter, failed *error)) (*extsort.Sorter, error) {
	to, err := p.dir.sorter(name, key, stepMemory)
	if err != nil {
		return nil, err
	}
	if fill(to, &err); err != nil {
		return nil, err
	}
	return to, to.Finish(ctx, nil)
}

// split takes from the facts the edges between ids of one person, the larger digest first, and the uses of anonymous ids: the
// digest of the user, that of the anonymous id, whether it is an id of a person too, and the time.
func (p *LinksPlan) split(ctx context.Context) (edges, uses *extsort.Sorter, err error) {
	edges, err = p.step(ctx, "edges", edgeKey, func(to *extsort.Sorter, failed *error) {
		var of partners
		for item := range items(p.ids, failed) {
			id, other := idDigest(item[:idKey]), idDigest(item[idKey+1:factKey])
			if id != of.id {
				*failed = of.putAlias(to)
				of = partners{id: id}
			}
			switch kind := item[idKey]; kind {
			case factStrong:
				*failed = errors.Join(*failed, putEdge(to, id, other))
			case factWeak, factAlias:
				of.add(kind, other)
			}
		}
		if *failed == nil {
			*failed = of.putAlias(to)
		}
	})
	if err != nil {
		return nil, nil, err
	}
	uses, err = p.step(ctx, "uses", idKey, func(to *extsort.Sorter, failed *error) {
		var last idDigest
		isPerson := byte(0)
		for item := range items(p.ids, failed) {
			id, kind := item[:idKey], item[idKey]
			if last != idDigest(id) {
				last, isPerson = idDigest(id), 0
			}
			switch kind {
			case factStrong, factNamed, factUser:
				isPerson = 1
			case factWeak, factAlias:
				*failed = putAll(to, item[idKey+1:factKey], id, []byte{isPerson}, item[factKey:])
			}
		}
	})
	return edges, uses, err
}

// partners are the ids that an id is an alias or the anonymous id of.
type partners struct {
	id, only          idDigest
	isAlias, hasOther bool
}

func (p *partners) add(kind byte, other idDigest) {
	p.hasOther = p.hasOther || p.only != (idDigest{}) && p.only != other
	p.only, p.isAlias = other, p.isAlias || kind == factAlias
}

// putAlias puts an edge if the id is the alias of one id, which nobody else uses.
func (p *partners) putAlias(to *extsort.Sorter) error {
	if !p.isAlias || p.hasOther {
		return nil
	}
	return putEdge(to, p.id, p.only)
}

// putEdge puts an edge from the larger digest to the smaller one.
func putEdge(to *extsort.Sorter, a, b idDigest) error {
	if bytes.Compare(a[:], b[:]) < 0 {
		a, b = b, a
	}
	return putAll(to, a[:], b[:])
}

func putAll(to *extsort.Sorter, parts ...[]byte) error {
	return put(to, func(room []byte) []byte {
		for _, part := range parts {
			room = append(room, part...)
		}
		return room
	})
}

// stars finds the persons that edges make: it returns an edge from each digest to the smallest of its person. It runs the
// algorithm of large and small stars (Kiveris et al., Connected Components in MapReduce and Beyond, 2014) until nothing changes.
func (p *LinksPlan) stars(ctx context.Context, edges *extsort.Sorter) (*extsort.Sorter, error) {
	for round := 0; edges.State().Read > 0; round++ {
		both, err := p.step(ctx, fmt.Sprintf("both-%d", round), edgeKey, func(to *extsort.Sorter, failed *error) {
			for item := range items(edges, failed) {
				if *failed = putAll(to, item[:idKey], item[idKey:]); *failed == nil {
					*failed = putAll(to, item[idKey:], item[:idKey])
				}
			}
		})
		if err != nil {
			return nil, err
		}
		large, err := p.star(ctx, fmt.Sprintf("large-%d", round), both, func(node, least, to idDigest) (from, onto idDigest, isEdge bool) {
			if bytes.Compare(node[:], least[:]) < 0 {
				least = node
			}
			return to, least, bytes.Compare(to[:], node[:]) > 0
		})
		if err != nil {
			return nil, err
		}
		small, err := p.star(ctx, fmt.Sprintf("small-%d", round), large, func(node, least, to idDigest) (from, onto idDigest, isEdge bool) {
			if to == least {
				return node, least, true
			}
			return to, least, true
		})
		if err != nil {
			return nil, err
		}
		if small.Digest() == edges.Digest() {
			return small, nil
		}
		edges = small
	}
	return edges, nil
}

// star calls change with each edge of each node, and the least neighbour of the node.
func (p *LinksPlan) star(ctx context.Context, name string, edges *extsort.Sorter, change func(node, least, to idDigest) (from, onto idDigest, isEdge bool)) (*extsort.Sorter, error) {
	return p.step(ctx, name, edgeKey, func(sorted *extsort.Sorter, failed *error) {
		var node, least, last idDigest
		isFirst := true
		for item := range items(edges, failed) {
			from, to := idDigest(item[:idKey]), idDigest(item[idKey:])
			switch {
			case isFirst || from != node:
				node, least = from, to
			case to == last:
				continue
			}
			isFirst, last = false, to
			if a, b, isEdge := change(node, least, to); isEdge {
				*failed = putAll(sorted, a[:], b[:])
			}
		}
	})
}

// rootOf is the smallest digest of the person of an id.
func (c *cursor) rootOf(id []byte) []byte {
	for c.item != nil && bytes.Compare(c.item[:idKey], id) < 0 {
		c.advance()
	}
	if c.item != nil && bytes.Equal(c.item[:idKey], id) {
		return c.item[idKey:edgeKey]
	}
	return id
}

// usersOfDevices sorts the uses by the anonymous id: its digest, the root of the user, whether it is an id of a person too, and the
// time.
func (p *LinksPlan) usersOfDevices(ctx context.Context, uses, roots *extsort.Sorter) (*extsort.Sorter, error) {
	return p.step(ctx, "devices", edgeKey, func(to *extsort.Sorter, failed *error) {
		c := newCursor(roots, failed)
		defer c.stop()
		for item := range items(uses, failed) {
			root := c.rootOf(item[:idKey])
			if *failed == nil {
				*failed = putAll(to, item[idKey:edgeKey], root, item[edgeKey:])
			}
		}
	})
}

// use is what is known about the uses of an anonymous id.
type use struct {
	id       idDigest
	isPerson bool
	users    int
	root     idDigest // of the first user
	at       moment   // when it used the id first
	last     idDigest
}

func (m moment) time() time.Time { return time.Unix(m.unix, int64(m.nanos)) }

func (m moment) before(other moment) bool {
	return m.unix < other.unix || m.unix == other.unix && m.nanos < other.nanos
}

// add adds a use by a user. The users come in the order of their roots.
func (u *use) add(root idDigest, at moment) {
	if u.users == 0 || at.before(u.at) {
		u.root, u.at = root, at
	}
	if u.users == 0 || root != u.last {
		u.users++
	}
	u.last = root
}

// Why an anonymous id is left out, in a member.
const (
	memberLinked = iota
	memberShared
	memberUser
)

// members returns the ids of the persons that have several: the digest of the id, that of the root, and why it is left out.
func (p *LinksPlan) members(ctx context.Context, devices, roots *extsort.Sorter) (*extsort.Sorter, error) {
	return p.step(ctx, "members", idKey, func(to *extsort.Sorter, failed *error) {
		member := func(id, root idDigest, why byte) {
			if *failed == nil {
				*failed = putAll(to, id[:], root[:], []byte{why})
			}
			if *failed == nil && why == memberLinked {
				*failed = putAll(to, root[:], root[:], []byte{why})
			}
		}
		for item := range items(roots, failed) {
			member(idDigest(item[:idKey]), idDigest(item[idKey:edgeKey]), memberLinked)
		}
		c := newCursor(roots, failed)
		defer c.stop()
		var u use
		end := func() {
			if u.users == 0 {
				return
			}
			switch own := idDigest(c.rootOf(u.id[:])); {
			case u.users == 1 && u.root == own: // it is an id of this person already
			case u.isPerson:
				member(u.id, idDigest{}, memberUser)
			case u.users > 1 && p.options.SharedDevices == SharedDevicesAlone:
				member(u.id, idDigest{}, memberShared)
			default:
				member(u.id, u.root, memberLinked)
			}
		}
		for item := range items(devices, failed) {
			if id := idDigest(item[:idKey]); u.users == 0 || id != u.id {
				end()
				u = use{id: id, isPerson: item[edgeKey] == 1}
			}
			u.add(idDigest(item[idKey:edgeKey]), momentOf(item[edgeKey+1:]))
		}
		end()
	})
}
