package hogapitest

import (
	"slices"
	"time"
)

// Option configures a [Server].
type Option func(*Server)

// WithProject sets the id of the default project, a number. [Server.Project] makes further projects.
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

// WithTime starts the clock of the server, and of the clients that it makes, at a time. In a [testing/synctest]
// bubble, time.Now begins in the year 2000, so without this option later events are refused as future events.
func WithTime(start time.Time) Option {
	began := time.Now()
	return WithClock(func() time.Time { return start.Add(time.Since(began)) })
}

// WithEra selects the age of the service: [E1] or [E4], which is the default.
func WithEra(e Era) Option { return func(s *Server) { s.era = e } }

// WithOldService is WithEra(E1).
func WithOldService() Option { return WithEra(E1) }

// WithMember makes the user of the personal keys a plain member of the projects, who may not change or delete integrations.
func WithMember() Option { return func(s *Server) { s.member = true } }

// WithEmptyBodies leaves out the bodies that PostHog's API reference does not list: of actions, logs and app metrics.
func WithEmptyBodies() Option { return func(s *Server) { s.emptyBodies = true } }

// WithWorkingLogs makes the logs of exports and of runs, and the error details of app metrics, work in each era
// that has them. By default, E1 refuses them to every personal key (403), and E4 fails for
// the logs of a run (500), as the service does.
func WithWorkingLogs() Option { return func(s *Server) { s.workingLogs = true } }

// WithPolls sets the number of reads before a new run ends: with 1, the first read shows it as Starting and the
// second one as ended; each further read in between shows it as Running. The default is 3.
func WithPolls(n int) Option { return func(s *Server) { s.polls = max(n, 1) } }

// WithFileDownloadLimit sets how many file downloads of a project may be under way; one more is answered 429
// too_many_concurrent_file_downloads. The default is no limit.
func WithFileDownloadLimit(n int) Option { return func(s *Server) { s.fileDownloadLimit = n } }

// WithHogQLExports enables the model hogql for exports and file downloads, which E4 refuses otherwise (403).
func WithHogQLExports() Option { return func(s *Server) { s.hogqlExports = true } }

// WithShortIntervals enables the intervals below an hour, which E4 refuses otherwise (403).
func WithShortIntervals() Option { return func(s *Server) { s.shortIntervals = true } }

// WithDataDeletions enables requests to delete events. By default they are answered 403, as in most projects.
// Their rates (10 an hour, 5 previews a minute) are not limited: use [RateLimit].
func WithDataDeletions() Option { return func(s *Server) { s.dataDeletions = true } }

// WithRunDelay sets the time from a request, or from the end of the run before, until a backfill or a retry
// begins its next run. The default is 0.
func WithRunDelay(d time.Duration) Option { return func(s *Server) { s.runDelay = d } }

// WithLateRows hides a new backfill from its first n reads, alone or in a list, since the service writes the
// row a moment after the request.
func WithLateRows(n int) Option { return func(s *Server) { s.lateRows = n } }

// WithParquet makes the files of file downloads in the format Parquet of their lines of JSON, with a codec or "". The
// default is files of these lines, since this package has no writer of Parquet.
func WithParquet(write func(lines []byte, codec string) []byte) Option {
	return func(s *Server) { s.parquet = write }
}

// WithTimezone sets the time zone of every project, in which queries show timestamps and read times without a
// zone. The default is UTC.
func WithTimezone(zone *time.Location) Option { return func(s *Server) { s.zone = zone } }

// WithNewerEvents keeps events in PostHog's newer table, which merges copies only if their times are equal: a second
// import with corrected times doubles its events there. By default copies of one day merge.
func WithNewerEvents() Option { return func(s *Server) { s.table.isNewer = true } }

// WithoutV1 turns off capture v1, as on self-hosted servers and in E1: it answers 404 without JSON.
func WithoutV1() Option { return func(s *Server) { s.noV1 = true } }

// WithKeyCheck makes capture refuse project keys that nobody has (401), as a server can be set to. By default, it
// answers 200 and drops the events.
func WithKeyCheck() Option { return func(s *Server) { s.keyCheck = true } }

// WithMaxBatchEvents answers 413 to batches of more than n events. The service has no such limit; tests of splitting need one.
func WithMaxBatchEvents(n int) Option { return func(s *Server) { s.maxBatchEvents = n } }

// WithCompactLedger keeps hashes of stored events instead of their bytes, and no bodies of capture calls, for
// imports of a million events. Queries then know only the property $import_job_id.
func WithCompactLedger() Option { return func(s *Server) { s.ledger.compact = true } }

// WithReadBudget debits each query by the bytes that it reads, from an hourly budget of its project, and answers with the
// service's two headers. The budget begins with the worth of a day; once it is spent, queries are answered 429
// api_queries_budget_exceeded. The properties of an event have perEvent bytes, by default 1,000.
func WithReadBudget(perHour, perEvent int64) Option {
	return func(s *Server) { s.readsPerHour, s.propertyBytes = perHour, perEvent }
}

// WithQueryMemory answers 513 to queries that read more than so many rows of events: they have run out of memory.
func WithQueryMemory(rows int) Option { return func(s *Server) { s.maxQueryRows = rows } }

// WithQueryBytes answers 400 too_many_bytes to queries that read more than so many bytes: see [WithReadBudget].
func WithQueryBytes(bytes int64) Option { return func(s *Server) { s.maxQueryBytes = bytes } }
