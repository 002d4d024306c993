// Package heap converts rows of Heap Connect to events.
//
//	source := history.Files(heap.Format(nil), "export/pageviews-*.csv")
//	signUps := history.Files(heap.Format(&heap.Options{Event: "Sign Up"}), "export/sign_up-*.csv")
//
// # Files
//
// Rows of the tables in Redshift, BigQuery or Snowflake, as CSV, JSON lines or Parquet, and the JSON that Heap's
// support exports. The Avro files of the export to S3 are to be loaded into a warehouse first. Heap has a table for
// each event that was defined, and one interaction may be in several. Read the table pageviews and the tables of the
// events you need; all_events has no properties, and its rows have the uuids of the events in the other tables. The
// table sessions is refused.
//
// # Mapping
//
//	type              event                        see below; also $event_type of clicks, changes and submits
//	event_table_name  event                        of all_events
//	time              timestamp                    in UTC where it has no zone
//	event_id          uuid                         version 5 of it
//	user_id           distinct_id                  of users the anonymous id, where there is an identity
//	identity          distinct_id                  of users
//	from_user_id      $anon_distinct_id            of user_migrations
//	to_user_id        distinct_id                  of user_migrations
//	joindate          timestamp                    of users
//	last_modified                                  dropped
//	session_id        heap_session_id              a text; see Sessions
//	session_time                                   dropped
//	domain            $host                        else the host of landing_page
//	path              $pathname
//	path              $current_url                 https:// with the host, path, query and hash
//	query             $current_url                 also utm_… and the ids of clicks on ads
//	hash              $current_url
//	title             title
//	landing_page      $session_entry_url
//	referrer          $session_entry_referrer      also $referrer of the landing page; direct: $direct
//	utm_source        $session_entry_utm_source    also utm_source of the landing page; the others alike
//	utm_medium        $session_entry_utm_medium
//	utm_campaign      $session_entry_utm_campaign
//	utm_term          $session_entry_utm_term
//	utm_content       $session_entry_utm_content
//	browser           $browser                     Chrome 122.0: also $browser_version
//	platform          $os                          Mac OS X 14.3: also $os_version
//	device_type       $device_type                 Mobile, Tablet, Desktop
//	device            $device_model
//	carrier           $network_carrier
//	app_name          $app_name
//	app_version       $app_version
//	view_controller   $screen_name
//	library           $lib
//	ip                $ip                          also IP
//	country           $geoip_country_name          also $geoip_country_code
//	region            $geoip_subdivision_1_name
//	city              $geoip_city_name
//	target_text       $el_text                     of clicks
//	properties        …                            of the JSON that support exports: under their own names
//	id                distinct_id                  of the same: the second number
//	object            event                        of the same, without type
//
// A row of pageviews is a $pageview. A table of an event is named by Options.Event, since its rows do not have the
// name; a custom event has its name in the column type. If another value has a name already, or PostHog acts on it,
// the name gets the prefix heap_. Ids of 64 bits are texts, so that no digit is lost.
//
// The columns referrer, landing_page and utm_… describe the first page of the session, in all of its rows. They become
// $session_entry_…, and only the view of the landing page has them as its own too.
//
// # Sessions
//
// The id of a session does not tell when it began. The property heap_session_id has it ([SessionKey]), and
// formats.Sessions makes sessions of it, which PostHog's web analytics needs: see formats.SessionOptions.
//
// # Skipped and rejected
//
// Skipped are rows without user_id ([SkipNoID]) and users without an identity and properties ([SkipNoIdentity]).
// Rejected are rows without a time that can be read, and interactions such as clicks without Options.Event.
//
// # Identity
//
// The uuid is derived from event_id. A row of users with an identity becomes an $identify event of the time joindate,
// which joins its user_id to the identity, with its other columns as properties of the person. A row of
// user_migrations becomes one that joins from_user_id to to_user_id. Import user_migrations and users before the
// events, which name only the user_id:
//
//	source := history.Concat(migrations, users, events)
//
// # Tried
//
// No real row of Heap was found in public: this package was tried only with rows made after the documentation. Check a
// sample first, and compare it with Heap.
package heap
