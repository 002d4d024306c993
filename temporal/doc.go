// Package hogtemporal runs imports of past events on Temporal, so that they outlive machines, deploys and
// nights. One process imports as fast as PostHog allows: take this package where an import lasts days and
// nobody can promise that one machine does. Otherwise call [hogapi.Client.Import].
//
// An import is a workflow over an ordered list of files, its shards. One shard is sent at a time, in
// order, so the events of a person keep theirs. Any [Worker] takes up where another one stopped: the
// state of a shard is kept in Temporal, or in a folder that all workers share ([FolderStore]).
//
//	w, err := hogtemporal.NewWorker(temporalClient, nil) // keys: POSTHOG_… in its environment
//	err = w.Run(ctx)
//
//	err = hogtemporal.Start(ctx, temporalClient, hogtemporal.ImportParams{ID: "mixpanel-2024", Shards: shards})
//	status, err := hogtemporal.GetStatus(ctx, temporalClient, "mixpanel-2024")
//
// The command hogworker does both.
//
// # Stages
//
// All shards are checked ([hogapi.Check]) before the first event is sent, then sent, and then what the
// project shows is compared with the receipt ([hogapi.Client.Verify]).
//
// # What stops an import
//
// What can pass, such as an outage, a full disk or a worker that is killed, is retried for as long as it
// takes; [Status] says why. What needs a person, such as a wrong key or a shard that is not there, stops
// the import in the state [StateStopped] with a [Problem], which says what to do. [Resume] continues.
// The workflow itself ends when it is complete, or when it is canceled.
//
// # Keys
//
// Keys are read by workers from their environment. They are in no workflow input, heartbeat, result,
// failure or log.
//
// # One sender
//
// Of one import, one worker sends. A worker holds a lease, which each heartbeat renews. It begins no
// request when the lease has ended by a monotonic or by a wall clock, and cuts what is under way. So it
// is silent before Temporal lets another worker begin.
package hogtemporal
