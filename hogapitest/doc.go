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
// The server keeps state: exports that are created can be listed, backfills make runs, runs come to an end, events that are imported
// stand in the [Ledger]. It answers as the service does, errors and oddities included: the hidden window of 7 days, config values
// that come back as strings, 200 for events that are thrown away. Eras of the service can be had: see [WithEra].
//
// # Runs
//
// No clock drives runs. Each answer that shows a live run moves it one step: Starting, Running with growing counts, its outcome. A
// list moves each live run on its page, an export its live latest runs, a backfill its present run. So a test that
// waits comes to the end after the same number of calls each time. See [WithPolls] and [Project.NextRuns]. Exports run
// by backfill, retry and [Project.AddRun] only: no schedule starts one.
//
// # Faults
//
// [Server.Script] makes the next requests of an operation meet faults: a status, a rate limit, a lost connection before or after the
// service acts, an answer that is slow, cut or not JSON. [Server.Chaos] does so at random from a seed. Each call's fault
// stands in [Server.Calls].
//
// # Capture
//
// Events come by POST /batch/ or by capture v1, POST /i/v1/analytics/events, which [WithoutV1] leaves out. Both have one ledger and one
// operation, [ops.Capture]. A request to v1 with an empty batch asks whether the server has it; it is [ops.Protocol], so a script of
// capture meets events only. [Results] scripts the result of each event; [ForeignResult], [DoubledResults] and [HugeResults] are
// wrong answers; [Acted] stores the events and then answers as another fault does. The duties of a client of v1 are
// judged from the requests alone: see [Server.Breaches].
//
// # Queries
//
// POST /query/ answers HogQL queries that count events: one SELECT with WHERE, GROUP BY, HAVING, ORDER BY and LIMIT. Like the
// service it refuses unknown functions, wrong numbers of arguments, unknown names, placeholders without a value, OFFSET.
// Queries see an event at once and each copy of it, unless a test says otherwise: [Server.HoldEvents], [Server.ReleaseEvents],
// [Server.MergeEvents], [Project.LoseEvents], [Project.MoveEvents], [Project.AddEvent]. They do not change the ledger.
// The command hogfake takes the same from another process, below /hogfake/. Requests to delete events work with [WithDataDeletions];
// [Project.SetDataDeletion] stands for PostHog's staff.
//
// # Transports
//
// [Server.Transport] carries requests in process: no sockets, no goroutines, so it works inside a [testing/synctest] bubble.
// There time begins in the year 2000: [WithTime] sets another one. [Server.URL] opens a loopback socket instead.
package hogapitest
