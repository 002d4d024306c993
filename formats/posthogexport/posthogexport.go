package posthogexport

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/history"
)

// Options control how rows become events. Nil stands for the defaults.
type Options struct {
	// PersonProperties says how $set is sent. By default it stays $set: in a project without events of its own,
	// persons end with their current properties, if the events are imported oldest first (see formats.Sorted). For
	// a project that is in use, choose PersonSetOnce: old values then do not replace newer ones.
	PersonProperties formats.PersonProperties
}

// Columns returns the columns of an event, for parquet.Options.
func Columns() []string {
	return []string{
		"uuid", "event", "distinct_id", "properties", "elements_chain", "timestamp", "ip",
		"elements", "set", "set_once", "unset", "group_set", "people_set", "people_set_once", // of tables, and of newer exports
	}
}

// Dropped returns the columns that [Format] drops, for parquet.Options: a Parquet file is read faster without them.
func Dropped() []string { return slices.Clone(dropped) }

// dropped are columns of the project at the time of the export.
var dropped = []string{
	"person_id", "person_properties", "created_at", "_inserted_at", "team_id", "site_url",
	"bq_ingested_timestamp", "snowflake_ingested_timestamp", "databricks_ingested_timestamp", "azure_blob_ingested_timestamp",
}

// Format reads rows of the events model of a batch export, as JSON objects.
func Format(options *Options) history.Format {
	o := record.Options(options)
	o.PersonProperties = cmp.Or(o.PersonProperties, formats.PersonSet)
	return record.AsIs("posthogexport", record.PersonText(o.PersonProperties), o.PersonProperties.Check(),
		func() *converter { return newConverter(o) })
}

// uuidOf is the uuid in a raw value, which may say nothing.
func uuidOf(raw []byte) (uuid.UUID, error) {
	if record.IsNone(raw) {
		return uuid.Nil, nil
	}
	id, err := uuid.Parse(record.Text(raw))
	if err != nil {
		return uuid.Nil, record.Want("uuid", "a UUID", raw)
	}
	return id, nil
}
