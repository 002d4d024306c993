package hogapitest

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
)

// Projects returns the server's projects in the order of their ids.
func (s *Server) Projects() []*Project {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*Project
	for _, p := range s.projects {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *Project) int { return cmp.Or(cmp.Compare(a.team, b.team), cmp.Compare(a.id, b.id)) })
	return all
}

// Backfill shows a backfill or a retry.
type Backfill struct {
	ID         uuid.UUID
	Status     hogapi.RunStatus
	Start, End time.Time // a zero Start is the beginning of time
	Created    time.Time
	Intervals  int  // to cover
	Begun      int  // of them
	Retry      bool // of one run
}

// Backfills shows the backfills and retries of an export, oldest first. Looking at them here moves nothing.
func (p *Project) Backfills(exportID uuid.UUID) []Backfill {
	all := func() []*backfill {
		if i := slices.IndexFunc(p.exports, func(e *export) bool { return e.ID == exportID }); i >= 0 {
			return p.exports[i].backfills
		}
		return nil
	}
	return seen(p, all, func(b *backfill) Backfill {
		x := b.Backfill
		x.Intervals = len(b.intervals)
		return x
	})
}

// Dashboards shows the project's dashboards, in the order of their making.
func (p *Project) Dashboards() []Dashboard {
	return seen(p, func() []Dashboard { return p.dashboards }, func(d Dashboard) Dashboard { return d })
}
