// Package hogapitest is a fake of the service for the tests of programs that use [github.com/hogapi/hogapi].
//
//	func TestMine(t *testing.T) {
//		server := hogapitest.New()
//		export := server.Project(hogapitest.DefaultProject).AddExport(hogapitest.Export{Name: "nightly"})
//		server.Script(ops.BatchExportsGet, hogapitest.RateLimit("1"), hogapitest.CutBefore())
//		client := server.Client(t)
//		… call the program with client …
//	}
//
// The server keeps state: a created export appears in lists, backfills make runs, runs end, imported events
// appear in the [Ledger]. It answers as the service does, including errors and oddities: lists that hide runs
// older than 7 days, config values that come back as strings, a 200 for discarded events. [WithEra] selects the
// generation of the service.
//
// # Runs
//
// No clock drives runs. Each answer that shows a run that has not ended moves it one step: Starting, Running
// with growing counts, its outcome. A list moves the runs on its page, an export its latest runs, a backfill
// its current run. So a test that waits always ends after the same number of calls. See [WithPolls] and
// [Project.NextRuns]. Backfills, retries and [Project.AddRun] start runs. With [Project.RunSchedule] the schedule of
// an export does too, by the server's clock.
//
// Runs make up 1,000 records each, see [Project.SetRecords]. After [Project.ExportEvents] they export the events of the
// project, chosen as the service chooses them, and [Project.Exported] returns the contents of the destination.
//
// # Faults
//
// [Server.Script] sets faults for the next requests of an operation: a status, a rate limit, a lost connection
// before or after the service acts, an answer that is slow, cut or not JSON. [Server.Chaos] chooses them at
// random from a seed. [Server.Calls] has the fault of each call.
//
// # Capture
//
// Events arrive by POST /batch/ or by capture v1, POST /i/v1/analytics/events; [WithoutV1] switches v1 off.
// Both share one ledger and one operation, [ops.Capture]. An empty batch to v1 asks whether the server supports
// it; this request is [ops.Protocol], so a script of capture meets only events. [Results] scripts the result of
// each event; [Altered] changes the body of an answer; [Acted] stores the events and then answers as its inner
// fault does. [Server.Violations] checks the rules for a client of v1 by its requests alone.
//
// # Queries
//
// POST /query/ answers HogQL queries that count events: one SELECT with WHERE, GROUP BY, HAVING, ORDER BY and LIMIT.
// Like the service it refuses unknown functions, wrong numbers of arguments, unknown names, placeholders without a
// value, and OFFSET. A query must set refresh to force_blocking: there is no cache, from which the service may answer.
// By default, queries see each event, and each copy of it, at once. Tests can change that with [Server.HoldEvents],
// [Server.ReleaseEvents], [Server.MergeEvents], [Project.LoseEvents], [Project.MoveEvents] and [Project.AddEvent],
// which do not change the ledger. Requests to delete events work with [WithDataDeletions];
// [Project.SetDataDeletion] stands for PostHog's staff.
//
// # Transports
//
// [Server.Transport] carries requests in process: no sockets, no goroutines, so it works inside a
// [testing/synctest] bubble. Time begins there in the year 2000; [WithTime] sets another time. [Server.URL]
// opens a loopback socket instead.
package hogapitest
