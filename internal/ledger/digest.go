package ledger

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/bits"
)

// Digest is the sum of uuids as 128-bit numbers. It does not depend on their order, and counting an
// event twice changes it.
type Digest struct{ high, low uint64 }

func (d *Digest) add(id [16]byte) {
	d.Add(Digest{binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])})
}

// Add adds the digest of further uuids.
func (d *Digest) Add(more Digest) {
	var carry uint64
	d.low, carry = bits.Add64(d.low, more.low, 0)
	d.high, _ = bits.Add64(d.high, more.high, carry)
}

// String returns the digest as 32 hexadecimal digits.
func (d Digest) String() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], d.high)
	binary.BigEndian.PutUint64(b[8:], d.low)
	return hex.EncodeToString(b[:])
}

// MarshalText is String.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the output of MarshalText.
func (d *Digest) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err != nil || len(b) != 16 {
		return errors.New("a digest is not a number of 128 bits")
	}
	d.high, d.low = binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	return nil
}
