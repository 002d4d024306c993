// Package uuidsum sums uuids, so that sets of uuids can be compared by some numbers that any
// database can compute.
package uuidsum

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/google/uuid"
)

// Sum is a count of uuids and sums over them: of the 17th to 24th hexadecimal digit, and of the
// last eight, each as a 32-bit number; and of a hash of each. The digits vary even in uuids that begin
// with the time. Their sums are linear: they tell the events of one import apart, and only the hash tells
// them from the events of others. A repeated uuid counts again. The order does not matter.
type Sum struct {
	N         int64
	High, Low uint64 // wrap at 64 bits, as in ClickHouse

	Hash   uint64 // the sum of cityHash64 of the texts, of so many uuids:
	Hashed int64  // fewer than N where a part is of an older release
}

// Of returns the Sum of one uuid.
func Of(id [16]byte) Sum {
	return Sum{1, uint64(binary.BigEndian.Uint32(id[8:])), uint64(binary.BigEndian.Uint32(id[12:])), hashOf(id), 1}
}

// Add adds further uuids.
func (s *Sum) Add(more Sum) {
	s.N += more.N
	s.High += more.High
	s.Low += more.Low
	s.Hash += more.Hash
	s.Hashed += more.Hashed
}

// HasHash reports whether the sum of hashes is of all uuids.
func (s Sum) HasHash() bool { return s.Hashed == s.N }

// IsSame reports whether two sums agree in all that both have.
func (s Sum) IsSame(other Sum) bool {
	return s.N == other.N && s.High == other.High && s.Low == other.Low && (!s.HasHash() || !other.HasHash() || s.Hash == other.Hash)
}

// Proves reports whether the uuids of another sum are the same for certain, whoever sent them.
func (s Sum) Proves(other Sum) bool {
	return s.N > 0 && s.N == other.N && s.Hashed == s.N && other.Hashed == s.N && s.Hash == other.Hash
}

// String returns the numbers, or "" for no uuids. The last one is the sum of hashes, if it is of all.
func (s Sum) String() string {
	switch {
	case s.N == 0:
		return ""
	case !s.HasHash():
		return fmt.Sprintf("%d-%d-%d", s.N, s.High, s.Low)
	}
	return fmt.Sprintf("%d-%d-%d-%d", s.N, s.High, s.Low, s.Hash)
}

// MarshalText is String.
func (s Sum) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the output of MarshalText.
func (s *Sum) UnmarshalText(text []byte) error {
	*s = Sum{}
	if len(text) == 0 {
		return nil
	}
	n, _ := fmt.Sscanf(string(text), "%d-%d-%d-%d", &s.N, &s.High, &s.Low, &s.Hash)
	if n == 4 {
		s.Hashed = s.N
	}
	if s.N < 1 || s.String() != string(text) {
		return errors.New("a digest of uuids is not numbers, such as 2-4294967295-17-23")
	}
	return nil
}

const cityLow, cityHigh = 33, 64 // lengths of the only texts that [City] knows

// City is the hash of a text of 33 to 64 bytes by CityHash 1.0.2, which is ClickHouse's cityHash64. Later releases of CityHash
// give other numbers. It reports false for a text of another length.
func City(s []byte) (hash uint64, ok bool) {
	const k0, k2 = 0xc3a5c85c97cb3127, 0x9ae16a3b2f90404f
	n := len(s)
	if n < cityLow || n > cityHigh {
		return 0, false
	}
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(s[i:]) }
	rotate := func(x uint64, by int) uint64 { return bits.RotateLeft64(x, -by) }
	mix := func(x uint64) uint64 { return x ^ x>>47 }

	half := func(a, z, second, third uint64) (first, last uint64) {
		b, c := rotate(a+z, 52), rotate(a, 37)
		a += second
		c += rotate(a, 7)
		a += third
		return a + z, b + rotate(a, 31) + c
	}
	vFirst, vLast := half(at(0)+(uint64(n)+at(n-16))*k0, at(24), at(8), at(16))
	wFirst, wLast := half(at(16)+at(n-32), at(n-8), at(n-24), at(n-16))
	return mix(mix((vFirst+wLast)*k2+(wFirst+vLast)*k0)*k0+vLast) * k2, true
}

// hashOf is ClickHouse's cityHash64(toString(id)).
func hashOf(id uuid.UUID) uint64 {
	text := Text(id)
	hash, _ := City(text[:])
	return hash
}

// Text returns the text of a uuid, eight digits at a time: it is written and hashed for each event.
func Text(id [16]byte) (text [36]byte) {
	var digits [32]byte
	for i := range 4 {
		binary.LittleEndian.PutUint64(digits[8*i:], hexDigits(binary.LittleEndian.Uint32(id[4*i:])))
	}
	copy(text[0:], digits[:8])
	copy(text[9:], digits[8:12])
	copy(text[14:], digits[12:16])
	copy(text[19:], digits[16:20])
	copy(text[24:], digits[20:])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return text
}

// hexDigits returns the eight hexadecimal digits of four bytes, the first of each in the lowest byte.
func hexDigits(of uint32) uint64 {
	const each = 0x0101010101010101
	x := uint64(of)
	x = (x | x<<16) & 0x0000ffff0000ffff
	x = (x | x<<8) & 0x00ff00ff00ff00ff
	x = (x>>4 | x<<8) & (each * 0x0f)
	letters := (x + each*6) >> 4 & each // 1 in each byte above 9
	return x + each*'0' + letters*('a'-'0'-10)
}
