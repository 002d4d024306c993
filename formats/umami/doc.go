// Package umami converts rows of Umami's table website_event to events.
//
//	source := history.Files(umami.Format(nil), "website_event.csv")
//
// # Files
//
// The data export of Umami Cloud has a file website_event.csv, and the properties of its events in event_data.csv. Where that
// has rows, these commands of sqlite3 write both into one file:
//
//	.import --csv website_event.csv e
//	.import --csv event_data.csv d
//	CREATE INDEX of_event ON d (event_id);
//	.headers on
//	.mode csv
//	.once events.csv
//	SELECT e.*, (SELECT json_group_object(data_key, CASE WHEN number_value IN ('', '\N') THEN string_value ELSE number_value + 0 END)
//	  FROM d WHERE d.event_id = e.event_id) AS event_data
//	FROM e ORDER BY e.created_at;
//
// Of an own Umami, this query of PostgreSQL writes a file
// with the same columns, and with the data of events:
//
//	\copy (
//	  SELECT e.*, s.browser, s.os, s.device, s.screen, s.language, s.country, s.region, s.city, s.distinct_id,
//	    (SELECT json_object_agg(d.data_key, coalesce(to_json(d.number_value), to_json(d.date_value), to_json(d.string_value)))
//	       FROM event_data d WHERE d.website_event_id = e.event_id) AS event_data
//	  FROM website_event e LEFT JOIN session s USING (session_id) ORDER BY e.created_at
//	) TO 'website_event.csv' CSV HEADER
//
// Leave out columns that your version does not have, such as distinct_id. Restore a pg_dump into a database first.
// JSON lines and Parquet files with these columns are read too, and \N is a null. A file of another table is refused,
// and so are the files that the export button of Umami writes: they have totals.
//
// # Mapping
//
//	event_type       event                      1: $pageview; 5 is skipped; see below
//	event_name       event                      but not of page views
//	created_at       timestamp                  in UTC where it has no zone
//	event_id         uuid                       version 5 of it where it is not a UUID
//	distinct_id      distinct_id                else session_id
//	session_id       $device_id                 also the anonymous id where there is a distinct_id
//	visit_id         umami_visit_id             see Sessions
//	website_id       website_id
//	hostname         $host
//	url_path         $pathname
//	url_path         $current_url               https:// with hostname, url_path and url_query
//	url_query        $current_url               also the ids of clicks on ads
//	page_title       title
//	referrer_domain  $referring_domain          $direct in a page view without one
//	referrer_path    $referrer                  https:// with referrer_domain, this and referrer_query
//	referrer_query   $referrer
//	utm_source       utm_source
//	utm_medium       utm_medium
//	utm_campaign     utm_campaign
//	utm_content      utm_content
//	utm_term         utm_term
//	gclid            gclid
//	fbclid           fbclid
//	msclkid          msclkid
//	ttclid           ttclid
//	li_fat_id        li_fat_id
//	twclid           twclid
//	browser          $browser                   chrome: Chrome; ios: Mobile Safari
//	os               $os                        Mac OS: Mac OS X; Windows 10: Windows and $os_version 10
//	device           $device_type               laptop: Desktop
//	screen           $screen_width              1920x1080; also $screen_height
//	language         $browser_language
//	country          $geoip_country_code        also $geoip_country_name
//	region           $geoip_subdivision_1_code  DE-RP: RP
//	city             $geoip_city_name
//	ip               $ip                        of own queries; see Options.LookUpIP
//	event_data       …                          of own queries: the members of an object, under their own names
//	job_id                                      dropped
//
// An event of the type 2 has its own name, a link (3) or pixel (4) has its own name or link and pixel, and a
// measurement of the speed of a page (5) is skipped. Umami does not keep the scheme of addresses: they get https://.
// If another value has a name already, the name gets the prefix umami_.
//
// # Sessions
//
// The id of a visit does not tell when it began. The property umami_visit_id has it ([SessionKey]), and
// formats.Sessions makes sessions of it, which PostHog's web analytics needs:
//
//	sorted := formats.Sorted(history.Files(umami.Format(nil), "website_event.csv"), "work")
//	source := formats.Sessions(sorted, &formats.SessionOptions{Key: umami.SessionKey})
//
// # Skipped and rejected
//
// Skipped are rows without an id of a person ([SkipNoID]) and measurements of speed ([SkipPerformance]). Rejected are
// rows without a time that can be read, events without a name, and unknown types.
//
// # Identity
//
// The uuid is event_id. The person is distinct_id where the site has set one, else session_id, which Umami makes of
// the website, the address, the browser and a salt. By default the salt changes each month, so that a visitor is
// another person in each month. A row with both has the session_id as [hogapi.Event.AnonymousID]. Umami keeps no
// e-mail or name.
//
// # Tried
//
// Tried with ten public rows of a dump, under the header of the export of the cloud. Events with data, links and
// pixels were not tried on a real file.
package umami
