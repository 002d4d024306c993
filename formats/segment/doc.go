// Package segment converts the calls that Segment and RudderStack write to files to events.
//
//	source := history.Files(segment.Format(&segment.Options{GroupType: "company"}), "segment-logs/*/*.gz")
//
// # Files
//
// Segment's S3 destination writes gzipped JSON lines, a folder for each day of receipt:
// segment-logs/{source-id}/{day}/….gz. RudderStack writes the same shapes to rudder-logs/….json.gz.
// Both deliver at least once: a call may be there twice, and is one event, since its uuid comes
// from its messageId. Files are by the day of receipt, so their events are not oldest first: see
// formats.Sorted.
//
// Tables of their warehouses (tracks, pages, identifies …) have other columns: package
// formats/warehouse reads them.
//
// # Calls
//
//	call                          PostHog                 remark
//	track                         its event               with its properties under their own names
//	page                          $pageview               url, path, referrer, title of properties: as for context.page
//	screen                        $screen                 name: $screen_name
//	identify                      $identify               traits, and context.traits where traits lack them:
//	                                                      $set_once, or $set by Options.PersonProperties;
//	                                                      $anon_distinct_id = anonymousId, with a userId
//	group                         $groupidentify          groupId: $group_key; traits: $group_set; $group_type:
//	                                                      traits.groupType or Options.GroupType
//	alias                         $create_alias           previousId: alias
//
// # Mapping
//
//	type                         event                 see above
//	event                        event                 of track
//	userId                       distinct_id           else anonymousId; a number as its digits; blank ones do not count
//	anonymousId                  anonymousId           with a userId; also Event.AnonymousID
//	timestamp                    timestamp             else originalTimestamp, else sentAt; never receivedAt
//	messageId                    uuid                  also messageId where it is not a UUID
//	name                         title                 of page, if the page lacks it; also name
//	name                         $screen_name          of screen; else properties.name, else event
//	properties.url               $current_url          of page
//	properties.path              $pathname             of page
//	properties.referrer          $referrer             of page
//	properties.title             title                 of page
//	context.page.url             $current_url          also $host, $pathname, utm_… and the ids of clicks on ads
//	context.page.path            $pathname
//	context.page.referrer        $referrer             also $referring_domain; $direct in a page without one
//	context.page.title           title
//	context.campaign.name        utm_campaign
//	context.campaign.source      utm_source
//	context.campaign.medium      utm_medium
//	context.campaign.term        utm_term
//	context.campaign.content     utm_content
//	context.ip                   $ip                   see Options.LookUpIP
//	context.userAgent            $raw_user_agent       also $browser, $os and others: see Options.UserAgent
//	context.locale               $locale
//	context.locale               $browser_language
//	context.timezone             $timezone
//	context.sessionId            segment_session_id    also $session_id, if it is the time of the start
//	context.library.name         $lib
//	context.library.version      $lib_version
//	context.os.name              $os                   in PostHog's words: android is Android
//	context.os.version           $os_version
//	context.device.id            $device_id
//	context.device.manufacturer  $device_manufacturer
//	context.device.model         $device_model
//	context.device.name          $device_name
//	context.device.type          $device_type          Mobile or Tablet for ios and android; else by the system
//	context.app.name             $app_name
//	context.app.version          $app_version
//	context.app.build            $app_build
//	context.app.namespace        $app_namespace
//	context.screen.width         $screen_width
//	context.screen.height        $screen_height
//	context.screen.density       $screen_density
//	context.screen.innerWidth    $viewport_width
//	context.screen.innerHeight   $viewport_height
//	context.network.carrier      $network_carrier
//	context.network.wifi         $network_wifi
//	context.network.cellular     $network_cellular
//	context.network.bluetooth    $network_bluetooth
//	context.groupId              $groups               with Options.GroupType
//	context.traits               traits of the person  of identify, where traits lack them
//	_metadata                                          dropped
//	integrations                                       dropped
//	projectId                                          dropped
//	receivedAt                                         dropped
//	version                                            dropped
//	writeKey                                           dropped
//
// A property of the call takes precedence over one of the context, which then stays in the property context, as other
// members of the context do. If another value has the name already, the name gets the prefix segment_; a property
// distinct_id always gets it. Nulls and empty values are left out, except in properties.
//
// A number in context.sessionId is the time when the session began, in RudderStack's SDKs: in milliseconds on the web, in
// seconds on phones. The $session_id is made of it, unless that time is after the event or more than a week before.
// For other ids see formats.Sessions and its option Key.
//
// # Skipped and rejected
//
// Skipped are calls without userId and anonymousId ([SkipNoID]), without any time ([SkipNoTime]), and group
// calls if Options.NoGroups is set ([SkipGroup]). Rejected are calls of another type, with a time that cannot
// be read, a group call without a group type, an alias call without previousId, and lines that are not JSON.
//
// # Identity
//
// The uuid is the messageId where that is a UUID, else a version 5 uuid of it; without a messageId
// it is derived as [history.Files] says. Segment's live PostHog destination uses ids of its
// own: cut history and live events by time.
//
// An identify call merges its anonymousId into its userId, as it did live, at its place in the file. Two users that log
// in with one anonymousId, which RudderStack's Flutter SDK keeps after a logout, so become one person for good.
// formats.LinksWith joins the ids of all calls before the first event, except ids that two users had; import the events
// through formats.WithoutMerges then. In calls other than identify, the traits of the context are the state of the user
// at that time: they stay in the event's context.
//
// A call is at most one event. PostHog does not bill events that are older than 48 hours
// when it is imported: see [history.Import].
package segment
