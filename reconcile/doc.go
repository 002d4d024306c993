// Package reconcile answers the question "is my warehouse complete?": it compares the events of a PostHog project with the
// rows of a destination by key, and names each row that is missing, doubled, altered or only there.
//
//	report, err := reconcile.Compare(ctx, reconcile.PostHog(client, nil), reconcile.SQL(db, reconcile.Postgres, table), options)
//	fmt.Println(report)
//
// The same comparison serves after a move of events to another project or region: a second [PostHog] is the destination
// then.
//
// # What is compared
//
// A key is the uuid, the name and the distinct id of an event. Both sides compute digests over sets of keys: the number of
// keys and sums of numbers cut from the uuids and from an MD5 of the key. Equal sets have equal digests; different sets
// have equal ones in about one of four thousand million cases, for a change of texts only. Where the digests of a day
// differ, Compare descends: hours, slices of uuids, lists of keys. It never orders texts, since engines order them
// differently.
//
// The verdict is [Complete] only if every digest was read and every difference explained. Otherwise it is [Incomplete],
// [CompleteWithDifferences] or [Undecided]. A destination that lies consistently in all answers cannot be detected.
//
// # What it costs
//
// [PlanFor] returns the number of queries, the rows to scan and the time. The service's limit of queries, which is for
// each API key, is kept half free. The service also debits the bytes that queries read from an hourly budget of the
// project, which all its keys share: the report says how much was read and how much is left, and Compare waits rather
// than use the last tenth.
package reconcile
