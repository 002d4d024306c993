package hogapi_test

import "github.com/hogapi/hogapi/internal/testevents"

// The events that all tests of an import share, by short names.

type memoryCheckpoint = testevents.Checkpoint

var (
	longAgo       = testevents.LongAgo
	numbered      = testevents.Source
	numberedEvent = testevents.Event
	numberedUUID  = testevents.ID
	numberedUUIDs = testevents.IDs
	altered       = testevents.Altered

	ignoreRejects  = testevents.IgnoreRejects
	unsettledUUIDs = testevents.Unsettled
	redirect       = testevents.Redirect
	zipped         = testevents.Gzip
	savedReceipt   = testevents.SavedReceipt

	requireWhole    = testevents.RequireWhole
	requireBalanced = testevents.RequireBalanced
)
