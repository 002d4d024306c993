// Package ga4 converts the rows that Google Analytics 4 exports to BigQuery to events.
//
//	source := hogapi.FileSource(ga4.Format(nil), "export/events-*.json.gz")
//
// # Files
//
// Rows of the tables events_YYYYMMDD, exported from BigQuery to Cloud Storage as newline-delimited
// JSON. Three forms of a row are read, and become the same event: the export to files, with 64-bit
// numbers as texts and nulls left out; saved results of a query, with numbers as texts and all
// nulls written; and rows of client libraries, with numbers. Leave out events_intraday_… and
// events_fresh_… of days that have a table of their own, and take a day's table when it is three
// days old: it changes until then. Rows are not in the order of time: see formats.Sorted.
//
// # Mapping
//
//	column                        PostHog                 remark
//	event_name                    its event               page_view: $pageview; screen_view: $screen
//	event_timestamp               timestamp               microseconds, UTC
//	user_id, else user_pseudo_id  distinct_id             a number as its digits
//	user_pseudo_id                its own name            and Event.AnonymousID, where user_id is there too
//	event_params                  their own names         numbers stay numbers; a whole number
//	                                                      that a float64 cannot hold is a text
//	  page_location               $current_url, $host, $pathname
//	  page_referrer               $referrer, $referring_domain
//	  page_title                  title
//	  firebase_screen             $screen_name
//	  source, medium, campaign, term, content
//	                              utm_…                   but not values such as (direct), which keep the param's name
//	device                        $device_type, $device_manufacturer, $device_model, $device_name, $os, $os_version,
//	                              $browser_language, $browser, $browser_version
//	device.web_info               $browser, $browser_version, $host
//	geo                           $geoip_city_name, $geoip_country_name, $geoip_continent_name, $geoip_subdivision_1_name
//	app_info                      $app_namespace, $app_version
//	event_dimensions.hostname     $host
//	collected_traffic_source      utm_source, utm_medium, utm_campaign, utm_term, utm_content, gclid, dclid
//	traffic_source                $initial_utm_source, $initial_utm_medium, $initial_utm_campaign in $set_once
//	page of first_visit, first_open
//	                              $initial_current_url, $initial_referrer, $initial_referring_domain in $set_once
//	user_properties               $set_once, or $set by Options.PersonProperties; but not
//	                              ga_session_id and ga_session_number
//	items                         items                   item_params as an object
//	other members of these        under the column's name, as an object
//	other columns                 their own names
//
// ga_session_id stays under its own name: PostHog's $session_id must be a UUIDv7. event_date is
// kept too: it is the day in the property's time zone, by which Google's reports count.
//
// If another value has the name already, the name gets the prefix ga4_: params come first, and a second param
// of the same key is kept in this way. A param distinct_id always gets the prefix.
//
// Dropped: nulls, empty texts, empty objects and (not set) in columns, but not in params; of each
// row event_bundle_sequence_id, event_server_timestamp_offset, event_previous_timestamp and the
// three batch_… numbers; set_timestamp_micros of user properties.
//
// # Skipped and rejected
//
// Skipped are rows of visitors without consent, which have no id ([SkipNoID]), unless Options.Personless keeps
// them, and the names of Options.Skip ([SkipName]). All other events are kept, including the events that Google
// makes itself. Rejected are rows without a name, without a valid time, or with params of another shape.
//
// # Identity
//
// GA4 gives no ids to rows. Since the middle of 2024 rows have batch_page_id, batch_ordering_id and
// batch_event_index: the uuid is then derived from these, stream_id, both user ids, time, name,
// event_bundle_sequence_id and params, so that it is the same in all forms and in tables of different age.
// Older rows get one as [hogapi.FileSource] says. It differs between the forms, so import a day from one form
// of export only.
//
// No event is generated. For a visitor who became a user, formats.Links makes the $identify events.
package ga4
