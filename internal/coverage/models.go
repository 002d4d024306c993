package coverage

import "cmp"

// Choosing says how the service chooses the rows of backfills and retries of a model.
type Choosing uint8

// Ways of choosing.
const (
	LikeTheSchedule Choosing = iota // no age line
	ByAge                           // by timestamp, past the age line
	ByTheServer                     // the one or the other, by the age of the server
)

// choosing is the table of the models; docs/exports.md has it in words. A model that is not known is chosen like the
// schedule, since nothing is known of a line.
var choosing = map[string]Choosing{
	"events":   ByAge,           // twice in tables after an old backfill; lost objects in object stores
	"persons":  LikeTheSchedule, // the newest state; a later change removes the need
	"sessions": ByTheServer,     // merged by their key
	"hogql":    LikeTheSchedule, // the query chooses; without placeholders each run exports all rows
}

// ChoosingOf returns how the service chooses rows for a backfill. Old exports have no model and export events. Workflows
// choose by timestamp in their schedule too.
func ChoosingOf(model, destination string) Choosing {
	if destination == "Workflows" {
		return LikeTheSchedule
	}
	return choosing[cmp.Or(model, "events")]
}
