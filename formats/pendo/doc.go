// Package pendo converts single events of Pendo to events.
//
//	source := history.Files(pendo.Format(nil), "guide_event.csv")
//
// # Files
//
// The sources guideEvents and pollEvents of Pendo's aggregation API, as JSON or in the tables of a loader such as
// Fivetran (guide_event, poll_event), and events of Data Sync (allevents, matchedEvents), as JSON or Parquet: its Avro
// files are to be converted first. The sources events, pageEvents and featureEvents have totals of an hour, and are
// refused: a table before its first row, and each record of JSON. A track event and a page view are in Data Sync only.
//
// # Mapping
//
//	type              event                      without the prefix ui:web:; pollResponse: survey sent
//	eventType         event                      load: $pageview; click, change, focus: $autocapture with $event_type
//	browserTimestamp  timestamp                  milliseconds, or a text in UTC; by the clock of the browser
//	timestamp         timestamp                  the same, without browserTimestamp
//	eventId           uuid                       version 5 of it where it is not a UUID
//	visitorId         distinct_id
//	oldVisitorId      $device_id                 the anonymous id
//	accountId         $groups                    of the type in Options.GroupType: account
//	url               $current_url               also $host, $pathname, utm_… and the ids of clicks on ads
//	userAgent         $raw_user_agent            also $browser, $os and others: see Options.UserAgent
//	remoteIp          $ip                        see Options.LookUpIP
//	country           $geoip_country_code        also $geoip_country_name
//	region            $geoip_subdivision_1_code  in capital letters
//	latitude          $geoip_latitude            a number; but not 0 with longitude 0
//	longitude         $geoip_longitude           the same
//	language          $browser_language
//	guideId           guide_id
//	guideStepId       guide_step_id
//	elementPath       element_path
//	loadTime          load_time                  a number
//	propertiesJson    …                          the members of the object in the text, under their own names
//	properties        …                          the members, under their own names
//	numEvents                                    of totals, which are rejected
//	numMinutes                                   the same
//	serverName                                   dropped; the host of url
//	periodId                                     dropped
//	matchableId                                  dropped
//
// An event load is a $pageview; click, change and focus are $autocapture with $event_type; pollResponse is survey
// sent, with $survey_id (guideId, else pollId) and $survey_response; all others keep their name. If another value has
// a name already, or PostHog acts on it, the name gets the prefix pendo_.
//
// # Skipped and rejected
//
// Skipped are events without visitorId ([SkipNoID]). Rejected are events without a type, without a time that can be
// read, and totals. The clock of a browser may be years off: a check names the days of the events.
//
// # Identity
//
// The uuid is eventId, or one of version 5 of it. Events of guides from a loader have no eventId: their uuid is derived
// as [history.Files] says. An event with oldVisitorId has it as [hogapi.Event.AnonymousID], so that formats.Links can
// join the visitor (_PENDO_T_…) to the user. Pendo has no sessions: see formats.Sessions. Since only the event of the
// login has both ids, a visit with a login becomes two of its sessions.
//
// # Tried
//
// Tried with public rows of Fivetran's tables event, which is refused, and guide_event. Data Sync and polls were not
// tried on a real file.
package pendo
