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
// stand in the [Ledger], whichever of the two ways they took: POST /batch/, or capture v1, POST /i/v1/analytics/events. It answers as the service does, errors and oddities included: the hidden window of 7 days, config values
// that come back as strings, 200 for events that are thrown away. Three eras of the service can be had: see [WithEra].
// POST /query/ answers HogQL queries that count events, from the ledger. It refuses functions that the service lacks, and wrong
// numbers of arguments.
//
// # Runs
//
// No clock drives runs. Each answer that shows a live run moves it one step: Starting, Running with growing counts, its outcome. A
// list moves each live run on its page, an export those among its latest runs, a backfill its present run. So a test that
// waits comes to the end after the same number of calls each time. See [WithPolls] and [Project.NextRuns]. Exports run
// by backfill, retry and [Project.AddRun] only: no schedule starts one.
//
// # Faults
//
// [Server.Script] makes the next requests of an operation meet faults: a status, a rate limit, a lost connection before or after the
// service acts, an answer that is slow, cut or no JSON at all. [Server.Chaos] does so at random from a seed. What each request met
// stands in [Server.Calls].
//
// # Capture v1
//
// The server has capture v1 unless [WithoutV1] says otherwise. Events of both ways have one ledger, and the operation of both is
// [ops.Capture]; a request with an empty batch, which asks whether the server has v1, is
// [ops.Protocol], so a script of capture meets events only. [Results] scripts what becomes of each event, and
// [ForeignResult], [DoubledResults] and [HugeResults] answers that are not to be trusted. [Acted] stores the events and then answers as
// it likes. What v1 asks of clients is judged from the requests alone: see [Server.Breaches].
//
// # Transports
//
// [Server.Transport] carries requests in process: no sockets, no goroutines, so it works inside a [testing/synctest] bubble.
// [Server.URL] opens a loopback socket instead.
package hogapitest
