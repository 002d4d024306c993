// Package posthogexport converts the rows that PostHog's own batch exports write to events, for an import into
// another project.
//
//	source := history.Files(posthogexport.Format(nil), "export/*.jsonl.gz")
//
// It was written from PostHog's documentation and code, without a file of a real export. Read the report of
// [history.Check] on your files before you import them, and report differences.
//
// # Files
//
// Rows of the events model, as JSON lines or, with the module formats/parquet, as Parquet. Leave
// out manifest.json. Brotli is not read: unpack such files. Rows have no order, not even that of
// their arrival. Sort them with formats.Sorted: a person ends with the $set that arrives last.
// Tables of other destinations (BigQuery, Snowflake …) are read from their exports to JSON too.
//
// Some destinations do not have all of an event. Tables of Redshift and Databricks and files of
// Azure Blob Storage have no elements of clicks. INSERT statements to Redshift shorten white space in
// properties, and take the E of a text such as " E'". Files of newer servers can lack $set and
// $set_once, and the prompts and answers of AI events, which are kept elsewhere for some weeks.
// [RowTest] counts them. Where a text has half of a surrogate pair, JSON lines have "?" in its place
// and garble the event's letters outside ASCII, Postgres leaves it out, and an import refuses the
// event as the others have it.
//
// # Mapping
//
//	column                        PostHog                 remark
//	uuid                          uuid
//	event                         its event
//	distinct_id                   distinct_id
//	timestamp                     timestamp               without a zone, or with "UTC", it is UTC
//	properties                    properties              an object, or a text that holds one
//	properties.$set               $set                    or $set_once by Options.PersonProperties:
//	                                                      its values then take precedence
//	set, set_once, unset,         $set, $set_once,        where the properties lack them: newer servers keep
//	group_set                     $unset, $group_set      them apart; people_set and people_set_once likewise
//	properties.$cookieless_mode   posthog_cookieless_mode the distinct id is the visitor's hash already
//	properties.$distinct_id       posthog_distinct_id     of such an event, where it is another than the row's
//	properties.$import_job_id     posthog_import_job_id   of an earlier import: the event gets the id of this one
//	properties.$group_0 … $group_4 posthog_group_0 …      only where $groups does not have the key: the service
//	                                                      makes them of $groups, by the project's own numbers
//	properties.distinct_id        posthog_distinct_id     only where it is another than the row's
//	elements_chain                $elements_chain         where it is not empty
//	elements                      $elements_chain         of tables: a text, or JSON of a text, once or twice
//	ip                            $ip
//	other columns                 properties of their own names
//
// If another value has the name already, the name gets the prefix posthog_.
//
// Dropped: person_id and person_properties, which are the project's state at the time of the
// export; created_at, _inserted_at, team_id and site_url; the …_ingested_timestamp of tables.
//
// # Skipped and rejected
//
// No row is skipped. Rejected are rows without an event's name, such as rows of the models of
// persons and sessions and the list in a manifest.json, with a wrong uuid, time or properties, and
// events that the import's gate refuses, such as $$heatmap.
//
// # Identity
//
// The uuid is the row's. Persons are merged again by the $identify, $create_alias and
// $merge_dangerously events among the rows: import all files from the beginning, oldest first. The
// gate refuses $merge_dangerously unless GateOptions.AllowMergeDangerously says otherwise.
// Event.AnonymousID is the $anon_distinct_id of a $identify event, for formats.Links.
//
// No event is generated. Rows with $prev_pageview_pathname and $current_url, or with $heatmap_data,
// make the service write further rows: see GateOptions.StripHeatmaps.
package posthogexport
