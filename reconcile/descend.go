package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/narrow"
)

// cell is a bucket to be compared.
type cell struct {
	Part

	by     Bucket
	digest [2]Digest
}

func (x cell) keys() int64 { return max(x.digest[ofService].Keys, x.digest[ofDestination].Keys) }

// bucketKey names a bucket in an answer.
type bucketKey struct {
	at    time.Time
	slice string
}

// failure is a part of which a side has no digest.
type failure struct {
	Part

	err error
}

// descend finds the smallest buckets that differ.
func (c *comparison) descend(ctx context.Context, windows []Part) (differing []cell, err error) {
	days, err := c.compareDigests(ctx, windows, ByDay, "days")
	if err != nil {
		return nil, err
	}
	small, large := divide(days, c.listDays)
	hours, err := c.compareDigests(ctx, partsOf(large), ByHour, "hours")
	if err != nil {
		return nil, err
	}
	c.expect(large, hours)
	smallHours, largeHours := divide(hours, c.listHours)
	slicesOfHours, err := c.compareDigests(ctx, partsOf(largeHours), BySlice, "slices")
	if err != nil {
		return nil, err
	}
	c.expect(largeHours, slicesOfHours)
	return slices.Concat(small, smallHours, slicesOfHours), nil
}

// changed ends the reason for a part with inconsistent answers.
const changed = "the data changed while it was read, or a side contradicts itself"

func divide(cells []cell, most int64) (small, large []cell) {
	for _, x := range cells {
		if x.keys() <= most {
			small = append(small, x)
		} else {
			large = append(large, x)
		}
	}
	return small, large
}

func partsOf(cells []cell) (parts []Part) {
	for _, x := range cells {
		parts = append(parts, x.Part)
	}
	return parts
}

// expect calls a bucket unknown that differs while no part of it does: it has changed, or a side lies.
func (c *comparison) expect(cells, inner []cell) {
	for _, x := range cells {
		isFound := slices.ContainsFunc(inner, func(i cell) bool { return !i.From.Before(x.From) && !i.To.After(x.To) }) ||
			slices.ContainsFunc(c.report.Unknown, func(u Unknown) bool { return !u.From.Before(x.From) && !u.To.After(x.To) })
		if !isFound {
			c.unknown(x.Part, x.keys(), "the digests differ, but the digests of the parts do not: "+changed)
		}
	}
}

// compareDigests returns the buckets of the parts that differ.
func (c *comparison) compareDigests(ctx context.Context, parts []Part, by Bucket, step string) (differing []cell, err error) {
	if len(parts) == 0 {
		return nil, nil
	}
	var digests [2]map[bucketKey]Digest
	var failed []failure
	for side := range c.sides {
		c.step = Progress{Step: step, Done: side, Total: len(c.sides)}
		var failures []failure
		if digests[side], failures, err = c.digests(ctx, side, parts, by); err != nil {
			return nil, err
		}
		if by == ByDay {
			failures = append(failures, c.contradictions(side, parts, digests[side], failures)...)
		}
		for i := range failures {
			failures[i].err = fmt.Errorf("%s: %w", c.report.sideName(side), failures[i].err)
		}
		failed = append(failed, failures...)
	}
	for _, f := range failed {
		keys, why := c.knownKeys(digests, f.Part), errtext.WithoutPrefix(f.err).Error()
		if by == ByDay { // each of its days is unknown as a whole
			c.unknownThere(f.Part, keys, why)
			c.day(f.From).isUnknown = true
		} else {
			c.unknown(f.Part, keys, why)
		}
	}
	for _, x := range cellsOf(parts, digests, by) {
		isFailed := slices.ContainsFunc(failed, func(f failure) bool { return x.From.Before(f.To) && f.From.Before(x.To) })
		if by == ByDay {
			c.noteDay(x, isFailed)
		}
		service, there := x.digest[ofService], x.digest[ofDestination]
		switch {
		case isFailed:
		case service.differs(there):
			differing = append(differing, x)
		case there.Keys > 0: // not listed: rows arrive when they happen, most of them
			c.arrived[Span{x.From, x.To}] = true
		}
	}
	return differing, nil
}

// contradictions returns the parts for which a side has counted rows on a day without a digest: an answer was cut. Counts
// come in the order of time and digests in the opposite order, so a cut does not leave out the same days of both.
func (c *comparison) contradictions(side int, parts []Part, digests map[bucketKey]Digest, failed []failure) (more []failure) {
	for _, p := range parts {
		for day := dayOf(p.From); day.Before(p.To); day = day.Add(24 * time.Hour) {
			_, isThere := digests[bucketKey{at: day}]
			isFailed := slices.ContainsFunc(failed, func(f failure) bool { return day.Before(f.To) && f.From.Before(day.Add(24*time.Hour)) })
			if c.counted[side][day] > 0 && !isThere && !isFailed {
				why := fmt.Errorf("%w: %d rows on %s were counted but have no digest: an answer was cut, or the data changed while it was read",
					ErrCannotTell, c.counted[side][day], day.Format(time.DateOnly))
				more = append(more, failure{p, why})
				break
			}
		}
	}
	return more
}

// noteDay keeps the counts of a day.
func (c *comparison) noteDay(x cell, isFailed bool) {
	d := c.day(x.From)
	d.Service += x.digest[ofService].Keys
	d.Destination += x.digest[ofDestination].Rows
	there := x.digest[ofDestination]
	if over := there.Rows - there.Keys - there.Bad; over > 0 && !isFailed {
		c.over[dayOf(x.From)] += over
	}
	d.isUnknown = d.isUnknown || isFailed
	c.noTexts = c.noTexts || x.digest[ofService].NoText || there.NoText
	if there.Bad > 0 {
		c.bad[dayOf(x.From)] += there.Bad
		why := "%d rows of the destination have no uuid, name or distinct id that can be compared"
		c.unknownThere(x.Part, there.Bad, fmt.Sprintf(why, there.Bad))
	}
	if bad := x.digest[ofService].Bad; bad > 0 {
		c.unknown(x.Part, bad, fmt.Sprintf("%d rows of the service have no uuid that can be compared", bad))
	}
}

// cellsOf returns the buckets of both sides, in order.
func cellsOf(parts []Part, digests [2]map[bucketKey]Digest, by Bucket) (cells []cell) {
	keys := map[bucketKey]bool{}
	for side := range digests {
		for k := range digests[side] {
			keys[k] = true
		}
	}
	for k := range keys {
		x := cell{Part: Part{k.at, k.at.Add(by.Unit()), k.slice}, by: by}
		for _, p := range parts { // the first and the last day may be cut
			if x.From.Before(p.To) && p.From.Before(x.To) {
				x.From, x.To = narrow.Later(x.From, p.From), narrow.Earlier(x.To, p.To)
				break
			}
		}
		for side := range digests {
			x.digest[side] = digests[side][k]
		}
		cells = append(cells, x)
	}
	slices.SortFunc(cells, func(a, b cell) int {
		return cmp.Or(a.From.Compare(b.From), a.To.Compare(b.To), cmp.Compare(a.Suffix, b.Suffix))
	})
	return cells
}

// digests returns the digests of parts, and the parts that the side cannot tell.
func (c *comparison) digests(ctx context.Context, side int, parts []Part, by Bucket) (map[bucketKey]Digest, []failure, error) {
	all := map[bucketKey]Digest{}
	var failed []failure
	for chunk := range slices.Chunk(parts, c.partsOf(by)) {
		failures, err := c.digestInto(ctx, all, side, chunk, by)
		if err != nil {
			return nil, nil, err
		}
		failed = append(failed, failures...)
	}
	return all, failed, nil
}

// partsOf returns how many parts a question for digests may have, so that the answer has room.
func (c *comparison) partsOf(by Bucket) int {
	const slicesOfAnHour = 256
	switch by {
	case ByDay:
		return 1
	case BySlice:
		return max(1, min(maxParts, (c.maxRows-1)/slicesOfAnHour))
	default:
		return maxParts
	}
}

// digestInto asks for some parts, and for smaller ones where that is too much.
func (c *comparison) digestInto(ctx context.Context, all map[bucketKey]Digest, side int, parts []Part, by Bucket) ([]failure, error) {
	answer, err := c.askDigest(ctx, side, parts, by, 0)
	switch {
	case err == nil:
		for _, d := range answer {
			sum := all[bucketKey{d.At, d.Slice}]
			sum.plus(d)
			sum.At, sum.Slice = d.At, d.Slice
			all[bucketKey{d.At, d.Slice}] = sum
		}
		return nil, nil
	case !isOpen(err):
		return nil, err
	}
	if smaller := c.smaller(parts, by, err); smaller != nil {
		var failed []failure
		for _, some := range smaller {
			f, err := c.digestInto(ctx, all, side, some, by)
			if err != nil {
				return nil, err
			}
			if failed = append(failed, f...); len(f) > 0 && len(parts) == 1 && parts[0].halves(by.Unit()) == nil {
				break // a unit is known as a whole or not at all
			}
		}
		return failed, nil
	}
	p := parts[0]
	p.Suffix = ""
	for k := range all { // of its other slices
		if !k.at.Before(p.From.Truncate(by.Unit())) && k.at.Before(p.To) {
			delete(all, k)
		}
	}
	return []failure{{p, err}}, nil
}

// smaller divides a question: between its parts, then by time, then by uuids. It returns nil if there is no smaller one. One
// that failed for another reason than its size is divided down to a month only.
func (c *comparison) smaller(parts []Part, by Bucket, err error) [][]Part {
	const month, maxDigits = 31 * 24 * time.Hour, 2
	if n := len(parts); n > 1 {
		return [][]Part{parts[:n/2], parts[n/2:]}
	}
	if p := parts[0]; !errors.Is(err, ErrTooMuch) && (p.To.Sub(p.From) <= month || !c.hasRoom()) {
		return nil
	}
	return dividedBy(by.Unit(), maxDigits)(parts)
}

// hasRoom reports whether there are questions left.
func (c *comparison) hasRoom() bool {
	return c.queries[0] < c.MaxQueries && c.queries[1] < c.MaxQueries
}

// selection selects parts of a side, and from the service only the events that the exports send.
func (c *comparison) selection(side int, parts []Part) Selection {
	s := Selection{Parts: parts, rows: c.rowsOn(side, parts)}
	if side == ofService {
		s.Exports = c.Exports
	}
	return s
}

// rowsOn returns how many rows a side has on the days of some parts.
func (c *comparison) rowsOn(side int, parts []Part) (rows int64) {
	days := map[time.Time]bool{}
	for _, p := range parts {
		for day := dayOf(p.From); day.Before(p.To); day = day.Add(24 * time.Hour) {
			if !days[day] {
				days[day], rows = true, rows+c.counted[side][day]
			}
		}
	}
	return rows
}

// askDigest asks a side for digests. The try tells a second reading of the same part from the first.
func (c *comparison) askDigest(ctx context.Context, side int, parts []Part, by Bucket, try int) ([]Digest, error) {
	return ask(ctx, c, side, []any{"digest", parts, by, try}, func(s Side) ([]Digest, error) {
		answer, err := s.Digest(ctx, c.selection(side, parts), by)
		for i := range answer {
			answer[i].At = answer[i].At.UTC()
		}
		return answer, err
	}, func(answer []Digest) error { return checkDigests(answer, parts, by) })
}

// checkDigests refuses an answer that contradicts the question or itself.
func checkDigests(answer []Digest, parts []Part, by Bucket) error {
	seen := map[bucketKey]bool{}
	for _, d := range answer {
		k := bucketKey{d.At, d.Slice}
		isOf := slices.ContainsFunc(parts, func(p Part) bool {
			return d.At.Before(p.To) && p.From.Before(d.At.Add(by.Unit())) &&
				(by != BySlice || d.Slice[max(0, len(d.Slice)-len(p.Suffix)):] == p.Suffix)
		})
		isWhole := d.At.Equal(d.At.Truncate(by.Unit()))
		switch {
		case !isOf || !isWhole || (by == BySlice) != (len(d.Slice) == 2):
			return errors.New("the answer has rows outside the question")
		case seen[k]:
			return errors.New("the answer has a bucket twice")
		case d.Keys < 0 || d.Bad < 0 || d.Rows < d.Keys+d.Bad || d.Rows == 0 || d.Keys == 0 && d.Rows > d.Bad:
			return errors.New("the answer has counts that contradict each other")
		}
		seen[k] = true
	}
	return nil
}

// knownKeys returns how many keys a part has, as far as a side says it.
func (c *comparison) knownKeys(digests [2]map[bucketKey]Digest, p Part) (keys int64) {
	for side := range digests {
		var n int64
		for k, d := range digests[side] {
			if !k.at.Before(p.From.Truncate(24*time.Hour)) && k.at.Before(p.To) {
				n += d.Keys
			}
		}
		keys = max(keys, n)
	}
	return keys
}

// unknown notes rows that cannot be told.
func (c *comparison) unknown(p Part, rows int64, why string) {
	c.unknownThere(p, rows, why)
	c.day(p.From).unknown += rows
}

// unknownThere notes rows of the destination that cannot be told.
func (c *comparison) unknownThere(p Part, rows int64, why string) {
	c.report.Unknown = append(c.report.Unknown, Unknown{Part: p, Rows: rows, Why: mask.Clean(why)})
}
