package amplitude_test

import "time"

// page sets the page of the event in some cases, and returns the properties that the event must have. Amplitude has
// the campaign of a page in its URL, and that of the visitor in user_properties.
func (g *generator) page(row map[string]any, name string) []string {
	own, _ := row["event_properties"].(map[string]any)
	users, _ := row["user_properties"].(map[string]any)
	if own["$set"] != nil || g.Percent(60) {
		return nil
	}
	source := g.Pick("news", "search", "")
	if g.Percent(20) {
		users["utm_source"] = "before"
	}
	own["[Amplitude] Page URL"] = "https://shop.example/cart"
	notes := []string{"$host=shop.example", "$pathname=/cart"}
	switch {
	case source != "":
		own["[Amplitude] Page Location"] = "https://shop.example/cart?gclid=1&utm_source=" + source
		notes = append(notes, "utm_source="+source, "gclid=1")
	case users["utm_source"] != nil:
		notes = append(notes, "utm_source=before")
	}
	switch k := g.IntN(10); {
	case k < 3:
		own["referrer"] = "https://search.example/?q=x"
		notes = append(notes, "$referring_domain=search.example")
	case users["initial_referrer"] == nil && k < 5:
		users["referrer"], users["referring_domain"] = "https://news.example/", "news.example"
		notes = append(notes, "$referring_domain=news.example")
	case name == "$pageview":
		notes = append(notes, "$referring_domain=$direct")
	}
	return notes
}

// place sets the country of the event in some cases.
func (g *generator) place(row map[string]any) []string {
	switch g.IntN(3) {
	case 0:
		row["country"] = "South Korea"
		return []string{"$geoip_country_code=KR"}
	case 1:
		row["country"] = "Atlantis"
	}
	return nil
}

// session sets the session of the event in some cases, and returns the start that the session's id must have. Rows of
// servers and rows before the start have no session, and a session of more than a day is cut.
func (g *generator) session(row map[string]any, at time.Time) []string {
	if at.IsZero() || row["device_id"] == nil && row["user_id"] == nil || g.Percent(40) {
		return nil
	}
	age := time.Duration(g.IntN(3_600_000)) * time.Millisecond
	day := 24 * time.Hour
	id := at.Add(-age).UnixMilli()
	switch k := g.IntN(100); {
	case k < 10:
		row["session_id"], row["library"] = id, "http/2.0"
		if row["platform"] == nil {
			return nil
		}
	case k < 15:
		row["session_id"] = at.UnixMilli() + 1
		return nil
	case k < 25:
		row["session_id"] = id - 2*day.Milliseconds()
	case k < 30: // the clock was a day ahead, and the event's time was corrected
		row["session_id"] = id + day.Milliseconds()
		row["client_event_time"] = at.Add(day).Format(layout)
		row["event_time"] = at.Format(layout)
		return []string{"session " + time.UnixMilli(id).UTC().Truncate(time.Hour).Format(layout)}
	default:
		row["session_id"] = id
	}
	return []string{"session " + time.UnixMilli(id).UTC().Format(layout)}
}
