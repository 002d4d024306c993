// Package segment converts the calls that Segment and RudderStack write to files to events.
//
//	source := hogapi.FileSource(segment.Format(&segment.Options{GroupType: "company"}), "segment-logs/*/*.gz")
//
// # Files
//
// Segment's S3 destination writes gzipped JSON lines, a folder for each day of receipt:
// segment-logs/{source-id}/{day}/….gz. RudderStack writes the same shapes to rudder-logs/….json.gz.
// Both deliver at least once: a call may be there twice, and is one event, since its uuid comes
// from its messageId. Files are by the day of receipt, so their events are not oldest first: see
// formats.Sorted.
//
// Tables of their warehouses (tracks, pages, identifies …) have other columns and are not read.
//
// # Mapping
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
//	field                         PostHog                 remark
//	userId, else anonymousId      distinct_id             a number as its digits; blank ones do not count
//	anonymousId                   its own name            and Event.AnonymousID, where userId is there too
//	timestamp                     timestamp               else originalTimestamp, else sentAt; never receivedAt
//	messageId                     uuid                    and its own name where it is not a UUID
//	name of a page                title                   where the page has none; and its own name
//	context.page.url              $current_url, $host
//	context.page.path             $pathname
//	context.page.referrer         $referrer, $referring_domain
//	context.page.title            title
//	context.campaign              utm_campaign (name), utm_source, utm_medium, utm_term, utm_content
//	context.ip, userAgent         $ip, $raw_user_agent
//	context.locale, timezone      $locale, $timezone
//	context.library               $lib, $lib_version
//	context.os                    $os, $os_version
//	context.app                   $app_name, $app_version, $app_build, $app_namespace
//	context.device                $device_id, $device_manufacturer, $device_model, $device_name, $device_type
//	                              (Mobile for ios and android)
//	context.screen                $screen_width, $screen_height, $screen_density
//	context.network               $network_carrier, $network_wifi, $network_cellular, $network_bluetooth
//	context.groupId               $groups                 with Options.GroupType
//	other members of the context  context                 in one object, as they were
//	other members of the call     their own names
//
// A property of the call takes precedence over one of the context, which then stays in the property context. If
// another value has the name already, the name gets the prefix segment_; a property distinct_id always gets it.
//
// Dropped: _metadata, integrations, projectId, version, writeKey, receivedAt, and the times that are not used;
// nulls and empty texts of the context and of the call, but not of its properties. The user agent is not
// parsed.
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
// it is derived as [hogapi.FileSource] says. Segment's live PostHog destination uses ids of its
// own: cut history and live events by time.
//
// An identify call merges its anonymousId into its userId, as it did live, at its place in the file.
// formats.Links makes such events for the other calls, and sends them first. In calls other than identify, the
// traits of the context are the state of the user at that time: they stay in the event's context.
//
// A call is at most one event. PostHog does not bill events that are older than 48 hours
// when it is imported: see [hogapi.Client.Import].
package segment
