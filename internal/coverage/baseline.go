package coverage

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// ClocksApart is the greatest difference between the clocks of the service's machines. It only
// bounds the reading: rows that existed before a request are known by their ids.
const ClocksApart = time.Minute

// ZonesApart is the greatest error of times on old servers, which read them in the project's zone.
const ZonesApart = 24 * time.Hour

// Baseline describes the rows that existed before a request.
type Baseline struct {
	Since  time.Time   // rows created earlier existed before
	Known  []uuid.UUID // rows created since that existed before
	OfRuns bool        // the service has no backfill records: every new run of the range counts

	Running []uuid.UUID // of runs: the ones under way
}

// BaselineOf makes a baseline of a page of rows, newest first. It keeps the ids of the last
// minute's rows, since a slow clock may put a later row among them.
func BaselineOf[R any](page []R, isLast bool, key func(R) (uuid.UUID, time.Time)) (b Baseline) {
	for i, row := range page {
		id, created := key(row)
		if i == 0 {
			b.Since = created.Add(-ClocksApart)
		}
		if created.Before(b.Since) {
			return b
		}
		b.Known = append(b.Known, id)
		if i == len(page)-1 && !isLast {
			b.Since = created // further rows of this minute would all be older
		}
	}
	return b
}

func (b Baseline) isNew(id uuid.UUID, created time.Time) bool {
	return !created.Before(b.Since) && !slices.Contains(b.Known, id)
}
