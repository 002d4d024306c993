// Package warehouse converts rows of the tables that Segment, RudderStack, Amplitude, Google Analytics 4 and loaders
// keep in a warehouse to events.
//
//	source := history.Files(warehouse.Segment(nil, nil), "export/tracks-*.csv", "export/pages-*.csv")
//
// A row becomes the record that the vendor's own files have, and the vendor's package converts that: its documentation
// has the mapping of each member, the options, and the reasons for skips and rejects. An event has the same uuid as in
// the vendor's files, where these have one for it: so a history may come from both.
//
// # Files
//
// CSV with a header, JSON lines, and with formats/parquet Parquet files:
//
//	source := parquet.Files(warehouse.Segment(nil, nil), nil, "export/tracks/*.parquet")
//
// A time without a zone is in UTC, as in these tables. The names of columns may be in capital letters, as in
// Snowflake. Empty columns are absent. Rows are in no order: see formats.Sorted. Columns in which a loader keeps its
// own books (_fivetran_synced, _sdc_…, _airbyte_…) are left out, and rows that it has marked as deleted are skipped
// ([SkipDeleted]).
//
// CSV has only texts. Columns of the tables below that are numbers become numbers, lists and objects in texts are
// read, and everything else stays a text: name further columns with numbers in Options.Numbers. Parquet has numbers
// itself.
//
// # Segment and RudderStack
//
// [Segment] reads the tables tracks, pages, screens, identifies, groups and aliases, and the tables of single events.
// The columns tell the table: event is of tracks, group_id of groups, previous_id of aliases, url or path of pages,
// email of identifies, as is a table without name. In other tables it is to be named in Options.Table, else rows are
// rejected. The table tracks has all events without their properties, and the table of an event has them: import the
// tables of single events; rows of both have one uuid. A file of the table users is refused: its rows are no events.
//
// Columns become members of a call, which package [segment] converts:
//
//	id                           messageId
//	anonymous_id                 anonymousId
//	user_id                      userId
//	timestamp                    timestamp                   in UTC where it has no zone
//	original_timestamp           originalTimestamp           the same
//	sent_at                      sentAt                      the same
//	event_text                   event                       of tracks
//	event                        event                       of tracks, without event_text
//	name                         name                        of pages and screens
//	group_id                     groupId                     of groups
//	previous_id                  previousId                  of aliases
//	context_ip                   context.ip
//	context_request_ip           context.ip                  without context_ip: RudderStack
//	context_user_agent           context.userAgent
//	context_locale               context.locale
//	context_timezone             context.timezone
//	context_session_id           context.sessionId           a number
//	context_group_id             context.groupId
//	context_page_…               context.page.…              url, path, title, referrer, search and others
//	context_campaign_…           context.campaign.…          name, source, medium, term, content and others
//	context_library_…            context.library.…           name, version
//	context_os_…                 context.os.…                name, version
//	context_device_…             context.device.…            id, manufacturer, model, name, type
//	context_app_…                context.app.…               name, version, build, namespace
//	context_screen_inner_width   context.screen.innerWidth   a number
//	context_screen_inner_height  context.screen.innerHeight  a number
//	context_screen_…             context.screen.…            width, height, density: numbers
//	context_network_…            context.network.…           carrier; wifi, cellular, bluetooth: true or false
//	context_traits_…             context.traits.…
//	context_…                    context.…                   the others, with the names of the columns
//	received_at                                              dropped
//	uuid                                                     dropped
//	uuid_ts                                                  dropped
//	loaded_at                                                dropped
//	…                            properties.…                of tracks, pages and screens
//	…                            traits.…                    of identifies and groups
//
// An identify call in a table has no traits that were empty. Segment loads an id once.
//
// # Amplitude
//
// [Amplitude] reads the table event of Fivetran and the tables of Amplitude's own exports to warehouses. Columns
// become fields of a row, which package [amplitude] converts:
//
//	_insert_id            $insert_id
//	id                    event_id              a number
//	event_id              event_id              a number
//	session_id            session_id            a number
//	amplitude_id          amplitude_id          a number
//	location_lat          location_lat          a number
//	location_lng          location_lng          a number
//	event_properties      event_properties      JSON in a text
//	user_properties       user_properties       the same
//	groups                groups                the same
//	group_properties      group_properties      the same
//	plan                  plan                  the same
//	data                  data                  the same
//	is_attribution_event  is_attribution_event  true or false
//	paying                paying                true or false
//	ad_id                 adid
//	schema                $schema
//	amplitude_event_type  amplitude_event_type
//	event_type_id                               dropped
//	_fivetran_id                                dropped
//	…                     …                     the other columns are fields of a row of Amplitude
//
// [AmplitudePeople] makes persons of the same rows.
//
// # Google Analytics 4
//
// [GA4] reads the table event of Fivetran's connector for the export of GA4 to BigQuery. Tables of connectors that load
// reports have totals, not events. Columns become columns of a BigQuery row, which package [ga4] converts:
//
//	_fivetran_id                uuid                        version 5 of it
//	name                        event_name
//	timestamp                   event_timestamp             in UTC where it has no zone
//	date                        event_date                  20240229
//	bundle_sequence_id          event_bundle_sequence_id
//	value_in_usd                event_value_in_usd
//	is_intraday                                             dropped
//	param_…                     event_params.…              numbers where they are known, such as ga_session_id
//	user_property_…             user_properties.…
//	device_web_info_…           device.web_info.…
//	device_…                    device.…
//	geo_…                       geo.…
//	app_info_…                  app_info.…
//	event_dimensions_…          event_dimensions.…
//	collected_traffic_source_…  collected_traffic_source.…
//	traffic_source_…            traffic_source.…
//	ecommerce_…                 ecommerce.…
//	privacy_info_…              privacy_info.…
//	user_ltv_…                  user_ltv.…
//	…                           …                           the other columns are columns of GA4
//
// An event has a uuid of version 5 of _fivetran_id, so it is not the one of the same event from BigQuery itself. Rows
// without it have one as package ga4 says.
//
// # Tried
//
// The pages of Segment and the tables of Fivetran were tried with the public test data of their dbt packages. The
// tables of RudderStack, the other tables of Segment and Amplitude's own exports were not tried on a real file.
package warehouse
