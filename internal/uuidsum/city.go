package uuidsum

import (
	"encoding/binary"
	"math/bits"

	"github.com/google/uuid"
)

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
	var text [36]byte
	raw, _ := id.MarshalText()
	copy(text[:], raw)
	hash, _ := City(text[:])
	return hash
}
