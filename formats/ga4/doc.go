// Package ga4 converts the rows that Google Analytics 4 exports to BigQuery to events.
//
//	source := history.Files(ga4.Format(nil), "export/events-*.json.gz")
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
//	event_name                                     event                      see below
//	event_timestamp                                timestamp                  microseconds, UTC
//	user_id                                        distinct_id
//	user_pseudo_id                                 distinct_id                or the anonymous id
//	event_params                                   …                          their own names
//	event_params.page_location                     $current_url               a text
//	event_params.page_location                     $host, $pathname           of the URL
//	event_params.page_location                     utm_…, gclid, …            of the URL
//	event_params.page_referrer                     $referrer                  see below
//	event_params.page_referrer                     $referring_domain
//	event_params.page_title                        title                      a text
//	event_params.firebase_screen                   $screen_name               a text
//	event_params.firebase_screen_class             $screen_name               without the other
//	event_params.source                            utm_source                 but not (direct)
//	event_params.medium                            utm_medium                 the same
//	event_params.campaign                          utm_campaign               the same
//	event_params.term                              utm_term                   the same
//	event_params.content                           utm_content                the same
//	event_params.ga_session_id                     $session_id                see Sessions
//	device.category                                $device_type               Desktop, Mobile, Tablet
//	device.operating_system                        $os                        Macintosh: Mac OS X
//	device.operating_system_version                $os_version                iOS 17.2: 17.2
//	device.mobile_brand_name                       $device_manufacturer       but not of desktops
//	device.mobile_model_name                       $device_model              but not of desktops
//	device.mobile_marketing_name                   $device_name               but not of desktops
//	device.language                                $browser_language          en-gb: en-GB
//	device.browser                                 $browser                   Edge: Microsoft Edge
//	device.browser_version                         $browser_version           a number
//	device.web_info.browser                        $browser                   the same
//	device.web_info.browser_version                $browser_version           a number
//	device.web_info.hostname                       $host
//	event_dimensions.hostname                      $host
//	geo.city                                       $geoip_city_name
//	geo.country                                    $geoip_country_name
//	geo.country                                    $geoip_country_code        of a known name
//	geo.continent                                  $geoip_continent_name
//	geo.region                                     $geoip_subdivision_1_name
//	app_info.id                                    $app_namespace
//	app_info.version                               $app_version
//	collected_traffic_source.manual_source         utm_source                 but not (direct)
//	collected_traffic_source.manual_medium         utm_medium                 the same
//	collected_traffic_source.manual_campaign_name  utm_campaign               the same
//	collected_traffic_source.manual_term           utm_term                   the same
//	collected_traffic_source.manual_content        utm_content                the same
//	collected_traffic_source.gclid                 gclid
//	collected_traffic_source.dclid                 dclid
//	traffic_source.source                          $initial_utm_source        person, once; the same
//	traffic_source.medium                          $initial_utm_medium        person, once; the same
//	traffic_source.name                            $initial_utm_campaign      person, once; the same
//	user_properties                                …                          person; their own names
//	user_properties.ga_session_id                                             dropped
//	user_properties.ga_session_number                                         dropped
//	items                                          items                      item_params as an object
//	event_bundle_sequence_id                                                  dropped
//	event_previous_timestamp                                                  dropped
//	event_server_timestamp_offset                                             dropped
//	batch_page_id                                                             dropped
//	batch_ordering_id                                                         dropped
//	batch_event_index                                                         dropped
//
// Names of events stay, but page_view is $pageview and screen_view is $screen. The person is the user_id or else the
// user_pseudo_id, which is the anonymous id where both are there; a number is sent as its digits.
//
// ga_session_id and firebase_screen_class also keep their names. A param or a member becomes utm_… if it is a text,
// and not one of Google's for no value, such as (direct); else it keeps its name. The param comes first, then the URL,
// then collected_traffic_source. Params keep their own names otherwise; numbers stay numbers, but a whole number that
// a float64 cannot hold is a
// text. Other members of columns that are objects stay in an object under the column's name, and other columns keep
// their names. event_date is kept: it is the day in the property's time zone, by which Google's reports count.
//
// If another value has the name already, the name gets the prefix ga4_: params come first, and a second param
// of the same key is kept in this way. A param distinct_id always gets the prefix.
//
// The page of first_visit and first_open is sent with $set_once too: $initial_current_url, $initial_referrer and
// $initial_referring_domain. User properties are sent with $set_once, or $set by Options.PersonProperties.
//
// Operating systems, browsers and kinds of devices have the names that PostHog's own SDKs send. On desktops Google
// puts the browser's name where it has the model of a phone: these members stay in device, as do values such as
// <Other>. An export has no user agents. A page view with a URL, but without a referrer, has the $referrer and
// $referring_domain "$direct", as PostHog's own.
//
// Dropped are also nulls, empty texts, empty objects and (not set) in columns, but not in params, and
// set_timestamp_micros of user properties.
//
// # Sessions
//
// PostHog's sessions, and all of its web analytics, count only events with a $session_id. It is made of the param
// ga_session_id, which is the start of a session in seconds, and of user_pseudo_id: see formats.SessionID. It is the
// same however files are cut. A session of more than 24 hours is cut, as PostHog does.
//
// Rows without ga_session_id have no session, such as rows of the Measurement Protocol that do not set it. Nor does a
// row before the start of its session, since PostHog would not find it in one: ga_session_id is by the clock of the
// visitor and event_timestamp, on the web, by Google's, so the first event can be there earlier.
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
// event_bundle_sequence_id and params in the order of their names, so that it is the same in all forms and in tables of
// different age. The tables events_intraday_… and events_… of one day have the same events: import one of them.
// Older rows get one as [history.Files] says. It differs between the forms, so import a day from one form
// of export only.
//
// No event is generated. For a visitor who became a user, formats.Links makes the $identify events.
package ga4
