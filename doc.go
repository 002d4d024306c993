// Package hogapi is an unofficial client for a part of PostHog's API: batch exports and their runs, app metrics,
// dashboards, and the import of past events. It is not affiliated with PostHog.
//
//	client, err := hogapi.NewClient(hogapi.WithRegion(hogapi.RegionEU), hogapi.WithProject("12345"),
//		hogapi.WithPersonalAPIKey(os.Getenv("POSTHOG_PERSONAL_API_KEY")))
//	if err != nil {
//		return err
//	}
//	for export, err := range client.BatchExports.All(ctx, nil) {
//		if err != nil {
//			return err
//		}
//		for run, err := range client.Runs.LatestFailed(ctx, export.ID, nil) {
//			if err != nil {
//				return err
//			}
//			fmt.Println(export.Name, run.DataIntervalEnd, run.Status)
//		}
//	}
//
// # Contents
//
//   - [Client.BatchExports]: list, get, create, update, delete, pause and unpause exports, test their destinations,
//     backfill them, read their logs
//   - [Client.Backfills]: the newer resource of backfills, and following a backfill or a retry to its end
//   - [Client.Runs]: list, get, cancel, retry, watch and wait for runs; the failed ones that still matter; their logs
//   - [Client.Integrations]: list, get, create and delete the integrations that hold the credentials of destinations
//   - [Client.AppMetrics]: counts and errors of apps and of batch exports, historical exports; older servers only
//   - [Client.FileDownloads]: exports on demand, and downloads of their files, which resume
//   - [Client.Dashboards]: list and get
//   - [Client.IngestionWarnings]: events that the service dropped or changed on their arrival
//   - [Check] and [Client.Import]: past events from a [Source] such as [JSONLinesFile], [FileSource] or [PagedSource]
//   - [Client.NewCapture]: past events that the program pushes
//   - [Client.Verify]: count the events of an import that have arrived, and name the missing ones
//   - [Client.DataDeletions]: count the events of an import, and request their deletion
//   - [Client.Do]: any other endpoint of the project
//
// The documentation of each method names its endpoint and the scope that the personal API key needs.
// [Client.ForProject] makes a client for another project.
//
// The packages destination and integration have the fields of an export's destination and of its credentials.
// Package formats, and the packages below it, read the exports of other vendors. The packages ops, reasons and
// warnings list the names of operations, of reasons for rejects and of warnings. Package hogapitest is a fake
// of the service for tests.
//
// # Lists
//
// List returns one page, Pages walks over pages, and All over items. A walk either is complete or ends with an
// error, once and last: a list is never quietly partial. The error is a [*PageError] and says where to resume.
// Lists of runs have no hidden window of time, unlike the service's own.
//
// # Errors
//
// Bad input is an [*InputError] before anything is sent. An answer that is not a success is an [*APIError]:
// match its kind with [errors.Is] and sentinels such as [ErrNotFound], and take its fields with [errors.As]. A
// call without a usable answer is a [*TransportError], and an answer that cannot be read is a [*DecodeError].
// No error holds a key.
//
// # Retries
//
// Calls that change nothing, or may be carried out twice without harm, are tried up to four times if the
// failure can pass: lost connections, 408, 429, 500, 502, 503, 504. Waits are random and grow; Retry-After is
// obeyed up to a minute. Calls that act again each time (create, backfill, retry and cancel of a run) are sent
// again only if the service provably did not act. If it may have acted, the error is an [*OutcomeUnknownError]:
// look before you try again. See [RetryPolicy].
//
// # Imports
//
// An import cannot be undone as a whole. [Client.DataDeletions] requests the deletion of its events, where
// PostHog has enabled that; merged persons and changed properties stay. So try a test project first, and check:
// [Check] sends nothing. An import promises:
//
//   - Each event that the source gives is acknowledged at least once, handed to the reject handler, or
//     skipped by a mapping on purpose, or the import ends with an error. With a checkpoint, the next run
//     resumes there, also after a kill.
//   - An import that rejects too much ends with an error, even if everything else was sent.
//     [RejectedRecords] imports the rejects once they are corrected.
//   - An event has the same uuid, name, distinct id, timestamp and properties each time it is sent, in
//     every process. So the service can tell a repeated event from a new one.
//   - The [Receipt] accounts for all events, by day and by name:
//     read = acknowledged + rejected + unconfirmed + skipped + pending.
//   - Events of one distinct id are sent in the order of the source.
//   - Every request is marked as historical migration, and there is no way to send without that mark.
//
// An acknowledgement does not prove that an event is visible: [Client.Verify] counts the events that have
// arrived and names the missing ones. Imports keep a pace of 1,000 events a second unless told otherwise.
//
// # Keys
//
// The personal API key ("phx_…") is for management calls, the project API key ("phc_…") for events. Each is sent
// to its own origin only, and is never printed.
package hogapi
