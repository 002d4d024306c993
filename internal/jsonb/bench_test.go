package jsonb_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/hogapi/hogapi/internal/jsonb"
)

func properties() map[string]any {
	return map[string]any{
		"$browser": "Firefox", "$browser_version": 128, "$current_url": "https://example.org/pricing?plan=team&utm_source=letter",
		"plan": "team", "seats": int64(25), "price": 349.5, "trial": false, "score": 0.8472394872,
		"referrer": "Привет \"друг\"", "$groups": map[string]any{"company": "id:5"}, "tags": []any{"a", "b"},
	}
}

func flat() map[string]any {
	m := properties()
	m["$groups"], m["tags"], m["referrer"] = "company-17", nil, "https://example.org/"
	return m
}

// BenchmarkEncodeStream encodes many different events, as an import does: caches and branch
// prediction are as cold as there.
func BenchmarkEncodeStream(b *testing.B) {
	events := make([]map[string]any, 2000)
	for i := range events {
		m := flat()
		m["seats"], m["price"], m["score"] = i, float64(i*7%5000)/100, float64(i)/1777
		m["$current_url"], m["plan"] = fmt.Sprintf("https://example.org/%d/pricing", i*i), fmt.Sprintf("plan-%d", i%97)
		if i%3 == 0 {
			delete(m, "trial")
			m["language"] = "en"
		}
		events[i] = m
	}
	var e jsonb.Encoder
	var dst []byte
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		dst, _ = e.AppendMembers(dst[:0], events[i%len(events)])
	}
	b.SetBytes(int64(len(dst)))
}

func line(space string) []byte {
	var e jsonb.Encoder
	m := properties()
	m["note"] = "a longer text, as titles and descriptions are, without anything special in it"
	p, _ := e.AppendValue(nil, m)
	p = bytes.ReplaceAll(p, []byte(`,"`), []byte(`,`+space+`"`))
	p = bytes.ReplaceAll(p, []byte(`":`), []byte(`":`+space))
	return fmt.Appendf(nil, `{"event":%[2]s"commit authored",%[2]s"distinct_id":%[2]s"author-814d053c97f32907",%[2]s"timestamp":`+
		`%[2]s"2012-08-15T05:55:00-07:00",%[2]s"uuid":%[2]s"461fc531-6209-5996-b1b1-a8aa997a6516",%[2]s"properties":%[2]s%[1]s}`, p, space)
}
