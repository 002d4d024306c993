package hogapi

// BackfillsService manages backfills.
type BackfillsService service
