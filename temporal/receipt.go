package hogtemporal

import (
	"cmp"
	"slices"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/ledger"
	"github.com/hogapi/hogapi/internal/uuidsum"
)

// maxRows is the number of rows of Days that an import keeps in Temporal. A longer table is rolled up to months, and
// then to names.
const maxRows = 1000

const maxShared = 5

func add(total, shard hogapi.Receipt) hogapi.Receipt {
	if total.Digest == "" {
		total.First, total.Source, total.Protocol, total.Finished = shard.First, shard.Source, shard.Protocol, true
	}
	total.Read += shard.Read
	total.Acknowledged += shard.Acknowledged
	total.Rejected += shard.Rejected
	total.Unconfirmed += shard.Unconfirmed
	total.Skipped += shard.Skipped
	total.Pending += shard.Pending
	total.Resent += shard.Resent
	total.ResentAtLeast = total.ResentAtLeast || shard.ResentAtLeast
	total.Finished = total.Finished && shard.Finished
	total.Protocol = cmp.Or(total.Protocol, shard.Protocol)
	total.Digest = addDigests[ledger.Digest](total.Digest, shard.Digest)
	if total.First.IsZero() {
		total.First = shard.First
	}
	if !shard.Last.IsZero() {
		total.Last = shard.Last
	}
	if shard.Acknowledged > 0 {
		if total.Oldest.IsZero() || shard.Oldest.Before(total.Oldest) {
			total.Oldest = shard.Oldest
		}
		if shard.Newest.After(total.Newest) {
			total.Newest = shard.Newest
		}
	}
	if shard.LastAcknowledged.After(total.LastAcknowledged) {
		total.LastAcknowledged = shard.LastAcknowledged
	}
	total.Rejects = addCounts(total.Rejects, shard.Rejects)
	total.Skips = addCounts(total.Skips, shard.Skips)
	total.Warnings = addCounts(total.Warnings, shard.Warnings)
	total.SharedUUIDs = append(slices.Clip(total.SharedUUIDs), shard.SharedUUIDs...)
	total.SharedUUIDs = total.SharedUUIDs[:min(maxShared, len(total.SharedUUIDs))]
	total.Days = addDays(total.Days, shard.Days)
	return total
}

func addCounts[K comparable](total, more map[K]int64) map[K]int64 {
	sum := map[K]int64{}
	for _, m := range []map[K]int64{total, more} {
		for k, n := range m {
			sum[k] += n
		}
	}
	return sum
}

// addDigests adds two digests as S reads them. The empty one is 0. One in another form counts as no uuids, which differs
// from the count next to it.
func addDigests[S any, P interface {
	*S
	Add(S)
	UnmarshalText(text []byte) error
	String() string
}](a, b string) string {
	var sum, more S
	_ = P(&sum).UnmarshalText([]byte(a))
	_ = P(&more).UnmarshalText([]byte(b))
	P(&sum).Add(more)
	return P(&sum).String()
}

// addDays adds two tables. The sum has the coarser periods of the two, as [event.DayCount] describes them.
func addDays(a, b []event.DayCount) []event.DayCount {
	length := min(periodOf(a), periodOf(b))
	for {
		sum := sumDays(slices.Concat(a, b), length)
		switch {
		case len(sum) <= maxRows:
			return sum
		case length > len("2006-01"):
			length = len("2006-01")
		case length > 0:
			length = 0
		default: // all names after the first ones count as one
			rest := sum[maxRows-1:]
			for i := range rest {
				rest[i].Day, rest[i].Event = ledger.Other, ledger.Other
			}
			return sumDays(sum, length)
		}
	}
}

// periodOf returns the length of the table's dates in bytes: a whole date, a month, or zero.
func periodOf(rows []event.DayCount) int {
	length := len("2006-01-02")
	for _, r := range rows {
		if r.Day == "" && r.Acknowledged+r.Unconfirmed == 0 { // rejects without a time have no day in any table
			continue
		}
		if r.Day == ledger.Other {
			return 0
		}
		length = min(length, len(r.Day))
	}
	return length
}

func sumDays(rows []event.DayCount, length int) []event.DayCount {
	type cell struct{ day, event string }
	sums := map[cell]event.DayCount{}
	for _, r := range rows {
		day := r.Day
		if day != ledger.Other {
			day = day[:min(length, len(day))]
		}
		c := cell{day, r.Event}
		s := sums[c]
		sums[c] = event.DayCount{
			Day: day, Event: r.Event, Acknowledged: s.Acknowledged + r.Acknowledged, Rejected: s.Rejected + r.Rejected, Unconfirmed: s.Unconfirmed + r.Unconfirmed,
			Digest: addDigests[uuidsum.Sum](s.Digest, r.Digest),
		}
	}
	list := make([]event.DayCount, 0, len(sums))
	for _, r := range sums {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b event.DayCount) int { // the row of all further names is the last one: digits come before letters
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Event, b.Event))
	})
	return list
}
