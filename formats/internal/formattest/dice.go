package formattest

import (
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
)

// Dice make the same choices in every run.
type Dice struct{ *rand.Rand }

// Percent is true in so many of a hundred cases.
func (d Dice) Percent(n int) bool { return d.IntN(100) < n }

// UUID is a version 4 uuid.
func (d Dice) UUID() (id uuid.UUID) {
	for i := range id {
		id[i] = byte(d.Uint32())
	}
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id
}

// Hex is a text of 2n hexadecimal digits.
func (d Dice) Hex(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(d.Uint32())
	}
	return hex.EncodeToString(b)
}

// Pick is one of the texts.
func (d Dice) Pick(of ...string) string { return of[d.IntN(len(of))] }

// Time is a time of the five days around the leap day of 2024, to the millisecond.
func (d Dice) Time() time.Time {
	return time.Date(2024, 2, 27, 0, 0, 0, 0, time.UTC).Add(time.Duration(d.IntN(5*24*3600*1000)) * time.Millisecond)
}

// Line is a value as a line of JSON.
func Line(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
