// Package amplitude imports the event export of Amplitude.
//
// # Files
//
// The export API (https://amplitude.com/api/2/export, in the EU https://analytics.eu.amplitude.com)
// answers with a zip file of gzip files of JSON lines, one or more for each hour: give it to
// [history.Files] as it is. The files of the exports to S3 and GCS have the same rows.
//
// The range of an export is by server_upload_time, and includes both of its hours. The file of an hour can have
// events of other days, for example from phones that were offline. So files are not in the order of event
// times: use formats.Sorted if the order matters, and import all years at once. An hour that is in two exports
// makes no duplicates, since uuids are Amplitude's.
//
// # Mapping
//
//	event_type                                    event                           names are below
//	event_time                                    timestamp                       UTC; else see below
//	client_event_time                             $amplitude_client_event_time    if not event_time
//	uuid                                          uuid                            see Identity
//	$insert_id                                    $amplitude_insert_id
//	user_id                                       distinct_id                     unless blank
//	user_id                                       $amplitude_user_id
//	device_id                                     distinct_id                     or the anonymous id
//	device_id                                     $amplitude_device_id
//	device_id                                     $device_id                      unless blank
//	event_id                                      $amplitude_event_id             unless 0
//	session_id                                    $session_id                     see Sessions
//	session_id                                    $amplitude_session_id           unless 0
//	event_properties                              …                               see below
//	event_properties.alias                        alias                           but in $identify
//	event_properties.[Amplitude] Page Location    $current_url                    event and person
//	event_properties.[Amplitude] Page URL         $current_url                    event and person; else
//	event_properties.[Amplitude] Page Domain      $host                           else of the URL
//	event_properties.[Amplitude] Page Path        $pathname                       event and person; else of the URL
//	event_properties.[Amplitude] Page Title       title
//	event_properties.[Amplitude] Screen Name      $screen_name
//	event_properties.[Amplitude] Viewport Height  $viewport_height
//	event_properties.[Amplitude] Viewport Width   $viewport_width
//	event_properties.[Amplitude] Element Text     $el_text
//	event_properties.referrer                     $referrer                       event and person; see Pages
//	event_properties.referring_domain             $referring_domain               event and person; else of $referrer
//	user_properties                               …                               person; without null
//	user_properties.initial_…                     $initial_…                      person, once
//	user_properties.utm_…, gclid, …               utm_…, gclid, …                 see Pages
//	user_properties.referrer                      $referrer                       see Pages
//	groups                                        $groups                         the first of a type
//	groups                                        $amplitude_groups               all, of several
//	group_properties                              $amplitude_group_properties     see Groups
//	country                                       $geoip_country_name             event and person
//	country                                       $geoip_country_code             of a known name
//	city                                          $geoip_city_name                event and person
//	region                                        $geoip_subdivision_1_name       event and person
//	location_lat                                  $geoip_latitude
//	location_lng                                  $geoip_longitude
//	ip_address                                    $ip                             see LookUpIP
//	language                                      $amplitude_language
//	language                                      $browser_language               or $locale: see below
//	os_name                                       $browser                        on the web
//	os_name                                       $os                             elsewhere
//	os_version                                    $browser_version                on the web
//	os_version                                    $os_version                     elsewhere
//	device_type                                   $os, $device_type               on the web
//	device_type                                   $amplitude_device_type
//	platform                                      $amplitude_platform
//	device_manufacturer                           $device_manufacturer
//	device_model                                  $device_model                   not "Mac OS"
//	device_family                                 $amplitude_device_family        also for $os
//	library                                       $amplitude_library
//	version_name                                  $app_version
//	merged_amplitude_id                           $amplitude_merged_amplitude_id
//	$schema                                                                       dropped
//	$insert_key                                                                   dropped
//	client_upload_time                                                            dropped
//	data                                                                          dropped
//	data_type                                                                     dropped
//	processed_time                                                                dropped
//	server_received_time                                                          dropped
//	server_upload_time                                                            dropped
//	user_properties                                                               dropped
//	uuid                                                                          dropped
//
// Fields that are not in the table are kept with the prefix $amplitude_, unless they are empty, such as
// $amplitude_paying; amplitude_id is $amplitude_id. So are dropped fields with Options.KeepAll. If an event
// property already has the name that a field is mapped to, the property stays, and the field gets the name of a
// field without a mapping. Event properties in the table also keep their own names; names on which PostHog acts,
// such as $set, get the prefix too. The properties historical_migration and analytics_source are added.
//
// Where event_time cannot be read, the time is that of client_event_time, and else that of server_received_time.
//
// Event types are names of events, but [Amplitude] Page Viewed is $pageview, [Amplitude] Screen Viewed is $screen,
// and [Amplitude] Element Clicked and Changed are $autocapture with $event_type.
//
// User properties keep their names, and are sent with $set_once: see Options.PersonProperties. First touches that
// PostHog knows, such as initial_referrer, get its names, such as $initial_referrer; "EMPTY" ones are left out. The
// language is the code of the name that Amplitude has; outside of the web it is $locale. The id of a device is the
// anonymous id of an event with a user_id. Ids that are numbers are sent as their digits. A browser's version is
// sent as a number, as PostHog's own SDKs do; one with more parts is also in $amplitude_os_version.
//
// The name in os_name decides whether it is an operating system or a browser. For unknown names the platform
// decides: an empty one, or Web, is the web. Operating systems, browsers and kinds of devices have the names that
// PostHog's own SDKs send, such as Mac OS X for Mac. A browser that is renamed is kept in $amplitude_os_name.
// An export has no user agents.
//
// # Pages
//
// Where the event has no such property, $host, $pathname, utm_… and the ids of clicks on ads come from $current_url. An
// event without campaign properties gets them from its user_properties: Amplitude's SDKs keep the newest campaign
// there. A $pageview with a URL, but without a referrer in event_properties and user_properties, has the $referrer and
// $referring_domain "$direct", as PostHog's own.
//
// # User properties
//
// Each row has the state of its user at that moment. Format sends it with each event, by default with $set_once: a
// person has the oldest value of each property. To give persons the newest values, import the events with
// formats.PersonNone, and then [PeopleFormat] through formats.Newest: one event $set for each person.
//
// # Sessions
//
// PostHog's sessions, and all of its web analytics, count only events with a $session_id. It is made of session_id,
// which is the start of a session in milliseconds, and of device_id: see formats.SessionID. It is the same however
// files are cut. A session of more than 24 hours is cut, as PostHog does.
//
// These events have no session: events without a session_id, or with -1; events before the start of their session,
// since PostHog would not find them in a session; and events of servers, which have the library http/… or batch/… and
// no platform. The two users of a device in one session are in one session here too.
//
// Amplitude corrects the time of an event where the clock of the device is wrong by a minute or more, but not
// session_id. Where the clock was ahead, the start of the session is corrected here, and rounded down to an hour,
// since the correction differs a little from one event to the next. It can cut a session at the full hour.
//
// # Identity
//
// The uuid is Amplitude's uuid. If the text there is not a uuid, the uuid is derived from the text. Without the
// field, it is derived from device_id and $insert_id or, without these, from the row: see [history.Files].
//
// An event with both user_id and device_id has the device as [hogapi.Event.AnonymousID], so that formats.Links
// can join the visitor before the login to the user. Each $identify that it makes is an event of its own, also
// on PostHog's bill. Some devices have two users, even within a minute: Links leaves them out. Rows of
// Amplitude's own $identify are sent as events of that name, and join no ids.
//
// With Options.NoVisitorProfiles, events without a user_id have $process_person_profile false.
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
