package main

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// event is the event that every candidate sends: eleven properties of mixed types, about 480 bytes as JSON.
type event struct {
	name, person string
	time         time.Time
	properties   map[string]any
}

// ringSize makes the maps of a ring larger than a processor's caches.
const ringSize = 8192

// newRing makes the events that are sent again and again, each time with another uuid, but no more events than a run sends. They are the
// same in every process.
func newRing(events int) []event {
	random := rand.New(rand.NewPCG(1, 2))
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	ring := make([]event, min(events, ringSize))
	for i := range ring {
		ring[i] = event{
			name:   one("order placed", "order viewed", "invoice downloaded", "report opened"),
			person: fmt.Sprintf("user-%06d", random.IntN(5000)),
			time:   time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * 10_007 * time.Millisecond),
			properties: map[string]any{
				"$current_url":  fmt.Sprintf("https://app.example.com/projects/%05d/orders?tab=open&page=%d", random.IntN(90_000), random.IntN(20)),
				"$browser":      one("Chrome", "Firefox", "Safari", "Edge"),
				"$screen_width": 1000 + random.IntN(1000),
				"order":         eventID(-i - 1).String(),
				"customer":      one("Ada Lovelace", "Grace Hopper", "Anita Borg", "Radia Perlman"),
				"city":          one("Zürich", "Köln", "Łódź", "São Paulo", "Oslo", "Wien"),
				"amount":        float64(random.IntN(100_000)) / 100,
				"quantity":      int64(random.IntN(20)),
				"trial":         random.IntN(2) == 0,
				"tags":          []string{one("new", "repeat", "team"), one("spring", "summer", "winter")},
				"note": one("Said \"call me back\", and then hung up.", "Lieferung an Frau Müller,\nbitte vor der Tür abstellen.",
					"Größe geändert:\n\"L\" statt \"M\"", "Nothing special."),
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
		case []string:
			for i, text := range v {
				b = appendText(append(b, "[,"[min(i, 1)]), text)
			}
			b = append(b, ']')
		default:
			b = append(b, "null"...)
		}
	}
	return append(b, "}}"...)
}

func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' { // the ring has no other control character than a newline
			b = append(append(b, s[start:i]...), '\\')
			if start = i; c == '\n' {
				b, start = append(b, 'n'), i+1
			}
		}
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

func appendUUID(b []byte, id uuid.UUID) []byte {
	b = hex.AppendEncode(b, id[0:4])
	b = hex.AppendEncode(append(b, '-'), id[4:6])
	b = hex.AppendEncode(append(b, '-'), id[6:8])
	b = hex.AppendEncode(append(b, '-'), id[8:10])
	return hex.AppendEncode(append(b, '-'), id[10:16])
}
