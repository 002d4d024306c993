package amplitude_test

import (
	"archive/zip"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/amplitude"
	"github.com/hogapi/hogapi/formats/internal/formattest"
)

// generator makes rows as Amplitude exports them, with every trap at one to ten percent, and notes the expected events. It knows
// Amplitude, not the converter.
type generator struct {
	formattest.Generator

	files [][][]byte // rows by hour of upload
	rows  int
}

const hours = 48

var firstUpload = time.Date(2023, 6, 1, 0, 0, 0, 0, time.UTC)

const layout = "2006-01-02 15:04:05.000000"

// add adds a row to the file of an hour, and in some cases to that of the next hour too, as an export of the
// hour that two ranges share does.
func (g *generator) add(hour int, row map[string]any) (times int) {
	line := formattest.Line(row)
	_, hasID := row["uuid"].(string)
	for times = 1; ; times++ {
		g.files[hour] = append(g.files[hour], line)
		g.rows++
		if times == 2 || hour+1 == hours || !hasID || !g.Percent(3) {
			return times
		}
		hour++
	}
}

// row makes a row, with all its keys, and notes the expected events.
func (g *generator) row() {
	hour := g.IntN(hours)
	upload := firstUpload.Add(time.Duration(hour)*time.Hour + time.Duration(g.IntN(3_600_000))*time.Millisecond)
	row := map[string]any{
		"$schema": nil, "$insert_key": nil, "adid": nil, "amplitude_id": 1000 + g.IntN(500), "app": 636686, "data": map[string]any{"path": "/2/httpapi"},
		"data_type": "event", "dma": nil, "language": "English", "library": "amplitude-ts/2.5.1", "plan": map[string]any{}, "paying": nil,
		"processed_time": upload.Add(time.Second).Format(layout), "server_upload_time": upload.Format(layout), "event_id": g.IntN(3), "session_id": -1,
		"event_properties": map[string]any{"n": g.IntN(100), "Total Price": 10.0}, "groups": map[string]any{}, "group_properties": map[string]any{},
	}
	switch { // variants of older exports
	case g.Percent(5):
		row["$schema"], row["plan"], row["paying"] = 12, nil, "true"
	case g.Percent(5):
		row["paying"], row["is_attribution_event"], row["amplitude_attribution_ids"] = 1, false, []any{"c37e"}
	}
	if g.Percent(3) { // names on which PostHog acts
		row["event_properties"] = map[string]any{"$set": 1, "distinct_id": "other", "$groups": "x", "$session_id": 5, "$process_person_profile": "no"}
	}
	name, skip := g.name(row)
	person, linked := g.person(row)
	at, hasTime := g.times(row, upload)
	hasID := g.ids(row)
	notes := slices.Concat(g.system(row), g.users(row), g.page(row, name), g.place(row), g.session(row, at))
	if g.Percent(1) {
		row = map[string]any{"amplitude_id": 5, "merged_amplitude_id": 6, "merge_event_time": upload.Format(layout)}
		skip, hasTime = amplitude.SkipMergedUsers, true
	}
	if name == "$groupidentify" && skip == "" {
		g.groupRow(hour, row, at, hasTime, hasID)
		return
	}
	var groups []string
	if g.Percent(10) {
		groups = g.groups(row)
		if len(row["groups"].(map[string]any)) > 0 {
			notes = append(notes, "groups")
		}
	}
	if skip == "" && person == "" {
		skip = amplitude.SkipNoID
	}
	switch times := int64(g.add(hour, row)); {
	case skip != "":
		g.Want.Skips[skip] += times
	case !hasTime:
		g.Want.Rejects += times
	default:
		for range times {
			g.Event(at, name, append(notes, formattest.IDs(person, linked, hasID)...)...)
			if id, ok := row["uuid"].(string); ok {
				g.Uses(id)
			}
			for _, content := range groups {
				g.Event(at, "$groupidentify", formattest.IDs("group", "", true)...)
				g.Uses(content + at.Format(layout))
			}
		}
	}
}

// groupRow notes a row of Amplitude's own $groupidentify.
func (g *generator) groupRow(hour int, row map[string]any, at time.Time, hasTime, hasID bool) {
	g.groups(row)
	groups := row["groups"].(map[string]any)
	keys := 0
	for _, list := range groups {
		keys += len(list.([]any))
	}
	times := g.add(hour, row)
	switch {
	case !hasTime:
		g.Want.Rejects += int64(times)
	case keys == 0:
		g.Want.Skips[amplitude.SkipNoGroup] += int64(times)
	default:
		for range times {
			for range keys {
				g.Event(at, "$groupidentify", formattest.IDs("group", "", hasID)...)
			}
			if id, ok := row["uuid"].(string); ok {
				g.Uses(id)
				for i := 1; i < keys; i++ {
					g.Uses(fmt.Sprint(id, i))
				}
			}
		}
	}
}

// groups sets groups and their properties, and returns the content of each $groupidentify.
func (g *generator) groups(row map[string]any) (contents []string) {
	groups, properties := map[string]any{}, map[string]any{}
	switch g.IntN(4) {
	case 0:
		groups["[Segment] Group"] = []any{"acme"}
		properties["[Segment] Group"] = map[string]any{"acme": map[string]any{}}
	case 1:
		groups["company"] = []any{"acme", "more"}
	case 2:
		tier := g.IntN(5)
		groups["company"] = []any{"acme"}
		properties["company"] = map[string]any{"acme": map[string]any{"tier": tier}}
		contents = append(contents, fmt.Sprint("company acme ", tier))
	}
	row["groups"], row["group_properties"] = groups, properties
	return contents
}

// name sets the event's name, and returns PostHog's, or why the row is skipped.
func (g *generator) name(row map[string]any) (name, skip string) {
	names := []string{"Screen: Login", "Order Submitted", "session_end"}
	switch k := g.IntN(100); {
	case k < 2:
		return "", amplitude.SkipNoEventType
	case k < 10:
		row["event_type"] = "session_start"
		return "", amplitude.SkipSessionStart
	case k < 20:
		row["event_type"] = "[Amplitude] Page Viewed"
		return "$pageview", ""
	case k < 25:
		row["event_type"] = []string{"[Amplitude] Element Clicked", "[Amplitude] Element Changed"}[g.IntN(2)]
		return "$autocapture", ""
	case k < 27:
		row["event_type"] = "$identify"
	case k < 29:
		row["event_type"] = "$groupidentify"
	default:
		row["event_type"] = names[g.IntN(len(names))]
	}
	return row["event_type"].(string), ""
}

// person sets the ids, and returns the kinds of the event's id and of the one that is linked to it.
func (g *generator) person(row map[string]any) (kind, linked string) {
	n, k := g.IntN(500), g.IntN(100)
	user, device := fmt.Sprintf("user-%d", n), fmt.Sprintf("dev-%d", n)
	for _, c := range []struct {
		below        int
		user, device any
		kind, linked string
	}{
		{2, nil, nil, "", ""},
		{4, " ", "", "", ""},
		{30, nil, device, "dev", ""},
		{33, "", device, "dev", ""},
		{36, user, "   ", "user", ""},
		{41, user, nil, "user", ""},
		{43, 100_000 + n, device, "digits", "dev"},
		{48, fmt.Sprintf("user-%d", g.IntN(500)), fmt.Sprintf("dev-%d", n/100), "user", "dev"}, // a device of several users
		{100, user, device, "user", "dev"},
	} {
		if k < c.below {
			row["user_id"], row["device_id"] = c.user, c.device
			return c.kind, c.linked
		}
	}
	panic("not reached")
}

func kindOf(id string) string {
	switch {
	case strings.Trim(id, "0123456789") == "":
		return "digits"
	case id[0] == '$':
		return "group"
	}
	kind, _, _ := strings.Cut(id, "-")
	return kind
}

// times sets the times, and returns the one that counts.
func (g *generator) times(row map[string]any, upload time.Time) (at time.Time, isThere bool) {
	at = upload.Add(-time.Duration(g.IntN(60_000)) * time.Millisecond)
	if g.Percent(5) { // the telephone was offline
		at = at.Add(-time.Duration(g.IntN(20*24)) * time.Hour)
	}
	client, received := at.Add(-time.Duration(g.IntN(5))*time.Second), upload
	row["event_time"], row["client_event_time"] = at.Format(layout), client.Format(layout)
	row["server_received_time"] = received.Format(layout)
	switch k := g.IntN(100); {
	case k < 2:
		row["event_time"] = nil
		return client, true
	case k < 4:
		row["event_time"], row["client_event_time"] = "invalid", ""
		return received, true
	case k < 6:
		row["event_time"], row["client_event_time"], row["server_received_time"] = nil, nil, nil
		return time.Time{}, false
	case k < 9: // without a fraction
		row["event_time"] = at.Format(time.DateTime)
		return at.Truncate(time.Second), true
	case k < 12: // as to S3
		row["event_time"] = at.Format("2006-01-02T15:04:05.000000")
	}
	return at, true
}

// ids sets the ids of the row.
func (g *generator) ids(row map[string]any) (hasID bool) {
	id := g.UUID().String()
	row["$insert_id"] = []string{id, "ajs-" + id + ":CS4fUc2U9U", "Order Submitted:" + id}[g.IntN(3)]
	switch k := g.IntN(100); {
	case k < 3: // without uuid
		return true
	case k < 6:
		delete(row, "$insert_id")
		return false
	case k < 8:
		row["uuid"] = "row " + id
	default:
		row["uuid"] = g.UUID().String()
	}
	return true
}

// system sets the platform of the event, and returns the properties that the event must have.
func (g *generator) system(row map[string]any) []string {
	switch g.IntN(4) {
	case 0:
		row["platform"], row["os_name"], row["os_version"], row["device_type"] = "Web", "Chrome", "122", "Mac"
		return []string{"$browser=Chrome", "$browser_version=122", "$os=Mac OS X", "$device_type=Desktop"}
	case 1:
		row["platform"], row["os_name"], row["os_version"], row["device_type"] = "Web", "Firefox", "126.0.1", nil
		return []string{"$browser=Firefox", "$browser_version=126"}
	case 2:
		row["platform"], row["os_name"], row["os_version"], row["device_type"] = "iOS", "ios", "18.5", nil
		return []string{"$os=iOS", "$os_version=18.5", "$device_type=Mobile"}
	}
	row["platform"], row["os_name"] = nil, nil // a server
	return nil
}

// users sets user properties, and returns the properties that the event must have.
func (g *generator) users(row map[string]any) (notes []string) {
	p := map[string]any{"plan": "team", "initial_utm_source": "EMPTY", "initial_rtd_cid": "EMPTY"}
	notes = []string{"once plan"}
	if g.Percent(10) {
		p["initial_utm_term"], p["initial_referrer"] = "shoes", "https://news.example/"
		notes = append(notes, "once $initial_referrer", "once $initial_utm_term")
	}
	row["user_properties"] = p
	return notes
}

// notes returns the facts of an event that the test compares.
func notes(ev hogapi.Event) []string {
	notes := formattest.IDsOf(ev, kindOf)
	var p map[string]any
	if err := json.Unmarshal(ev.RawProperties, &p); err != nil {
		return []string{err.Error()}
	}
	for _, name := range []string{
		"$browser", "$browser_version", "$os", "$os_version", "$device_type",
		"$host", "$pathname", "utm_source", "gclid", "$referring_domain", "$geoip_country_code",
	} {
		if value, has := p[name]; has {
			notes = append(notes, fmt.Sprint(name, "=", value))
		}
	}
	if id, has := p["$session_id"].(string); has {
		sec, nsec := uuid.MustParse(id).Time().UnixTime()
		notes = append(notes, "session "+time.Unix(sec, nsec).UTC().Format(layout))
	}
	if _, has := p["$groups"]; has {
		notes = append(notes, "groups")
	}
	once, _ := p["$set_once"].(map[string]any)
	for name := range once {
		if name == "plan" || strings.Contains(name, "initial_") {
			notes = append(notes, "once "+name)
		}
	}
	return notes
}

// write makes the zip file of an export.
func (g *generator) write(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "export.zip")
	file, err := os.Create(path)
	require.NoError(t, err)
	archive := zip.NewWriter(file)
	for hour, rows := range g.files {
		at := firstUpload.Add(time.Duration(hour) * time.Hour)
		member, err := archive.Create(fmt.Sprintf("636686/636686_%s_%d#%d.json.gz", at.Format(time.DateOnly), at.Hour(), hour%7))
		require.NoError(t, err)
		packed := gzip.NewWriter(member)
		for _, row := range rows {
			_, err := packed.Write(append(row, '\n'))
			require.NoError(t, err)
		}
		require.NoError(t, packed.Close())
	}
	require.NoError(t, archive.Close())
	require.NoError(t, file.Close())
	return path
}

// All totals equal the totals of the generator.
func TestGenerated(t *testing.T) {
	t.Parallel()
	g := generator{Generator: formattest.NewGenerator(1), files: make([][][]byte, hours)}
	for g.rows < formattest.Size() {
		g.row()
	}
	g.Check(t, amplitude.Format(&amplitude.Options{Groups: true}), g.write(t), notes)
}
