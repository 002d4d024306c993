package hogapitest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/ops"
)

// The default project and keys of a server.
const (
	DefaultProject     = "12345"
	DefaultPersonalKey = "phx_hogapitestPersonalKey000000000000000000000"
	DefaultProjectKey  = "phc_hogapitestProjectKey0000000000000000000000"
)

// Server is the fake service. It is safe for concurrent use.
type Server struct {
	settings

	mu         sync.Mutex
	projects   map[string]*Project
	keys       map[string][]string // with their scopes
	routes     []route
	scripts    map[hogapi.Op]*script
	calls      []*Call
	strange    []string          // requests that no route knows
	leaks      []string          // keys that came where they do not belong
	hosts      map[string]bool   // that personal keys were sent to
	signatures map[string]signed // of URLs of the storage
	ledger     ledgerBook
	quota      Quota
	reject     func(raw json.RawMessage) int
	rules      rules
	table      eventTable
	down       bool

	listener listener
}

// settings are set by the options and do not change later.
type settings struct {
	era               Era
	now               func() time.Time
	project           string
	personalKey       string
	projectKey        string
	member            bool
	emptyBodies       bool
	workingLogs       bool
	keyCheck          bool
	polls             int
	fileDownloadLimit int
	hogqlExports      bool
	shortIntervals    bool
	lateRows          int
	parquet           func(lines []byte, codec string) []byte
	runDelay          time.Duration
	noV1              bool
	dataDeletions     bool
	zone              *time.Location // of every project
	maxBatchEvents    int
	readsPerHour      int64
	propertyBytes     int64
	maxQueryBytes     int64
	maxQueryRows      int
}

// New returns a server of E4 with one project, [DefaultProject], and one key of each kind, unless
// options say otherwise. It starts nothing: see [Server.Transport] and [Server.URL].
func New(options ...Option) *Server {
	s := &Server{
		settings:   settings{era: E4, now: time.Now, polls: 3, zone: time.UTC},
		projects:   map[string]*Project{},
		keys:       map[string][]string{},
		hosts:      map[string]bool{},
		routes:     slices.Clone(routes),
		scripts:    map[hogapi.Op]*script{},
		signatures: map[string]signed{},
	}
	for _, option := range options {
		option(s)
	}
	s.project, s.projectKey = or(s.project, DefaultProject), or(s.projectKey, DefaultProjectKey)
	if s.personalKey == "" {
		WithPersonalKey(DefaultPersonalKey)(s)
	}
	s.Project(s.project)
	return s
}

// Project returns the project with this id, a number. It makes the project if it does not exist.
func (s *Server) Project(id string) *Project {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, ok := s.projects[id]; ok {
		return p
	}
	key := s.projectKey
	if id != s.project {
		key = "phc_hogapitestProject" + id
	}
	team, _ := strconv.Atoi(id)
	p := &Project{server: s, id: id, team: team, key: key}
	s.projects[id] = p
	return p
}

// Handle adds an endpoint below the projects' prefix, for calls that the fake does not know. The pattern is a
// path such as "/insights/{id}/". Calls of the endpoint have the operation [ops.Do]. The handler runs after the
// check of the key and the project.
func (s *Server) Handle(method, pattern string, handler http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.routes = append(s.routes, route{op: ops.Do, method: method, pattern: split(pattern), handler: handler})
}

// SetDown makes every request fail as if the service's host refused connections, until it is set to false again.
// Over sockets the listener is closed and opened again on the same port.
func (s *Server) SetDown(down bool) {
	s.mu.Lock()
	s.down = down
	s.mu.Unlock()
	s.listener.setDown(s, down)
}

// SetQuota puts events over or under the plan's limit: see [Quota].
func (s *Server) SetQuota(q Quota) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quota = q
}

// RejectEvents refuses events: if status returns a code other than 0 for the raw bytes of an event, its whole
// batch is answered with that code, for example 400. With 413, the other events of the batch are stored, as the
// service does; capture v1 then answers 200 and drops the event (event_too_big). The function must be safe for
// concurrent use. With nil, no event is refused.
func (s *Server) RejectEvents(status func(raw json.RawMessage) int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reject = status
}

// Close stops the listener, if one was started. The in-process transport continues to work.
func (s *Server) Close() { s.listener.close() }

// Era is an age of the service. The answers of the ages differ.
type Era int

const (
	// E1 is the age of PostHog's API reference: one backfill action, answers 200, nine statuses, config values come back as
	// strings, a filter by status is ignored, and a PATCH replaces the whole config of a destination. A walk in the order of
	// the intervals fails with 500 at a run without a start.
	E1 Era = 1
	// E4 is late 2026, today's: the backfills resource instead of the action, 201 for each create, dates for the backfills of
	// daily and weekly exports, an integration for nearly every destination, and no app metrics.
	E4 Era = 4
)

// String returns "E1" or "E4".
func (e Era) String() string { return "E" + strconv.Itoa(int(e)) }

// Quota says how the service treats events over the plan's limit.
type Quota int

// The kinds of quota.
const (
	QuotaFree   Quota = iota // all events are stored
	QuotaSilent              // all are dropped behind a plain 200 "Ok", as the service does
	QuotaListed              // all are dropped and the answer has a quota_limited list; v1 answers 402 to both
)

// split cuts a path into its segments; one trailing slash makes no difference.
func split(path string) []string {
	return strings.Split(strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/"), "/")
}
