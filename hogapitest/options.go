package hogapitest

import (
	"slices"
	"time"
)

// Option sets up a [Server].
type Option func(*Server)

// WithProject sets the id of the default project, a number. Further ones come with [Server.Project].
func WithProject(id string) Option { return func(s *Server) { s.project = id } }

// WithPersonalKey adds a personal API key with its scopes, by default all. [Server.Client] uses the first key.
func WithPersonalKey(key string, scopes ...string) Option {
	return func(s *Server) {
		if s.personalKey == "" {
			s.personalKey = key
		}
		if len(scopes) == 0 {
			scopes = []string{"*"}
		}
		s.keys[key] = slices.Clone(scopes)
	}
}

// WithProjectKey sets the capture key of the default project.
func WithProjectKey(key string) Option { return func(s *Server) { s.projectKey = key } }

// WithClock replaces time.Now, for the 7-day window, the 48-hour rule, every created_at and the Date header.
func WithClock(now func() time.Time) Option { return func(s *Server) { s.now = now } }

// WithTime starts the clock of the server, and of the clients that it makes, at a time. In a
// [testing/synctest] bubble time.Now begins in the year 2000, so without this option events of later
// years are refused as future events.
func WithTime(start time.Time) Option {
	began := time.Now()
	return WithClock(func() time.Time { return start.Add(time.Since(began)) })
}

// WithEra selects the generation of the service. The default is [E4].
func WithEra(e Era) Option { return func(s *Server) { s.era = e } }

// WithOldService is WithEra(E1).
func WithOldService() Option { return WithEra(E1) }

// WithMember makes the user of the personal keys a plain member of the projects, who may not change or delete integrations.
func WithMember() Option { return func(s *Server) { s.member = true } }

// WithEmptyBodies leaves out the bodies that PostHog's API reference does not list: of actions, logs and app metrics.
func WithEmptyBodies() Option { return func(s *Server) { s.emptyBodies = true } }

// WithWorkingLogs makes logs of exports and of runs, and the error details of app metrics, work in each era that has them. Without
// it older eras refuse every personal key there (403), and the logs of a run fail in the newest (500), as the service does.
func WithWorkingLogs() Option { return func(s *Server) { s.workingLogs = true } }

// WithPolls sets how many reads a new run needs to come to its end: at 1 it is shown as Starting once and is over at
// the next read; each further one adds a Running in between. The default is 3.
func WithPolls(n int) Option { return func(s *Server) { s.polls = max(n, 1) } }

// WithFileDownloadLimit sets how many file downloads of a project may be under way; one more is answered 429
// too_many_concurrent_file_downloads. The default is no limit.
func WithFileDownloadLimit(n int) Option { return func(s *Server) { s.fileDownloadLimit = n } }

// WithHogQLExports turns on the flag of the model hogql for file downloads, without which they are refused (403).
func WithHogQLExports() Option { return func(s *Server) { s.hogqlExports = true } }

// WithDataDeletions enables requests to delete events, which are answered 403 without it, as in most projects. Their rates (10 an hour, 5
// previews a minute) are not limited: [RateLimit] scripts that.
func WithDataDeletions() Option { return func(s *Server) { s.dataDeletions = true } }

// WithRunDelay sets how long after a request, or after the run before it, a backfill's or a retry's next run begins. The
// default is at once.
func WithRunDelay(d time.Duration) Option { return func(s *Server) { s.runDelay = d } }

// WithLateRows hides a new backfill from the first n reads of it, one by one or in a list, since the service writes the row a
// moment later.
func WithLateRows(n int) Option { return func(s *Server) { s.lateRows = n } }

// WithTimezone sets the time zone of every project, in which a query sees a timestamp and reads a text without a zone. The default is UTC.
func WithTimezone(zone *time.Location) Option { return func(s *Server) { s.zone = zone } }

// WithoutV1 leaves capture v1 out, as on a self-hosted server and before E3: 404 without JSON.
func WithoutV1() Option { return func(s *Server) { s.noV1 = true } }

// WithMaxBatchEvents answers 413 to batches of more than n events. The service has no such limit; tests of splitting need one.
func WithMaxBatchEvents(n int) Option { return func(s *Server) { s.maxBatchEvents = n } }

// WithCompactLedger keeps hashes of stored events instead of their bytes, and no bodies of capture calls: for imports of a million events.
// Queries then know no property but $import_job_id.
func WithCompactLedger() Option { return func(s *Server) { s.ledger.compact = true } }
