// Package amplitude imports the event export of Amplitude.
//
// # Files
//
// The export API (https://amplitude.com/api/2/export, in the EU https://analytics.eu.amplitude.com)
// answers with a zip file of gzip files of JSON lines, one or more for each hour: give it to
// [hogapi.FileSource] as it is. The files of the exports to S3 and GCS have the same rows.
//
// The range of an export is by server_upload_time, and includes both of its hours. The file of an hour can have
// events of other days, for example from phones that were offline. So files are not in the order of event
// times: use formats.Sorted if the order matters, and import all years at once. An hour that is in two exports
// makes no duplicates, since uuids are Amplitude's.
//
// # Mapping
//
//	Amplitude                                PostHog                             Remark
//	event_type                               event                               [Amplitude] Page Viewed: $pageview;
//	                                                                             [Amplitude] Element Clicked and
//	                                                                             Changed: $autocapture with $event_type
//	event_time, else client_event_time,      timestamp                           UTC, with its fraction
//	else server_received_time
//	user_id, else device_id                  distinct_id                         unless blank; a number by its digits
//	uuid, else $insert_id of the device_id   uuid                                see below
//	event_properties                         their own names and values          names on which PostHog acts, such as
//	                                                                             $set: $amplitude_ and the name
//	user_properties                          $set_once of their own names        see Options.PersonProperties; without
//	                                                                             null and initial_… of "EMPTY"
//	initial_referrer, initial_utm_source …   $initial_… in $set_once             the names that PostHog knows
//	user_id                                  $amplitude_user_id
//	device_id                                $amplitude_device_id, $device_id
//	event_id, session_id                     $amplitude_event_id, …_session_id   unless 0
//	$insert_id                               $amplitude_insert_id
//	country, city, region                    $geoip_country_name, $geoip_city_name, $geoip_subdivision_1_name
//	location_lat, location_lng               $geoip_latitude, $geoip_longitude
//	ip_address                               $ip
//	os_name, os_version on the web           $browser, $browser_version          a whole number as a number
//	device_type on the web                   $os, $device_type                   iPhone and iPad: iOS
//	os_name, os_version elsewhere            $os, $os_version, $device_type      ios: iOS
//	device_manufacturer, device_model        $device_manufacturer, $device_model
//	version_name                             $app_version
//	[Amplitude] Page URL, Domain, Path,      $current_url, $host, $pathname,     the originals stay
//	Title                                    title
//	[Amplitude] Viewport Height, Width       $viewport_height, $viewport_width   the originals stay
//	[Amplitude] Element Text                 $el_text                            the original stays
//	referrer, referring_domain               $referrer, $referring_domain        of event_properties; the originals stay
//	groups                                   $groups                             the first key of each type; if there are
//	                                                                             more, all of them in $amplitude_groups
//	group_properties                         $amplitude_group_properties         or $groupidentify: see below
//	client_event_time                        $amplitude_client_event_time        where it differs from event_time
//	$schema, $insert_key, data, data_type,   dropped                             see Options.KeepAll
//	client_upload_time, processed_time,
//	server_received_time, server_upload_time
//	every other field, unless empty          $amplitude_ and the name            such as $amplitude_language;
//	                                                                             amplitude_id: $amplitude_id
//
// If an event property already has the name that a field is mapped to, the property stays, and the field gets
// the name of a field without a mapping. The properties historical_migration and analytics_source are added.
// The values that the table puts into $browser, $os, $device_type, $geoip_…_name, $current_url, $pathname,
// $referrer and $referring_domain are sent as person properties too.
//
// The name in os_name decides whether it is an operating system or a browser. For unknown names the platform
// decides: an empty one, or Web, is the web.
//
// # Identity
//
// The uuid is Amplitude's uuid. If the text there is not a uuid, the uuid is derived from the text. Without the
// field, it is derived from device_id and $insert_id or, without these, from the row: see [hogapi.FileSource].
//
// An event with both user_id and device_id has the device as [hogapi.Event.AnonymousID], so that formats.Links
// can join the visitor before the login to the user. Each $identify that it makes is an event of its own, also
// on PostHog's bill. Some devices have two users, even within a minute: Links leaves them out. Rows of
// Amplitude's own $identify are sent as events of that name, and join no ids.
//
// Rows of the table of merged Amplitude IDs are skipped: they name only Amplitude's own numbers for
// users.
//
// # Groups
//
// A row of Amplitude's own $groupidentify becomes one such event for each of its groups, and nothing else of
// the row is sent. With Options.Groups, an event with group_properties makes one more $groupidentify event for
// each group that has any, also on PostHog's bill. It has the time of the event, and a uuid that is derived
// from type, key, properties and time. Amplitude exports the state of the group at the event, so most of these
// events change nothing: if groups have changed little, leave the option out and send each group once, with
// [hogapi.GroupIdentify].
//
// # Skipped and rejected
//
// Skipped are rows without event_type (SkipNoEventType), without user_id and device_id (SkipNoID),
// of session_start (SkipSessionStart), of merged users (SkipMergedUsers), and of $groupidentify
// without a group (SkipNoGroup). Rejected are rows without a time, with an id that is neither a
// text nor a number, or with one name twice in an object with mapped members.
package amplitude
