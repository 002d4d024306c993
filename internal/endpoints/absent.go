package endpoints

import (
	"sync"
	"time"
)

// Absent remembers which routes a server does not have, for the clients that share it. It forgets a route after an hour,
// since servers are updated. Its zero value is empty.
type Absent struct {
	mu    sync.Mutex
	found map[string]time.Time // by path, from the API's path on
}

const absentFor = time.Hour

// Note remembers whether a route is absent.
func (a *Absent) Note(path string, isAbsent bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case !isAbsent:
		delete(a.found, path)
	case a.found == nil:
		a.found = map[string]time.Time{path: time.Now()}
	default:
		a.found[path] = time.Now()
	}
}

// Has reports whether a route was absent within the last hour.
func (a *Absent) Has(path string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	found, ok := a.found[path]
	return ok && time.Since(found) < absentFor
}
