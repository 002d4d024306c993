// Package hogapi is an unofficial client for a part of PostHog's API: batch exports and their runs, app
// metrics, dashboards, and the import of past events. It is not affiliated with PostHog. In this documentation,
// "the service" is PostHog, in its cloud or self-hosted.
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
//   - [Client.BatchExports]: manage, pause and backfill batch exports, test their destinations, and read their
//     logs
//   - [Client.Backfills]: wait for backfills and retries; on newer servers also list, create and cancel
//     backfills
//   - [Client.Runs]: list, retry, cancel and watch runs, and read their logs
//   - [Client.Integrations]: manage the integrations that hold the credentials of destinations
//   - [Client.AppMetrics]: on older servers, read the counts and errors of apps and of batch exports
//   - [Client.FileDownloads]: export data on demand, and download the files
//   - [Client.Dashboards]: read dashboards
//   - [Client.IngestionWarnings]: list the warnings about events that the service dropped or changed on arrival
//   - history.Check and history.Import: check and send past events from a source, such as history.JSONLines,
//     history.Files or history.Paged
//   - [Client.NewCapture]: send past events one by one, as the program gets them
//   - history.Verify: count the events of an import in the project, and name the missing ones
//   - [Client.DataDeletions]: count the events of an import, and request their deletion
//   - [Client.Do]: call any other endpoint of the project
//
// The documentation of each method names its endpoint and the scope that the personal API key needs.
// [Client.ForProject] makes a client for another project. Ids are of github.com/google/uuid, except for dashboards and
// integrations, which have numbers. The service may send other values than the constants of types such as [Model] and
// [RunStatus]; they are kept.
//
// The packages destination and integration have the configs of destinations and of their credentials. Package history
// imports and verifies past events. Package formats, and the packages below it, read the exports of other vendors.
// Package coverage finds the intervals that are not exported, and repairs them. Package ops has constants for
// operations, and package event for reasons of rejects and warnings. Package hogapitest is a fake of the service for
// tests.
//
// # Lists
//
// List returns one page; Pages iterates over pages and All over items. If an iteration cannot be completed, its last
// value is an error, usually a [*PageError], which says where to resume. A row that cannot be decoded as a whole has a
// [*RowError]: All yields it with the readable fields, and continues if the loop does; List and Pages return the page
// together with an error that matches the errors of its rows. Runs of any age are listed, although the service itself
// lists only the last 7 days by default.
//
// # Errors
//
// Bad input is an [*InputError] before anything is sent. An answer that is not a success is an [*APIError]:
// match its kind with [errors.Is] and a sentinel such as [ErrNotFound], and get its fields with [errors.As].
// Without a usable answer the error is a [*TransportError]. An answer that cannot be decoded is a
// [*DecodeError]. No error holds a key.
//
// # Retries
//
// A call that changes nothing, or that can be carried out twice without harm, is tried up to four times if the
// failure may pass: a lost connection, or the status 408, 429, 500, 502, 503 or 504. The waits are random and
// grow. A Retry-After of up to a minute is obeyed; a longer one ends the call. A call that acts each time, such
// as a create, a backfill or a retry of a run, is sent again only if the service certainly did not act. If it
// may have acted, the error is an [*OutcomeUnknownError]: find out the state before you call again. See
// [RetryPolicy].
//
// # Imports
//
// An import cannot be undone as a whole. [Client.DataDeletions] requests the deletion of its events, where
// PostHog has enabled that; merged persons and changed properties stay. So run history.Check first, which sends
// nothing, and import into a test project. An import promises:
//
//   - Each event of the source is acknowledged at least once, handed to the reject handler, or skipped on
//     purpose. Otherwise the import ends with an error. With a checkpoint, the next run resumes where this one
//     ended, also after a kill.
//   - An import that rejects too much ends with an error, even if everything else was sent. history.Rejected
//     reads the rejects again, for an import after a correction.
//   - An event has the same uuid, name, distinct id, timestamp and properties each time it is sent, in
//     every process. So the service can tell a repeated event from a new one.
//   - The [Receipt] accounts for all events, by day and by name:
//     read = acknowledged + rejected + unconfirmed + skipped + pending.
//   - Events of one distinct id are sent in the order of the source.
//   - Every request is marked as a historical migration; there is no way to send events without that mark.
//
// An acknowledgement does not prove that an event is visible: history.Verify counts the events that have
// arrived and names the missing ones. By default, an import sends at most 1,000 events a second.
//
// # Keys
//
// The personal API key ("phx_…") is for management calls, the project API key ("phc_…") for events. Each is sent
// to its own origin only, and is never printed.
package hogapi
