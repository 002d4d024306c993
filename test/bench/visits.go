package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
)

// visit is an action of a person: a device belongs to one person, who logs in on the way, and its actions are sessions.
type visit struct {
	n          int
	at, began  time.Time // of the session
	user       string    // empty before the login
	device     string
	agent      agent
	name, path string
	left       int // actions of the session
	number     int // of the session on the device
}

type agent struct{ text, browser, version, os, osVersion, kind string }

var agents = []agent{
	{"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/122.0.0.0 Safari/537.36", "Chrome", "122", "Windows", "10", "desktop"},
	{"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/121.0.0.0 Safari/537.36 Edg/121.0.0.0", "Microsoft Edge", "121", "Windows", "10", "desktop"},
	{"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/122.0.0.0 Safari/537.36", "Chrome", "122", "Mac OS X", "10.15.7", "desktop"},
	{"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.2.1 Safari/605.1.15", "Safari", "17.2", "Mac OS X", "10.15.7", "desktop"},
	{"Mozilla/5.0 (iPhone; CPU iPhone OS 17_2_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.2 Mobile/15E148 Safari/604.1", "Mobile Safari", "17.2", "iOS", "17.2.1", "mobile"},
	{"Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.6 Mobile/15E148 Safari/604.1", "Mobile Safari", "16.6", "iOS", "16.6", "tablet"},
	{"Mozilla/5.0 (Linux; Android 13; SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/121.0.6167.178 Mobile Safari/537.36", "Chrome", "121", "Android", "13", "mobile"},
	{"Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:123.0) Gecko/20100101 Firefox/123.0", "Firefox", "123", "Linux", "", "desktop"},
}

var paths = []string{"/", "/pricing", "/docs/get-started", "/cart", "/checkout/address", "/search", "/account/orders", "/blog/2024/how-we-ship"}

// visits makes actions in the order of time: a tenth as many persons, with two devices each.
func visits(n int, do func(*visit) error) error {
	dice := rand.New(rand.NewPCG(11, 12))
	one := func(of ...string) string { return of[dice.IntN(len(of))] }
	persons := max(n/10, 1)
	open := make([]visit, min(400, n))
	sessions := make(map[string]int, 2*persons)
	at := time.Date(2023, 9, 1, 0, 0, 0, 0, time.UTC)
	step := 120 * 24 * time.Hour / time.Duration(n)
	for i := range n {
		v := &open[dice.IntN(len(open))]
		if v.left == 0 {
			person, device := dice.IntN(persons), dice.IntN(2)
			id := scatter(uint64(2*person + device))
			*v = visit{began: at, device: fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", uint32(id), uint16(id>>32), id>>48&0xfff, id>>20&0xfff, scatter(id)&0xffffffffffff),
				agent: agents[id%uint64(len(agents))], left: 1 + dice.IntN(12)}
			if dice.IntN(10) < 6 {
				v.user = fmt.Sprintf("user-%07d", person)
			}
			sessions[v.device]++
			v.number = sessions[v.device]
		}
		v.n, v.at, v.left = i, at.Add(time.Duration(dice.Int64N(int64(step)+1))), v.left-1
		v.path, v.name = paths[dice.IntN(len(paths))], "page"
		if dice.IntN(10) < 4 {
			v.name = one("Order Placed", "Item Added", "Search Done", "Plan Upgraded", "Report Opened")
		}
		if err := do(v); err != nil {
			return err
		}
		at = at.Add(step)
	}
	return nil
}

// writeVisits writes the records of a format to a file.
func writeVisits(path, format string, n int) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	var line []byte
	err = visits(n, func(v *visit) error {
		line = append(recordOf[format](line[:0], v), '\n')
		_, err := w.Write(line)
		return err
	})
	return errors.Join(err, w.Flush(), f.Close())
}

// recordOf appends a visit as the export of a tool has it.
var recordOf = map[string]func(b []byte, v *visit) []byte{
	"posthog": func(b []byte, v *visit) []byte {
		b = fmt.Appendf(b, `{"uuid":%q,"event":%q,"distinct_id":%q,"properties":{`, eventID(v.n), v.event("$pageview"), v.person())
		b = fmt.Appendf(b, `"$current_url":%q,"$host":"shop.example","$pathname":%q,"$browser":%q,"$browser_version":%s,"$os":%q,"$device_id":%q,"$device_type":%q,`,
			v.url(), v.path, v.agent.browser, v.agent.version, v.agent.os, v.device, v.agent.kind)
		b = fmt.Appendf(b, `"$session_id":%q,"$lib":"web","$raw_user_agent":%q,"$referrer":"https://www.google.com/","$referring_domain":"www.google.com","amount":%d.%02d,"plan":"team"}`,
			v.session(), v.agent.text, v.n%900, v.n%100)
		return fmt.Appendf(b, `,"timestamp":%q}`, v.at.Format("2006-01-02T15:04:05.000000Z07:00"))
	},
	"mixpanel": func(b []byte, v *visit) []byte {
		b = fmt.Appendf(b, `{"event":%q,"properties":{"time":%d,"distinct_id":%q,`, v.event("$mp_web_page_view"), v.at.Unix(), v.personOr("$device:"+v.device))
		b = fmt.Appendf(b, `"$browser":%q,"$browser_version":%s,"$city":"Leeds","$current_url":%q,"$device_id":%q,"$initial_referrer":"$direct","$initial_referring_domain":"$direct","$insert_id":%q,`,
			v.agent.browser, v.agent.version, v.url(), v.device, v.hex())
		b = fmt.Appendf(b, `"$lib_version":"2.49.0","$mp_api_endpoint":"api-js.mixpanel.com","$mp_api_timestamp_ms":%d,"$os":%q,"$region":"England","$screen_height":900,"$screen_width":1440,`,
			v.at.UnixMilli()+321, v.agent.os)
		if v.user != "" {
			b = fmt.Appendf(b, `"$user_id":%q,`, v.user)
		}
		return fmt.Appendf(b, `"current_page_title":"Shop – %s","mp_country_code":"GB","mp_lib":"web","mp_processing_time_ms":%d,"amount":%d.%02d,"plan":"team","user_agent":%q}}`,
			v.path, v.at.UnixMilli()+1874, v.n%900, v.n%100, v.agent.text)
	},
	"amplitude": func(b []byte, v *visit) []byte {
		at := v.at.Format("2006-01-02 15:04:05.000000")
		b = fmt.Appendf(b, `{"$insert_id":%q,"$schema":13,"amplitude_id":%d,"app":318274,"city":"Leeds","client_event_time":%q,"country":"United Kingdom","data":{"path":"/2/httpapi","group_first_event":{},"group_ids":{}},`,
			eventID(v.n), 492837465+int(v.hash()>>40), at)
		b = fmt.Appendf(b, `"device_id":%q,"device_type":%q,"event_id":%d,"event_properties":{"[Amplitude] Page URL":%q,"[Amplitude] Page Path":%q,"amount":%d.%02d,"plan":"team"},"event_time":%q,"event_type":%q,"group_properties":{},"groups":{},`,
			v.device, v.agent.os, v.n%1000, v.url(), v.path, v.n%900, v.n%100, at, v.event("[Amplitude] Page Viewed"))
		b = fmt.Appendf(b, `"ip_address":"203.0.113.9","language":"English","library":"amplitude-ts/2.5.1","os_name":%q,"os_version":%q,"paying":null,"platform":"Web","region":"England","server_upload_time":%q,"session_id":%d,`,
			v.agent.browser, v.agent.version, at, v.began.UnixMilli())
		if v.user != "" {
			b = fmt.Appendf(b, `"user_id":%q,`, v.user)
		}
		return fmt.Appendf(b, `"user_properties":{"initial_utm_source":"EMPTY","initial_referrer":"https://www.google.com/","plan":"team"},"uuid":%q,"version_name":null}`, eventID(-v.n-1))
	},
	"segment": func(b []byte, v *visit) []byte {
		at := v.at.Format("2006-01-02T15:04:05.000Z07:00")
		b = fmt.Appendf(b, `{"anonymousId":%q,"channel":"client","context":{"ip":"203.0.113.9","library":{"name":"analytics.js","version":"npm:next-1.66.0"},"locale":"en-GB",`, v.device)
		b = fmt.Appendf(b, `"page":{"path":%q,"referrer":"https://www.google.com/","search":"","title":"Shop","url":%q},"timezone":"Europe/London","userAgent":%q},`, v.path, v.url(), v.agent.text)
		kind := `"type":"page","name":"Shop"`
		if v.name != "page" {
			kind = fmt.Sprintf(`"type":"track","event":%q`, v.name)
		}
		b = fmt.Appendf(b, `"messageId":"ajs-next-%s","originalTimestamp":%q,"properties":{"plan":"team","path":%q,"url":%q,"amount":%d.%02d},"receivedAt":%q,"sentAt":%q,"timestamp":%q,%s`,
			v.hex(), at, v.path, v.url(), v.n%900, v.n%100, at, at, at, kind)
		if v.user != "" {
			b = fmt.Appendf(b, `,"userId":%q`, v.user)
		}
		return append(b, '}')
	},
	"ga4": func(b []byte, v *visit) []byte {
		name, at := "page_view", v.at.UnixMicro()
		if v.name != "page" {
			name = "purchase"
		}
		b = fmt.Appendf(b, `{"event_date":%q,"event_timestamp":"%d","event_name":%q,"event_params":[{"key":"page_location","value":{"string_value":%q}},{"key":"page_title","value":{"string_value":"Shop"}},`,
			v.at.Format("20060102"), at, name, v.url())
		b = fmt.Appendf(b, `{"key":"ga_session_id","value":{"int_value":"%d"}},{"key":"ga_session_number","value":{"int_value":"%d"}}],"event_bundle_sequence_id":"%d","user_pseudo_id":"%d.%d",`,
			v.began.Unix(), v.number, v.n, v.hash()>>34, 1_690_000_000+v.hash()%1_000_000)
		if v.user != "" {
			b = fmt.Appendf(b, `"user_id":%q,`, v.user)
		}
		b = fmt.Appendf(b, `"device":{"category":%q,"operating_system":%q,"language":"en-gb","web_info":{"browser":%q,"browser_version":"%s.0.6261.94","hostname":"shop.example"}},`,
			v.agent.kind, v.agent.os, v.agent.browser, v.agent.version)
		return fmt.Appendf(b, `"geo":{"city":"Leeds","country":"United Kingdom","region":"England"},"traffic_source":{"name":"(organic)","medium":"organic","source":"google"},"platform":"WEB","stream_id":"555000111","batch_page_id":"%d","batch_ordering_id":"%d","batch_event_index":"1"}`,
			v.began.UnixMilli(), v.left)
	},
}

func (v *visit) event(ofPage string) string {
	if v.name == "page" {
		return ofPage
	}
	return v.name
}

func (v *visit) personOr(id string) string {
	if v.user != "" {
		return v.user
	}
	return id
}

func (v *visit) person() string { return v.personOr(v.device) }

func (v *visit) url() string {
	return fmt.Sprintf("https://shop.example%s?utm_source=news&utm_medium=email&page=%d", v.path, v.n%30)
}

func (v *visit) hash() (h uint64) {
	for _, c := range []byte(v.device) {
		h = scatter(h ^ uint64(c))
	}
	return h
}

func (v *visit) hex() string { return fmt.Sprintf("%016x", scatter(uint64(v.n))) }

// session is a UUID of version 7 at the beginning of the session.
func (v *visit) session() string {
	ms := uint64(v.began.UnixMilli())
	return fmt.Sprintf("%08x-%04x-7%03x-a%03x-%012x", ms>>16, ms&0xffff, v.hash()&0xfff, v.number&0xfff, v.hash()>>16)
}

// checkVisits fails if a record is not JSON.
func checkVisits(format string) error {
	return visits(1000, func(v *visit) error {
		if line := recordOf[format](nil, v); !json.Valid(line) {
			return fmt.Errorf("%s: not JSON: %s", format, line)
		}
		return nil
	})
}
