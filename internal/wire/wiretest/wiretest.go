// Package wiretest provides an event, an encoder and the table of the gate's rules for the tests of
// package wire and its users.
package wiretest

import (
	"hash/maphash"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/wire"
)

// Now is the current time of the encoders.
var Now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// Clock is a clock that stands at Now.
type Clock struct{}

// Now implements wire.Clock.
func (Clock) Now() time.Time { return Now }

// Time is the time of the event.
var Time = time.Date(2024, 2, 29, 23, 59, 59, 123456789, time.FixedZone("", 5*3600+1800))

// Version is the library's version.
const Version = "1.2.3"

// Encoder returns the encoder of an import "golden".
func Encoder(rules wire.Rules) *wire.Encoder {
	return wire.NewEncoder(wire.NewGate(rules, Clock{}), wire.NewStamps("hogapi-go", Version, "golden"), maphash.MakeSeed())
}

// Event is an ordinary event, changed.
func Event(changes ...func(*wire.Fields)) wire.Fields {
	f := wire.Fields{
		Name: "$pageview", DistinctID: "user-1", Timestamp: Time, UUID: uuid.MustParse("461fc531-6209-5996-b1b1-a8aa997a6516"),
		Properties: map[string]any{"b": 1, "a": "x"},
	}
	for _, change := range changes {
		change(&f)
	}
	return f
}
