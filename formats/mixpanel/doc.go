// Package mixpanel imports the raw event export of Mixpanel.
//
// # Files
//
// The export API (https://data.mixpanel.com/api/2.0/export, in the EU https://data-eu.mixpanel.com)
// answers with JSON lines, an object of event and properties each. Save the answer as it is, packed
// or not. Both from_date and to_date are included: they are days of UTC for projects made since
// 2023, and of the project's time zone before. An export can end in the middle of a line: that line
// is rejected, and the day is to be downloaded again.
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
// Where a record has a property of PostHog's name too, that one stays, and the other keeps
// Mixpanel's name. The properties historical_migration and analytics_source are added.
//
// Person properties are $browser, $browser_version, $os, $os_version, $device, $device_type,
// $current_url, $referrer, $referring_domain, the place, and $initial_referrer,
// $initial_referring_domain and $initial_utm_…. They are sent as $set_once, so that the past does
// not overwrite today: see Options.PersonProperties.
//
// # Identity
//
// The uuid is UUIDv5 of $insert_id in the namespace that PostHog's own importer uses, and name,
// distinct id and day are the same too: an event that both have imported is one event. A record
// without $insert_id gets a uuid of its content: see [hogapi.FileSource].
//
// Mixpanel itself takes two records for one where name, distinct_id, time and $insert_id agree.
// There are exports in which one $insert_id is on several events. PostHog keeps them apart where
// their names, persons or days differ, and Check warns of them. Where events of one name, person
// and day would be lost, set Options.WholeKey.
//
// An event with both $user_id and $device_id has the device as [hogapi.Event.AnonymousID], so that
// formats.Links can join the visitor before the login to the user. Where the distinct_id of
// visitors is "$device:" and the device, as in projects with simplified ID merge, set
// Options.DevicePrefix: else the links meet nobody. [CheckZone] counts such records. Each $identify
// that it makes is an event of its own, also on PostHog's bill. An event $create_alias of Mixpanel
// merges in PostHog as well.
//
// # Local time
//
// Projects made before 2023 export the local time of the project as if it were UTC. [CheckZone]
// compares it with the time of Mixpanel's servers. For such a project set Options.Zone. An hour
// that the clocks show twice is read by when the event arrived. An event in an hour that they skip
// is rejected: the zone is another one.
//
// # Skipped and rejected
//
// Skipped are events without any id (SkipNoID), and deleted ones (SkipDeleted): with $is_deleted
// true, or of the name $delete. Rejected are records without a name or a time, with an id that is
// neither a text nor a number, or with one property twice.
package mixpanel
