package matomo

import (
	"strings"

	"github.com/hogapi/hogapi/formats/internal/record"
)

// table maps the members of a visit. The others become properties of all its events.
var table = record.Table{
	{From: "userId", To: "distinct_id", Kind: record.Code, Note: "else visitorId"},
	{From: "visitorId", To: "$device_id", Note: "also the anonymous id where there is a userId"},
	{From: "idVisit", To: "matomo_visit_id"},
	{From: "idVisit", To: "$session_id", Kind: record.Code, Note: "see Sessions"},
	{From: "firstActionTimestamp", To: "$session_id", Kind: record.Code, Note: "the start of the session"},
	{From: "lastActionTimestamp", Kind: record.Code, Note: "tells how far the times of actions are from UTC"},
	{From: "idSite", To: "matomo_site_id"},
	{From: "visitIp", To: "$ip", Note: "see Options.LookUpIP"},
	{From: "referrerUrl", To: "$referrer", Kind: record.Code, Note: "of the first action; $direct without one"},
	{From: "referrerType", To: "matomo_referrer_type"},
	{From: "referrerName", To: "matomo_referrer_name", Note: "of a campaign also utm_campaign of the first action"},
	{From: "referrerKeyword", To: "matomo_referrer_keyword", Note: "of a campaign also utm_term of the first action"},
	{From: "browserName", To: "$browser", Kind: record.Code, Note: "Safari on iOS: Mobile Safari"},
	{From: "browserVersion", To: "$browser_version", Kind: record.Code, Note: "a number"},
	{From: "operatingSystemName", To: "$os", Kind: record.Code, Note: "Mac: Mac OS X"},
	{From: "operatingSystemVersion", To: "$os_version", Kind: record.Code},
	{From: "deviceType", To: "$device_type", Kind: record.Code, Note: "Smartphone: Mobile; in another language: by the system"},
	{From: "deviceBrand", To: "$device_manufacturer", Kind: record.Code, Note: "but not Unknown"},
	{From: "deviceModel", To: "$device_model", Note: "but not Generic …"},
	{From: "resolution", To: "$screen_width", Kind: record.Code, Note: "1920x1080; also $screen_height"},
	{From: "languageCode", To: "$browser_language", Note: "en-gb: en-GB"},
	{From: "countryCode", To: "$geoip_country_code", Kind: record.Code, Note: "also $geoip_country_name"},
	{From: "country", To: "$geoip_country_name", Note: "without a known countryCode"},
	{From: "region", To: "$geoip_subdivision_1_name"},
	{From: "regionCode", To: "$geoip_subdivision_1_code"},
	{From: "city", To: "$geoip_city_name"},
	{From: "latitude", To: "$geoip_latitude", Note: "a number"},
	{From: "longitude", To: "$geoip_longitude", Note: "a number"},
	{From: "continent", To: "$geoip_continent_name"},

	{From: "actionDetails.type", To: "event", Kind: record.Code, Note: "see below"},
	{From: "actionDetails.timestamp", To: "timestamp", Kind: record.Code, Note: "a clock of the site: see Times"},
	{From: "actionDetails.pageId", To: "uuid", Kind: record.Code, Note: "version 5, with idSite and idVisit"},
	{From: "actionDetails.url", To: "$current_url", Kind: record.Code, Note: "also $host, $pathname, utm_… and the ids of clicks on ads"},
	{From: "actionDetails.url", To: "url", Kind: record.Code, Note: "of an outlink or a download"},
	{From: "actionDetails.pageTitle", To: "title"},
	{From: "actionDetails.eventAction", To: "event", Kind: record.Code, Note: "of an event"},
	{From: "actionDetails.eventCategory", To: "category"},
	{From: "actionDetails.eventName", To: "label"},
	{From: "actionDetails.eventValue", To: "value", Kind: record.Code, Note: "a number"},
	{From: "actionDetails.timeSpent", To: "time_spent", Kind: record.Code, Note: "a number of seconds"},
	{From: "actionDetails.revenue", To: "revenue", Kind: record.Code, Note: "a number"},
	{From: "actionDetails.itemDetails", To: "items", Note: "of an order"},
	{From: "actionDetails.…", To: "…", Note: "the others, under their own names"},

	{From: "actions", Kind: record.Dropped},
	{From: "events", Kind: record.Dropped},
	{From: "searches", Kind: record.Dropped},
	{From: "goalConversions", Kind: record.Dropped},
	{From: "interactions", Kind: record.Dropped},
	{From: "visitDuration", Kind: record.Dropped},
	{From: "visitConverted", Kind: record.Dropped},
	{From: "visitEcommerceStatus", Kind: record.Dropped},
	{From: "visitServerHour", Kind: record.Dropped},
	{From: "visitLocalTime", Kind: record.Dropped},
	{From: "visitLocalHour", Kind: record.Dropped},
	{From: "serverTimestamp", Kind: record.Dropped},
	{From: "serverDate", Kind: record.Dropped},
	{From: "lastActionDateTime", Kind: record.Dropped},
	{From: "daysSince…", Kind: record.Dropped},
	{From: "secondsSince…", Kind: record.Dropped},
	{From: "totalEcommerce…", Kind: record.Dropped},
	{From: "totalAbandoned…", Kind: record.Dropped},
	{From: "…Pretty…", Kind: record.Dropped},
	{From: "…Icon…", Kind: record.Dropped},
	{From: "…Flag…", Kind: record.Dropped},
	{From: "icon", Kind: record.Dropped},
	{From: "iconSVG", Kind: record.Dropped},
	{From: "browser", Kind: record.Dropped},
	{From: "browserCode", Kind: record.Dropped},
	{From: "browserFamily", Kind: record.Dropped},
	{From: "browserFamilyDescription", Kind: record.Dropped},
	{From: "operatingSystem", Kind: record.Dropped},
	{From: "operatingSystemCode", Kind: record.Dropped},
	{From: "language", Kind: record.Dropped},
	{From: "location", Kind: record.Dropped},
	{From: "continentCode", Kind: record.Dropped},
	{From: "siteCurrencySymbol", Kind: record.Dropped},
	{From: "referrerTypeName", Kind: record.Dropped},
}

// isDropped reports whether the table drops a member of a visit or an action.
func isDropped(name string) bool {
	if dropped[name] {
		return true
	}
	for part, isAtStart := range droppedParts {
		if isAtStart && strings.HasPrefix(name, part) || !isAtStart && strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// dropped are the names of members that are dropped, and droppedParts the parts of such names: at the beginning with
// true, else anywhere.
var dropped, droppedParts = func() (names, parts map[string]bool) {
	names, parts = map[string]bool{}, map[string]bool{}
	for _, row := range table {
		switch part := strings.Trim(row.From, "…"); {
		case row.Kind != record.Dropped:
		case part != row.From:
			parts[part] = strings.HasPrefix(row.From, part)
		default:
			names[row.From] = true
		}
	}
	return names, parts
}()
