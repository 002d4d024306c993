// Package hogtemporal runs imports of past events on Temporal, so that they outlive machines, deploys and
// nights. One process imports as fast as PostHog allows: use this package if an import lasts for days, longer
// than one machine may run. Otherwise call [history.Import].
//
// An import is a workflow over an ordered list of files, its shards. One shard is sent at a time, in order, so the
// events of a person stay in order. Any [Worker] continues where another one stopped: the state of a shard is kept in
// Temporal, or in a folder that all workers share ([FolderStore]).
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
// All shards are checked ([history.Check]) before the first event is sent, then sent. Then the events in the project
// are compared with the receipt ([history.Verify]).
//
// # What stops an import
//
// After a failure that can pass, such as an outage, a full disk or a killed worker, the import retries until it
// succeeds; [Status] has the reason. After a failure that needs a person, such as a wrong key or a missing
// shard, the import stops in the state [StateStopped] with a [Problem], which names the remedy. [Resume]
// continues it. The workflow itself ends when the import is complete or canceled.
//
// # Keys
//
// Workers read the keys from their environment. Keys are in no workflow input, heartbeat, result, failure or log.
//
// # One sender
//
// At any time, one worker sends the events of an import. It holds a lease, which each heartbeat renews. When
// the lease has ended, by the monotonic or the wall clock, the worker begins no request and cuts its requests
// in flight. So it has stopped before Temporal lets another worker begin.
package hogtemporal
