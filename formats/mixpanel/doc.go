// Package mixpanel imports the raw event export of Mixpanel.
//
// # Files
//
// The export API (https://data.mixpanel.com/api/2.0/export, in the EU https://data-eu.mixpanel.com) answers
// with JSON lines, an object of event and properties each. Save the answer as it is, packed or not. Both
// from_date and to_date are included: they are days of UTC for projects made since 2023, and of the project's
// time zone before. An export can end in the middle of a line: that line is rejected. Download the day again.
//
// # Mapping
//
//	Mixpanel                                    PostHog                            Remark
//	event                                       event                              $mp_web_page_view: $pageview
//	time                                        timestamp                          seconds, or ms above 10,000,000,000,
//	                                                                               with a fraction; see Options.Zone
//	distinct_id, else $user_id, else $device_id distinct_id                        a number by its digits
//	$distinct_id_before_identity                distinct_id                        if distinct_id is absent or a device's
//	$insert_id                                  uuid                               as PostHog's own importer
//	$user_id, $device_id                        $mixpanel_user_id, …_device_id     unless empty
//	$city, $region                              $geoip_city_name, $geoip_subdivision_1_name
//	mp_country_code                             $geoip_country_code, $geoip_country_name
//	current_url_path, current_domain            $pathname, $host
//	current_page_title, mp_lib                  title, $lib
//	$mp_api_endpoint, $mp_api_timestamp_ms,     dropped                            see Options.KeepAll
//	mp_processing_time_ms, $geo_source,
//	$insert_id
//	names on which PostHog acts, such as $set,  $mixpanel_ and the name
//	$groups or $session_id
//	everything else                             its own name and value             also $import, $is_reshuffled,
//	                                                                               $warehouse_…
//
// If a record already has a property of PostHog's name, that property stays, and the other one keeps Mixpanel's
// name. The properties historical_migration and analytics_source are added.
//
// Person properties are $browser, $browser_version, $os, $os_version, $device, $device_type,
// $current_url, $referrer, $referring_domain, the place, and $initial_referrer,
// $initial_referring_domain and $initial_utm_…. They are sent as $set_once, so that the past does
// not overwrite today: see Options.PersonProperties.
//
// # Identity
//
// The uuid is UUIDv5 of $insert_id in the namespace that PostHog's own importer uses, and name, distinct id and
// day are the same too: an event that both have imported is one event. The uuid of a record without $insert_id
// is derived from its content: see [hogapi.FileSource].
//
// To Mixpanel, two records are the same if name, distinct_id, time and $insert_id are equal. In some exports,
// several events have one $insert_id. PostHog keeps them apart if their names, persons or days differ, and
// Check warns of them. If events of one name, person and day would be lost, set Options.WholeKey.
//
// An event with both $user_id and $device_id has the device as [hogapi.Event.AnonymousID], so that
// formats.Links can join the visitor before the login to the user. If the distinct_id of visitors is "$device:"
// and the device, as in projects with simplified ID merge, set Options.DevicePrefix: otherwise the links have
// no effect. [CheckZone] counts such records. Each $identify that it makes is an event of its own, also on
// PostHog's bill. A $create_alias event of Mixpanel merges persons in PostHog too.
//
// # Local time
//
// Projects made before 2023 export the local time of the project as if it were UTC. [CheckZone] compares it
// with the time of Mixpanel's servers. For such a project set Options.Zone. If the clocks show an hour twice,
// the time of arrival decides. An event in an hour that the clocks skip is rejected, because the zone must be
// wrong.
//
// # Skipped and rejected
//
// Skipped are events without any id (SkipNoID), and deleted ones (SkipDeleted): with $is_deleted
// true, or of the name $delete. Rejected are records without a name or a time, with an id that is
// neither a text nor a number, or with one property twice.
package mixpanel
