package queries

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"
)

// Cost is the part of an answer about the bytes that queries read. The service debits them from an hourly budget of the
// project, which all its keys share.
type Cost struct {
	BytesRead  int64 // by the query
	BudgetLeft int64 // of the project
	IsKnown    bool  // the service has said so; servers of before September 2026 do not
}

// CostHeader is in every answer that says a cost.
const CostHeader = "X-Posthog-Query-Bytes-Read"

// CostOf reads the cost in the header of an answer.
func CostOf(header http.Header) (c Cost) {
	read, err := strconv.ParseInt(header.Get(CostHeader), 10, 64)
	left, other := strconv.ParseFloat(header.Get("X-PostHog-Query-Budget-Remaining-Bytes"), 64)
	return Cost{read, int64(left), err == nil && other == nil && read >= 0}
}

// ErrMaxRead is the error for a query that would read more than the caller allows.
var ErrMaxRead = errors.New("hogapi: MaxBytesRead is reached")

// budget is the known state of a project's budget.
type budget struct {
	left, highest int64 // bytes: now, and ever seen
	at            time.Time
	perHour       float64 // refill, as far as it was seen
	isAsked       bool    // a query was answered
	isKnown       bool
}

const (
	reserve   = 10          // a tenth of the budget is left to others
	maxHours  = 24          // of refill, that a budget has room for
	minSpan   = time.Minute // in which a refill is measured
	firstRead = 1_000_000   // bytes of the first query, which shows the budget
)

func (b *budget) note(c Cost, now time.Time) {
	b.isAsked = true
	if !c.IsKnown {
		return
	}
	if span := now.Sub(b.at); b.isKnown && span >= minSpan {
		b.perHour = max(b.perHour, float64(c.BudgetLeft+c.BytesRead-b.left)/span.Hours())
	}
	b.left, b.highest, b.at, b.isKnown = c.BudgetLeft, max(b.highest, c.BudgetLeft+c.BytesRead), now, true
}

// others is the tenth of an hour's budget, as far as it is known, that is left to others.
func (b *budget) others() int64 { return max(b.highest, int64(b.perHour)) / reserve }

// room is how many bytes may be read without others' tenth.
func (b *budget) room(now time.Time) int64 {
	return b.left + int64(b.perHour*now.Sub(b.at).Hours()) - b.others()
}

// most is how many bytes one query may read that can be divided: the room, but at least a tenth of an hour's budget.
func (b *budget) most(now time.Time) int64 {
	switch {
	case !b.isAsked:
		return firstRead
	case !b.isKnown:
		return math.MaxInt64
	}
	return max(b.room(now), b.others(), firstRead/reserve)
}

// pause is the time until there is room for a query. Where no refill was seen yet, the budget is looked at again after an hour.
func (b *budget) pause(bytes int64, now time.Time) time.Duration {
	perHour, longest := b.perHour, maxHours*time.Hour
	if perHour <= 0 {
		perHour, longest = max(float64(b.highest)/maxHours, 1), time.Hour
	}
	lack := min(bytes, max(b.highest, int64(maxHours*perHour))-b.others()) - b.room(now)
	if !b.isKnown || lack <= 0 {
		return 0
	}
	return min(time.Duration(float64(lack)/perHour*float64(time.Hour)), longest)
}
