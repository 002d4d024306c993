package coverage

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// ClocksApart is how far the clocks of the service's own machines may be apart. It only bounds what
// is read: what is there before a request is known by its ids.
const ClocksApart = time.Minute

// ZonesApart is how far a time can be off on old servers, which read it in the project's zone.
const ZonesApart = 24 * time.Hour

// Baseline is what was there before a request.
type Baseline struct {
	Since  time.Time   // what was created earlier was there before
	Known  []uuid.UUID // created since, and there before
	OfRuns bool        // the service keeps no records of backfills: every new run of the range counts

	Running []uuid.UUID // of runs: those that were under way
}

// BaselineOf is what a page of rows shows, the newest first. The rows of the last minute are kept by
// their ids, since a slow clock may put a later row among them.
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
			b.Since = created // there may be more of the same minute, all of them older
		}
	}
	return b
}

// isNew reports whether a row was not there before.
func (b Baseline) isNew(id uuid.UUID, created time.Time) bool {
	return !created.Before(b.Since) && !slices.Contains(b.Known, id)
}
