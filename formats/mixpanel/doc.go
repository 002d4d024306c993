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
// An event keeps its name, but for $mp_web_page_view, which is $pageview, $mp_page_leave, which is $pageleave, and
// $mp_click, which is $autocapture with the $event_type click. A property becomes, under the name in the second column,
// a property of the event, of its person, or of both:
//
//	time                          timestamp                     seconds, or ms above 10,000,000,000; see Options.Zone
//	distinct_id                   distinct_id                   else $user_id, else $device_id
//	$distinct_id_before_identity  distinct_id                   if distinct_id is absent or a device's
//	$distinct_id_before_identity  $distinct_id_before_identity
//	$insert_id                    uuid                          as PostHog's own importer
//	$user_id                      $mixpanel_user_id
//	$device_id                    $mixpanel_device_id
//	$anon_id                      $anon_id                      of $identify: another id of the person
//	$identified_id                $identified_id                of $identify: another id of the person
//	$distinct_ids                 $distinct_ids                 of $merge: the ids of the person
//	alias                         alias                         in an event $identify: $mixpanel_alias
//	$current_url                  $current_url                  event and person; also $host, $pathname, utm_… and the ids of clicks on ads
//	current_url_path              $pathname
//	current_domain                $host
//	current_page_title            title
//	$referrer                     $referrer                     event and person; $direct in a page view without one
//	$referring_domain             $referring_domain             event and person; else the host of $referrer
//	$browser                      $browser                      event and person
//	$browser_version              $browser_version              event and person; a number
//	$os                           $os                           event and person; in PostHog's words: iPhone OS is iOS
//	$os_version                   $os_version                   event and person
//	$device                       $device                       event and person
//	$device_type                  $device_type                  event and person; else by $os and $model or $device
//	$model                        $device_model
//	$manufacturer                 $device_manufacturer
//	$app_version_string           $app_version
//	$app_build_number             $app_build
//	mp_lib                        $lib
//	$elements                     $mixpanel_elements            PostHog has another form of it
//	$geoip_city_name              $geoip_city_name              event and person
//	$geoip_subdivision_1_name     $geoip_subdivision_1_name     event and person
//	$geoip_country_code           $geoip_country_code           event and person
//	$geoip_country_name           $geoip_country_name           event and person
//	$city                         $geoip_city_name              event and person
//	$region                       $geoip_subdivision_1_name     event and person
//	mp_country_code               $geoip_country_code           event and person; also $geoip_country_name
//	$initial_referrer             $initial_referrer
//	$initial_referrer             $initial_referrer             person, once
//	$initial_referring_domain     $initial_referring_domain
//	$initial_referring_domain     $initial_referring_domain     person, once
//	$initial_utm_source           $initial_utm_source
//	$initial_utm_source           $initial_utm_source           person, once
//	$initial_utm_medium           $initial_utm_medium
//	$initial_utm_medium           $initial_utm_medium           person, once
//	$initial_utm_campaign         $initial_utm_campaign
//	$initial_utm_campaign         $initial_utm_campaign         person, once
//	$initial_utm_content          $initial_utm_content
//	$initial_utm_content          $initial_utm_content          person, once
//	$initial_utm_term             $initial_utm_term
//	$initial_utm_term             $initial_utm_term             person, once
//	$is_deleted                   $is_deleted                   a record with true is skipped: see Options.KeepDeleted
//	$import                       $import
//	$mp_api_timestamp_ms                                        dropped; see Options.KeepAll
//	mp_processing_time_ms                                       dropped; see Options.KeepAll
//	$mp_api_endpoint                                            dropped; see Options.KeepAll
//	$geo_source                                                 dropped; see Options.KeepAll
//
// Everything else keeps its name and value, such as $is_reshuffled and $warehouse_…; names on which PostHog acts, such
// as $set, $groups and $session_id, get the prefix $mixpanel_. If a record already has a property of PostHog's name, that
// property stays, and the other one keeps Mixpanel's name. An empty value of the table is left out. The properties
// historical_migration and analytics_source are added.
//
// Person properties are sent as $set_once, so that the past does not overwrite today: see Options.PersonProperties.
// PostHog itself copies some properties of each event to the person, such as $browser, $os, $current_url and utm_…: see
// formats.LeavePersons.
//
// # Identity
//
// The uuid is UUIDv5 of $insert_id in the namespace that PostHog's own importer uses, and name, distinct id and
// day are the same too: an event that both have imported is one event. The uuid of a record without $insert_id
// is derived from its content: see [history.Files].
//
// To Mixpanel, two records are the same if name, distinct_id, time and $insert_id are equal. In some exports,
// several events have one $insert_id. PostHog keeps them apart if their names, persons or days differ, and
// Check warns of them. If events of one name, person and day would be lost, set Options.WholeKey.
//
// In projects with original ID merge, distinct_id is the canonical id of a person: any one of its ids. Another
// $user_id, the ids of $merge and $identify, and the distinct_id of a device that gave way to
// $distinct_id_before_identity, are [hogapi.Event.UserIDs]: they are the same person. An event with both $user_id and
// $device_id has the device as [hogapi.Event.AnonymousID], so that formats.LinksWith can join the visitor before the
// login to the user, unless others used the device too. If the distinct_id of visitors is "$device:"
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
