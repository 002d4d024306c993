package main

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// event is the event that every candidate sends: eleven properties of mixed types, about 450 bytes as JSON.
type event struct {
	name, person string
	time         time.Time
	properties   map[string]any
}

const ringSize = 8192

// newRing makes the events that are sent again and again, each time with another uuid, but no more events than a run sends. They are the
// same in every process.
func newRing(events int) []event {
	random := rand.New(rand.NewPCG(1, 2))
	names := []string{"order placed", "order viewed", "invoice downloaded", "report opened"}
	browsers := []string{"Chrome", "Firefox", "Safari", "Edge"}
	plans := []string{"free", "team", "scale", "enterprise"}
	ring := make([]event, min(events, ringSize))
	for i := range ring {
		ring[i] = event{
			name:   names[random.IntN(len(names))],
			person: fmt.Sprintf("user-%06d", random.IntN(5000)),
			time:   time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * 10_007 * time.Millisecond),
			properties: map[string]any{
				"$current_url":     fmt.Sprintf("https://app.example.com/projects/%05d/orders", random.IntN(90_000)),
				"$browser":         browsers[random.IntN(len(browsers))],
				"$browser_version": 100 + random.IntN(40),
				"$session_id":      fmt.Sprintf("%016x%016x", random.Uint64(), random.Uint64()),
				"plan":             plans[random.IntN(len(plans))],
				"amount":           float64(random.IntN(100_000)) / 100,
				"quantity":         int64(random.IntN(20)),
				"trial":            random.IntN(2) == 0,
				"coupon":           nil,
				"load_time":        random.Float64(),
				"referrer":         "https://www.example.org/search",
			},
		}
	}
	return ring
}

// eventID returns the uuid of the n-th event: different for each, and as hard to compress as a real one.
func eventID(n int) (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[:8], scatter(2*uint64(n)))
	binary.BigEndian.PutUint64(id[8:], scatter(2*uint64(n)+1))
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// scatter is the mixing step of SplitMix64.
func scatter(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// digest sums uuids as numbers of 128 bits, so their order does not matter. It is the same sum as in a receipt.
type digest struct{ high, low uint64 }

func (d *digest) add(id uuid.UUID) {
	var carry uint64
	d.low, carry = bits.Add64(d.low, binary.BigEndian.Uint64(id[8:]), 0)
	d.high, _ = bits.Add64(d.high, binary.BigEndian.Uint64(id[:8]), carry)
}

func (d digest) String() string { return fmt.Sprintf("%016x%016x", d.high, d.low) }

func digestOf(n int) string {
	var d digest
	for i := range n {
		d.add(eventID(i))
	}
	return d.String()
}

const (
	apiKey     = "phc_benchmark_benchmark_benchmark"
	bodyPrefix = `{"api_key":"` + apiKey + `","historical_migration":true,"batch":[`
	bodySuffix = `]}`
)

// appendEvent writes an event as cheaply as possible: no checks, the properties in the map's order.
func appendEvent(b []byte, ev *event, id uuid.UUID) []byte {
	b = append(b, `{"event":`...)
	b = appendText(b, ev.name)
	b = append(b, `,"uuid":"`...)
	b = appendUUID(b, id)
	b = append(b, `","distinct_id":`...)
	b = appendText(b, ev.person)
	b = append(b, `,"timestamp":"`...)
	b = ev.time.AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","properties":{`...)
	more := false
	for key, value := range ev.properties {
		if more {
			b = append(b, ',')
		}
		more = true
		b = appendText(b, key)
		b = append(b, ':')
		switch v := value.(type) {
		case string:
			b = appendText(b, v)
		case float64:
			b = strconv.AppendFloat(b, v, 'f', -1, 64)
		case int:
			b = strconv.AppendInt(b, int64(v), 10)
		case int64:
			b = strconv.AppendInt(b, v, 10)
		case bool:
			b = strconv.AppendBool(b, v)
		default:
			b = append(b, "null"...)
		}
	}
	return append(b, "}}"...)
}

func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return strconv.AppendQuote(b, s) // the ring has no such text
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

func appendUUID(b []byte, id uuid.UUID) []byte {
	b = hex.AppendEncode(b, id[0:4])
	b = hex.AppendEncode(append(b, '-'), id[4:6])
	b = hex.AppendEncode(append(b, '-'), id[6:8])
	b = hex.AppendEncode(append(b, '-'), id[8:10])
	return hex.AppendEncode(append(b, '-'), id[10:16])
}
