package formats_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/amplitude"
	"github.com/hogapi/hogapi/formats/ga4"
	"github.com/hogapi/hogapi/formats/mixpanel"
	"github.com/hogapi/hogapi/formats/segment"
	"github.com/hogapi/hogapi/history"
)

// oneVisit has the same events in the words of each vendor: a page view on a desktop, another web event, the view of a screen
// of a phone, and a click. The user came by an ad. Segment and RudderStack have a user agent in place of a browser.
var oneVisit = map[string]struct {
	format  history.Format
	records map[string]string
}{
	"Mixpanel": {mixpanel.Format(nil), map[string]string{
		"page": `{"event":"$mp_web_page_view","properties":{"time":1717243200,"distinct_id":"ada","$user_id":"ada","$device_id":"d1","$insert_id":"i1","$browser":"Chrome","$browser_version":125,` +
			`"$os":"Mac OS X","$current_url":"https://shop.example/a?utm_source=news&gclid=G1","$referrer":"https://www.google.com/","mp_country_code":"DE"}}`,
		"event": `{"event":"Order Placed","properties":{"time":1717243201,"distinct_id":"ada","$insert_id":"i2","$browser":"Chrome","$os":"Mac OS X","$current_url":"https://shop.example/b"}}`,
		"phone": `{"event":"App Opened","properties":{"time":1717243202,"distinct_id":"ada","$insert_id":"i3","$os":"iPhone OS","$os_version":"17.2","$model":"iPhone14,5","$app_version_string":"2.1"}}`,
		"click": `{"event":"$mp_click","properties":{"time":1717243203,"distinct_id":"ada","$insert_id":"i4","$os":"Windows"}}`,
		"leave": `{"event":"$mp_page_leave","properties":{"time":1717243204,"distinct_id":"ada","$insert_id":"i5","$os":"Windows"}}`,
	}},
	"Amplitude": {amplitude.Format(nil), map[string]string{
		"page": `{"event_type":"[Amplitude] Page Viewed","event_time":"2024-06-01 12:00:00.000000","user_id":"ada","device_id":"d1","uuid":"0190f3c0-0000-4000-8000-000000000001","session_id":1717243200000,` +
			`"platform":"Web","library":"amplitude-ts/2.0","os_name":"Chrome","os_version":"125","device_type":"Mac","language":"German","country":"Germany",` +
			`"event_properties":{"[Amplitude] Page Location":"https://shop.example/a","referrer":"https://www.google.com/"},"user_properties":{"utm_source":"news","gclid":"G1"}}`,
		"event": `{"event_type":"Order Placed","event_time":"2024-06-01 12:00:01.000000","user_id":"ada","device_id":"d1","session_id":1717243200000,"platform":"Web","os_name":"Chrome","device_type":"Mac",` +
			`"event_properties":{"[Amplitude] Page URL":"https://shop.example/b"}}`,
		"phone": `{"event_type":"[Amplitude] Screen Viewed","event_time":"2024-06-01 12:00:02.000000","user_id":"ada","device_id":"d2","session_id":1717243200000,"platform":"iOS","os_name":"ios","os_version":"17.2",` +
			`"device_family":"Apple iPhone","device_model":"iPhone14,5","version_name":"2.1","event_properties":{"[Amplitude] Screen Name":"Cart"}}`,
		"click": `{"event_type":"[Amplitude] Element Clicked","event_time":"2024-06-01 12:00:03.000000","user_id":"ada","device_id":"d1","session_id":1717243200000}`,
	}},
	"Segment":     {segment.Format(&segment.Options{NoGroups: true, UserAgent: agent}), segmentVisit("analytics.js", "")},
	"RudderStack": {segment.Format(&segment.Options{NoGroups: true, UserAgent: agent}), segmentVisit("RudderLabs JavaScript SDK", `"sessionId":1717243200000,`)},
	"GA4": {ga4.Format(nil), map[string]string{
		"page": `{"event_date":"20240601","event_timestamp":"1717243200000000","event_name":"page_view","user_pseudo_id":"d1","user_id":"ada","event_params":[` +
			`{"key":"page_location","value":{"string_value":"https://shop.example/a?utm_source=news&gclid=G1"}},{"key":"page_referrer","value":{"string_value":"https://www.google.com/"}},` +
			`{"key":"ga_session_id","value":{"int_value":"1717243200"}}],"device":{"category":"desktop","operating_system":"Macintosh","operating_system_version":"Intel 10.15","language":"de",` +
			`"web_info":{"browser":"Chrome","browser_version":"125"}},"geo":{"country":"Germany"}}`,
		"event": `{"event_date":"20240601","event_timestamp":"1717243201000000","event_name":"purchase","user_pseudo_id":"d1","user_id":"ada","event_params":[` +
			`{"key":"page_location","value":{"string_value":"https://shop.example/b"}}],"device":{"category":"desktop","operating_system":"Macintosh"}}`,
		"phone": `{"event_date":"20240601","event_timestamp":"1717243202000000","event_name":"screen_view","user_pseudo_id":"d2","user_id":"ada","event_params":[` +
			`{"key":"firebase_screen","value":{"string_value":"Cart"}}],"device":{"category":"mobile","operating_system":"iOS","operating_system_version":"iOS 17.2","mobile_model_name":"iPhone14,5"},` +
			`"app_info":{"version":"2.1"}}`,
	}},
}

func segmentVisit(library, session string) map[string]string {
	of := func(id, rest, context string) string {
		return fmt.Sprintf(`{%s,"messageId":%q,"userId":"ada","anonymousId":"d1","timestamp":"2024-06-01T12:00:00Z","context":{%s"library":{"name":%q},%s}}`, rest, id, session, library, context)
	}
	const web = `"userAgent":"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/125.0.0.0 Safari/537.36","locale":"de-DE",`
	return map[string]string{
		"page":  of("m1", `"type":"page"`, web+`"page":{"url":"https://shop.example/a?utm_source=news&gclid=G1","path":"/a","referrer":"https://www.google.com/"}`),
		"event": of("m2", `"type":"track","event":"Order Placed","properties":{}`, web+`"page":{"url":"https://shop.example/b"}`),
		"phone": of("m3", `"type":"screen","name":"Cart"`, `"os":{"name":"iOS","version":"17.2"},"device":{"model":"iPhone14,5","type":"ios"},"app":{"version":"2.1"}`),
	}
}

// agent knows one user agent, as formats/useragent does.
func agent(text string) formats.Agent {
	if !strings.Contains(text, "Chrome/125") {
		return formats.Agent{}
	}
	return formats.Agent{Browser: "Chrome", BrowserVersion: "125", OS: "Mac OS X", OSVersion: "10.15.7", DeviceType: "Desktop"}
}

// live are the values that PostHog's own SDKs would have sent of these events. A vendor that does not record one is in
// lacks.
var live = []struct {
	record, property, want string
	lacks                  string
}{
	{"page", "event", "$pageview", ""}, {"page", "$current_url", "", ""}, {"page", "$host", "shop.example", ""}, {"page", "$pathname", "/a", ""},
	{"page", "utm_source", "news", ""}, {"page", "gclid", "G1", ""}, {"page", "$referring_domain", "www.google.com", ""},
	{"direct", "$referring_domain", "$direct", ""},
	{"page", "$browser", "Chrome", ""}, {"page", "$browser_version", "125", ""}, {"page", "$os", "Mac OS X", ""}, {"page", "$device_type", "Desktop", ""},
	{"page", "$browser_language", "", "Mixpanel"}, {"page", "$geoip_country_code", "DE", "Segment RudderStack"},
	{"page", "$session_id", "", "Mixpanel Segment"},
	{"event", "$host", "shop.example", ""}, {"event", "$pathname", "/b", ""}, {"event", "$device_type", "Desktop", ""},
	{"phone", "event", "$screen", "Mixpanel"}, {"phone", "$screen_name", "Cart", "Mixpanel"}, {"phone", "$os", "iOS", ""}, {"phone", "$os_version", "17.2", ""},
	{"phone", "$device_type", "Mobile", ""}, {"phone", "$device_model", "iPhone14,5", ""}, {"phone", "$app_version", "2.1", ""},
	{"click", "event", "$autocapture", "Segment RudderStack GA4"}, {"leave", "event", "$pageleave", "Amplitude Segment RudderStack GA4"},
}

var vendorColumns = []string{"Mixpanel", "Amplitude", "Segment", "RudderStack", "GA4"}

var updateDocs = flag.Bool("update-docs", false, "write the table of docs/formats.md")

// Each vendor's events have the properties of live ones, in their values; docs/formats.md has the table.
func TestPropertiesOfLiveEvents(t *testing.T) {
	made := map[string]map[string]string{} // by vendor: record and property
	for vendor, visit := range oneVisit {
		made[vendor] = map[string]string{}
		visit.records["direct"] = strings.Replace(visit.records["page"], "https://www.google.com/", "", 1)
		for name, raw := range visit.records {
			events, err := visit.format.Convert([]byte(raw))
			require.NoError(t, err, "%s %s", vendor, name)
			var properties map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(events[0].RawProperties, &properties))
			for key, value := range properties {
				made[vendor][name+" "+key] = strings.Trim(string(value), `"`)
			}
			made[vendor][name+" event"] = events[0].Name
		}
	}
	var table bytes.Buffer
	fmt.Fprintf(&table, "| of | property | %s |\n|%s\n", strings.Join(vendorColumns, " | "), strings.Repeat(" --- |", 2+len(vendorColumns)))
	for _, row := range live {
		fmt.Fprintf(&table, "| %s | `%s` |", map[string]string{"page": "a page view", "direct": "a page view without a referrer", "event": "any web event", "phone": "a phone", "click": "a click", "leave": "the end of a page"}[row.record], cmp.Or(map[bool]string{true: row.want}[row.property == "event"], row.property))
		for _, vendor := range vendorColumns {
			got, isMade := made[vendor][row.record+" "+row.property]
			cell := "yes"
			if strings.Contains(row.lacks, vendor) {
				assert.False(t, isMade && row.property != "event", "%s: %s %s is made, of nothing", vendor, row.record, row.property)
				cell = "–"
			} else {
				assert.True(t, isMade, "%s: %s has no %s", vendor, row.record, row.property)
				assert.True(t, row.want == "" || got == row.want, "%s: %s: %s is %q, want %q", vendor, row.record, row.property, got, row.want)
			}
			fmt.Fprintf(&table, " %s |", cell)
		}
		table.WriteString("\n")
	}
	keepSection(t, "live", "end", "\n"+table.String())
}

// keepSection compares the text between two comments of docs/formats.md with a text, or writes it there.
func keepSection(t *testing.T, begin, end, text string) {
	t.Helper()
	const path = "../docs/formats.md"
	begin, end = "<!-- "+begin+" -->\n", "\n<!-- "+end+" -->"
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(page), begin)
	require.True(t, ok)
	was, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	if *updateDocs {
		require.NoError(t, os.WriteFile(path, []byte(before+begin+text+end+after), 0o600))
		return
	}
	assert.Equal(t, text, was, "go test ./formats -run %s -update-docs writes it", t.Name())
}

// fieldTables are the packages with a table of fields in their documentation, which the tests of the packages compare
// with the code.
var fieldTables = []struct{ vendor, folder, section string }{
	{"Amplitude", "amplitude", "Mapping"},
	{"Amplitude in a warehouse", "warehouse", "Amplitude"},
	{"Google Analytics 4", "ga4", "Mapping"},
	{"Google Analytics 4 in a warehouse", "warehouse", "Google Analytics 4"},
	{"Heap", "heap", "Mapping"},
	{"Matomo", "matomo", "Mapping"},
	{"Mixpanel", "mixpanel", "Mapping"},
	{"Pendo", "pendo", "Mapping"},
	{"PostHog's own exports", "posthogexport", "Mapping"},
	{"Segment and RudderStack: calls", "segment", "Calls"},
	{"Segment and RudderStack", "segment", "Mapping"},
	{"Segment and RudderStack in a warehouse", "warehouse", "Segment and RudderStack"},
	{"Snowplow", "snowplow", "Mapping"},
	{"Umami", "umami", "Mapping"},
}

// tablesOf are the indented lines of a section in the doc.go of a package.
func tablesOf(t *testing.T, folder, section string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "doc.go"))
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), "// # "+section+"\n")
	require.True(t, ok, "%s has no section %s", folder, section)
	rest, _, _ = strings.Cut(rest, "\n// # ")
	var lines []string
	for line := range strings.Lines(rest) {
		switch row, isIndented := strings.CutPrefix(line, "//\t"); {
		case isIndented:
			lines = append(lines, row)
		case len(lines) > 0 && lines[len(lines)-1] != "\n":
			lines = append(lines, "\n")
		}
	}
	return strings.TrimSpace(strings.Join(lines, "")) + "\n"
}

// docs/formats.md has the tables of the documentation of all formats.
func TestTablesOfFields(t *testing.T) {
	var tables strings.Builder
	for _, of := range fieldTables {
		table := tablesOf(t, of.folder, of.section)
		assert.Greater(t, strings.Count(table, "\n"), 5, "%s has no table", of.vendor)
		tables.WriteString("\n### " + of.vendor + "\n\nPackage `formats/" + of.folder + "`.\n\n```text\n" + table + "```\n")
	}
	keepSection(t, "tables", "end of tables", tables.String())
}
