package jsonb_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

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

func BenchmarkEncode(b *testing.B) {
	for _, shape := range []struct {
		name string
		m    map[string]any
	}{{"mixed", properties()}, {"flat", flat()}} {
		b.Run(shape.name+"/ours", func(b *testing.B) {
			var e jsonb.Encoder
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				dst, _ = e.AppendMembers(dst[:0], shape.m)
			}
			b.SetBytes(int64(len(dst)))
		})
		b.Run(shape.name+"/encoding-json", func(b *testing.B) {
			var out bytes.Buffer
			e := json.NewEncoder(&out)
			e.SetEscapeHTML(false)
			b.ReportAllocs()
			for b.Loop() {
				out.Reset()
				_ = e.Encode(shape.m)
			}
			b.SetBytes(int64(out.Len()))
		})
	}
}

func BenchmarkAppendString(b *testing.B) {
	for name, s := range map[string]string{
		"short": "Firefox", "ascii": strings.Repeat("plain text ", 20), "cyrillic": strings.Repeat("Привет мир ", 20), "japanese": strings.Repeat("日本語の文", 20),
		"escapes": strings.Repeat("a line \"quoted\"\n", 20),
	} {
		b.Run(name, func(b *testing.B) {
			var dst []byte
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				dst, _ = jsonb.AppendString(dst[:0], s)
			}
		})
		b.Run(name+"/Valid", func(b *testing.B) {
			raw, _ := jsonb.AppendString(nil, s)
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				_ = jsonb.Valid(raw)
			}
		})
	}
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

func BenchmarkScan(b *testing.B) {
	for _, shape := range []struct {
		name string
		raw  []byte
	}{{"tight", line("")}, {"spaced", line(" ")}} {
		b.Run(shape.name+"/Object", func(b *testing.B) {
			n := 0
			b.SetBytes(int64(len(shape.raw)))
			b.ReportAllocs()
			for b.Loop() {
				if err := jsonb.Object(shape.raw, func(_, value []byte) { n += len(value) }); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(shape.name+"/Valid", func(b *testing.B) {
			b.SetBytes(int64(len(shape.raw)))
			b.ReportAllocs()
			for b.Loop() {
				if err := jsonb.Valid(shape.raw); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(shape.name+"/Compact", func(b *testing.B) {
			var dst []byte
			b.SetBytes(int64(len(shape.raw)))
			b.ReportAllocs()
			for b.Loop() {
				dst, _ = jsonb.Compact(dst[:0], shape.raw)
			}
		})
		b.Run(shape.name+"/json.Valid", func(b *testing.B) {
			b.SetBytes(int64(len(shape.raw)))
			b.ReportAllocs()
			for b.Loop() {
				json.Valid(shape.raw)
			}
		})
	}
}

func BenchmarkTime(b *testing.B) {
	text := []byte("2012-08-15T05:55:00.123456-07:00")
	t, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("Parse/ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = jsonb.ParseTime(text)
		}
	})
	b.Run("Parse/time", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = time.Parse(time.RFC3339, string(text))
		}
	})
	b.Run("Append/ours", func(b *testing.B) {
		var e jsonb.Encoder
		var dst []byte
		b.ReportAllocs()
		for b.Loop() {
			dst = e.AppendTime(dst[:0], t)
		}
	})
}
