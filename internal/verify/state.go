package verify

import (
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi/internal/uuidsum"
)

// State is the verdict on the counts of a cell. Smaller is better.
type State uint8

// The states.
const (
	Complete State = iota
	ByCounts
	CompleteUnconfirmed
	Unfinished // of a whole import only
	StillArriving
	Unknown
	Moved
	TooMany
	Missing
)

// Looks that must see the same count before a cell is called missing.
const (
	enoughLooks = 3         // with the same count
	enoughTime  = time.Hour // between the first and the last of them
)

// sight has the known facts about a cell after a look.
type sight struct {
	Acknowledged, Unconfirmed int64
	Seen, Copies              int64
	Sent, There               uuidsum.Sum // of the sent uuids and of the seen uuids, as far as they are known
	Hidden                    int64       // of all cells: events that counting cannot find, of which some may be in this one

	Failed      bool          // the look did not count it
	Uncountable bool          // the service does not keep events of this name as they were
	Unfinished  bool          // the import is not finished
	Grew        bool          // since the look before
	Looks       int           // that have seen the same count
	Stood       time.Duration // since the first of them
	Quiet       time.Duration // since the last acknowledgement
	Patience    time.Duration // how much of that it takes
}

// state returns the state of a cell by its counts. It never calls events missing that may still arrive, and calls a
// cell complete only if the sums of uuids prove it.
func (s sight) state() State {
	switch {
	case s.Failed, s.areOthers():
		return Unknown
	case s.Seen == s.Acknowledged+s.Unconfirmed && !s.hasSums():
		return ByCounts
	case s.Seen == s.Acknowledged+s.Unconfirmed:
		return Complete
	case s.Seen > s.Acknowledged+s.Unconfirmed && s.Unfinished:
		return Unknown
	case s.Seen > s.Acknowledged+s.Unconfirmed:
		return TooMany
	case s.Seen >= s.Acknowledged:
		return CompleteUnconfirmed
	case s.Uncountable:
		return Unknown
	case s.canArrive():
		return StillArriving
	case s.Acknowledged-s.Seen <= s.Hidden, s.mayShareUUIDs():
		return Unknown
	}
	return Missing
}

// hasSums reports whether the sums are of all uuids that were sent, and of all that were seen.
func (s sight) hasSums() bool { return s.Sent.N == s.Acknowledged+s.Unconfirmed && s.There.N == s.Seen }

// areOthers reports whether the project shows as many uuids as were sent, but other ones.
func (s sight) areOthers() bool {
	return s.Seen == s.Acknowledged+s.Unconfirmed && s.hasSums() && !s.Sent.IsSame(s.There)
}

// mayShareUUIDs reports whether events with equal uuids, which count once, can be all that a cell lacks.
func (s sight) mayShareUUIDs() bool { return s.Seen < s.Acknowledged && s.Copies >= s.Acknowledged }

// canArrive reports whether absent events may still arrive.
func (s sight) canArrive() bool {
	return s.Grew || s.Quiet < s.Patience || s.Looks < enoughLooks || s.Stood < enoughTime
}

// uncountable are names of events that the service drops, changes or keeps elsewhere.
var uncountable = []string{"$$client_ingestion_warning", "$$heatmap", "$exception", "$feature_flag_called", "$performance_event"}

// isUncountable reports whether counting misses events of a name.
func isUncountable(name string) bool {
	_, found := slices.BinarySearch(uncountable, name)
	return found || strings.HasPrefix(name, "$ai_")
}

// standing says since when, and in how many looks, a cell has had its count.
type standing struct {
	Seen  int64     `json:"seen"`
	Since time.Time `json:"since"` // of the first look that saw it
	Looks int       `json:"looks"` // that saw it; 0: no look has counted the cell yet
}

// Next returns the standing after a look, and whether the cell grew.
func (s standing) Next(seen int64, now time.Time) (next standing, grew bool) {
	if s.Looks > 0 && s.Seen == seen {
		s.Looks++
		return s, false
	}
	return standing{Seen: seen, Since: now, Looks: 1}, s.Looks > 0 && seen > s.Seen
}
