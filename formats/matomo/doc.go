// Package matomo converts visits of Matomo to events.
//
//	zone, err := time.LoadLocation("Europe/Paris") // of the site
//	source := history.Files(matomo.Format(&matomo.Options{Zone: zone}), "visits-*.json")
//
// # Files
//
// The answers of the method Live.getLastVisitsDetails with format=JSON and language=en: arrays of visits, or visits
// one a line. Ask for days that are over, with filter_limit and filter_offset, and with a token that may see visitors.
// New visits shift the pages of the answer while you read. The CSV form has no actions and is refused, and so are
// answers that are errors. Visits are listed from the newest one: see formats.Sorted.
//
// # Mapping
//
//	userId                       distinct_id                else visitorId
//	visitorId                    $device_id                 also the anonymous id where there is a userId
//	idVisit                      matomo_visit_id
//	idVisit                      $session_id                see Sessions
//	firstActionTimestamp         $session_id                the start of the session
//	lastActionTimestamp                                     tells how far the times of actions are from UTC
//	idSite                       matomo_site_id
//	visitIp                      $ip                        see Options.LookUpIP
//	referrerUrl                  $referrer                  of the first action; $direct without one
//	referrerType                 matomo_referrer_type
//	referrerName                 matomo_referrer_name       of a campaign also utm_campaign of the first action
//	referrerKeyword              matomo_referrer_keyword    of a campaign also utm_term of the first action
//	browserName                  $browser                   Safari on iOS: Mobile Safari
//	browserVersion               $browser_version           a number
//	operatingSystemName          $os                        Mac: Mac OS X
//	operatingSystemVersion       $os_version
//	deviceType                   $device_type               Smartphone: Mobile; in another language: by the system
//	deviceBrand                  $device_manufacturer       but not Unknown
//	deviceModel                  $device_model              but not Generic …
//	resolution                   $screen_width              1920x1080; also $screen_height
//	languageCode                 $browser_language          en-gb: en-GB
//	countryCode                  $geoip_country_code        also $geoip_country_name
//	country                      $geoip_country_name        without a known countryCode
//	region                       $geoip_subdivision_1_name
//	regionCode                   $geoip_subdivision_1_code
//	city                         $geoip_city_name
//	latitude                     $geoip_latitude            a number
//	longitude                    $geoip_longitude           a number
//	continent                    $geoip_continent_name
//	actionDetails.type           event                      see below
//	actionDetails.timestamp      timestamp                  a clock of the site: see Times
//	actionDetails.pageId         uuid                       version 5, with idSite and idVisit
//	actionDetails.url            $current_url               also $host, $pathname, utm_… and the ids of clicks on ads
//	actionDetails.url            url                        of an outlink or a download
//	actionDetails.pageTitle      title
//	actionDetails.eventAction    event                      of an event
//	actionDetails.eventCategory  category
//	actionDetails.eventName      label
//	actionDetails.eventValue     value                      a number
//	actionDetails.timeSpent      time_spent                 a number of seconds
//	actionDetails.revenue        revenue                    a number
//	actionDetails.itemDetails    items                      of an order
//	actionDetails.…              …                          the others, under their own names
//	actions                                                 dropped
//	events                                                  dropped
//	searches                                                dropped
//	goalConversions                                         dropped
//	interactions                                            dropped
//	visitDuration                                           dropped
//	visitConverted                                          dropped
//	visitEcommerceStatus                                    dropped
//	visitServerHour                                         dropped
//	visitLocalTime                                          dropped
//	visitLocalHour                                          dropped
//	serverTimestamp                                         dropped
//	serverDate                                              dropped
//	lastActionDateTime                                      dropped
//	daysSince…                                              dropped
//	secondsSince…                                           dropped
//	totalEcommerce…                                         dropped
//	totalAbandoned…                                         dropped
//	…Pretty…                                                dropped
//	…Icon…                                                  dropped
//	…Flag…                                                  dropped
//	icon                                                    dropped
//	iconSVG                                                 dropped
//	browser                                                 dropped
//	browserCode                                             dropped
//	browserFamily                                           dropped
//	browserFamilyDescription                                dropped
//	operatingSystem                                         dropped
//	operatingSystemCode                                     dropped
//	language                                                dropped
//	location                                                dropped
//	continentCode                                           dropped
//	siteCurrencySymbol                                      dropped
//	referrerTypeName                                        dropped
//
// A visit becomes an event for each of its actions, with the members of the visit. An action is a $pageview, an event
// has its eventAction as name, and others have their type as name: search, download, outlink, content, ecommerceOrder.
// A goal is an event goal, unless Options.NoGoals is set. An action that is listed twice, with one pageId, kind and
// time, is one event; the other is counted as left out ([SkipListedTwice]). Members of an action take precedence over
// those of its visit. If another value has a name already, or PostHog acts on it, the name gets the prefix matomo_; so
// does the title of an action other than a page view.
//
// # Times
//
// The time of an action is not in UTC: it is the time by the clock of the site, as if that were UTC. Options.Zone is
// the zone. Without it, each visit tells the difference, since its first and last times are in UTC too: if both differ
// by the same number of quarter hours, that is the difference. Else the visit is rejected: that happens where the
// clocks were set during the visit, or where firstActionTimestamp or lastActionTimestamp were not exported.
//
// # Sessions
//
// PostHog's web analytics counts only events with a $session_id. It is made of firstActionTimestamp, idVisit and
// visitorId: see formats.SessionID. So it is the same in each export, and a visit of more than 24 hours is cut, as
// PostHog does. Visits without firstActionTimestamp have no session.
//
// # Skipped and rejected
//
// Skipped are single actions as above, visits without userId and visitorId ([SkipNoID]), unless Options.Personless is
// set, and visits without actions ([SkipNoAction]). Rejected are visits without idVisit or actionDetails, or with an
// unreadable time; then the visit's events are not sent at all.
//
// # Identity
//
// The uuid of an event is derived from idSite, idVisit and pageId; of a goal also from goalPageId and goalId. Actions
// of old versions without pageId have their place in the visit, type, address and time instead. A visit with userId
// has visitorId as [hogapi.Event.AnonymousID]. Without cookies, a visitorId is another one on each day.
//
// # Tried
//
// Tried with two public answers of 2018. Goals, orders, searches, downloads and contents were tried with own records
// of the same shape only.
package matomo
