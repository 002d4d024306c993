// Package snowplow converts enriched events of Snowplow to events.
//
//	source := history.Files(snowplow.Format(nil), "enriched/*.gz")
//
// # Files
//
// The S3 loader writes gzipped lines of 131 values divided by tabs, without a header. With Options.HasNames, tables
// with a header and JSON objects are read, such as rows of the table atomic.events: its columns unstruct_event_… and
// contexts_… are read too. Bad rows of Snowplow are in other files. Lines are in the order of arrival: see
// formats.Sorted.
//
// # Mapping
//
//	event                     event                      see below
//	event_name                event                      of unstruct and others
//	se_action                 event                      of struct
//	true_tstamp               timestamp                  UTC; else derived_tstamp, else collector_tstamp
//	derived_tstamp            timestamp                  by the corrected clock of the device
//	collector_tstamp          timestamp
//	event_id                  uuid                       version 5 of it where it is not a UUID; see Options.Fingerprints
//	user_id                   distinct_id                else domain_userid, else network_userid
//	domain_userid             $device_id                 else network_userid; the anonymous id where there is a user_id
//	network_userid            snowplow_network_userid
//	domain_sessionid          snowplow_session_id        see Sessions
//	domain_sessionidx         snowplow_session_index     a number
//	page_url                  $current_url               also the ids of clicks on ads
//	page_urlhost              $host                      of page_url, with the port
//	page_urlpath              $pathname
//	page_title                title
//	page_referrer             $referrer                  $direct in a page view without one
//	refr_urlhost              $referring_domain          of page_referrer, with the port
//	mkt_source                utm_source
//	mkt_medium                utm_medium
//	mkt_campaign              utm_campaign
//	mkt_term                  utm_term
//	mkt_content               utm_content
//	useragent                 $raw_user_agent            also $browser, $os and others: see Options.UserAgent
//	br_family                 $browser                   without Options.UserAgent and ua_parser_context
//	os_family                 $os                        the same
//	dvce_type                 $device_type               the same; Computer: Desktop
//	br_lang                   $browser_language          en-gb: en-GB
//	br_viewwidth              $viewport_width            a number
//	br_viewheight             $viewport_height           a number
//	dvce_screenwidth          $screen_width              a number
//	dvce_screenheight         $screen_height             a number
//	os_timezone               $timezone
//	v_tracker                 $lib
//	user_ipaddress            $ip                        where it is an address, and not its hash
//	geo_country               $geoip_country_code        also $geoip_country_name
//	geo_region                $geoip_subdivision_1_code
//	geo_region_name           $geoip_subdivision_1_name
//	geo_city                  $geoip_city_name
//	geo_zipcode               $geoip_postal_code
//	geo_latitude              $geoip_latitude            a number
//	geo_longitude             $geoip_longitude           a number
//	geo_timezone              $geoip_time_zone
//	se_category               category
//	se_label                  label
//	se_property               property
//	se_value                  value                      a number
//	unstruct_event            …                          the members of its data, under their own names
//	contexts                  snowplow_contexts          the data of each, by the name of its schema
//	derived_contexts          snowplow_contexts          the same
//	etl_tstamp                                           dropped
//	dvce_created_tstamp                                  dropped
//	dvce_sent_tstamp                                     dropped
//	txn_id                                               dropped
//	v_collector                                          dropped
//	v_etl                                                dropped
//	etl_tags                                             dropped
//	event_format                                         dropped
//	event_version                                        dropped
//	event_fingerprint                                    dropped; see Options.Fingerprints
//	page_urlscheme                                       dropped
//	page_urlport                                         dropped
//	page_urlquery                                        dropped
//	page_urlfragment                                     dropped
//	refr_urlscheme                                       dropped
//	refr_urlport                                         dropped
//	refr_urlpath                                         dropped
//	refr_urlquery                                        dropped
//	refr_urlfragment                                     dropped
//	br_cookies                                           dropped
//	br_features_pdf                                      dropped
//	br_features_flash                                    dropped
//	br_features_java                                     dropped
//	br_features_director                                 dropped
//	br_features_quicktime                                dropped
//	br_features_realplayer                               dropped
//	br_features_windowsmedia                             dropped
//	br_features_gears                                    dropped
//	br_features_silverlight                              dropped
//	doc_charset                                          dropped
//
// An event page_view is $pageview. One of struct has the name in se_action, and any other the name of its schema, such
// as link_click; screen_view is $screen. The members of the data of a self-describing event become properties under
// their own names. If another value has the name already, or PostHog acts on it, the name gets the prefix snowplow_.
//
// The contexts client_session, mobile_context and application of apps, and ua_parser_context, also give the device,
// the session, the model, the version of the app, the browser and the system, where no column does.
//
// # Sessions
//
// The id of a session does not tell when it began. The property snowplow_session_id has it ([SessionKey]), and
// formats.Sessions makes sessions of it, which PostHog's web analytics needs:
//
//	sorted := formats.Sorted(history.Files(snowplow.Format(nil), "enriched/*.gz"), "work")
//	source := formats.Sessions(sorted, &formats.SessionOptions{Key: snowplow.SessionKey})
//
// # Skipped and rejected
//
// Skipped are events without an id of a person ([SkipNoID]) and, unless Options.KeepPagePings is set, events page_ping
// ([SkipPagePing]). Rejected are lines with another number of values, without a time that can be read, and with a
// self-describing event or context that has no schema.
//
// # Identity
//
// The uuid is event_id. Snowplow delivers at least once: an event that is there twice is one event, also where its
// times differ by a second. Events of bots may share an event_id but differ in fingerprint: PostHog keeps one for each
// person, name and day. A check counts them as DoubleUUIDs together with true copies; see Options.Fingerprints.
//
// An event with user_id has the visitor as [hogapi.Event.AnonymousID], so that formats.Links can join both. Pipelines
// often hash ids and addresses: a hash is an id like any other, and one in user_ipaddress keeps the column's name.
//
// # Tried
//
// Tried with public events of the JavaScript tracker and of the tests of Snowplow's SDK for Go. Apps (client_session,
// mobile_context, application) and rows of atomic.events with columns for contexts were not tried on a real file.
package snowplow
