// Package uuidsum adds up uuids, so that two sets of them can be compared by three numbers, which any
// database can compute too.
package uuidsum

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Sum is the number of some uuids, each as often as it was added, and the sums of two numbers of 32 bits
// of each: its 17th to 24th hexadecimal digit, and the last eight. These differ also between uuids that
// begin with the time. In any order the same uuids have the same Sum.
type Sum struct {
	N         int64
	High, Low uint64 // they wrap at 64 bits, as those of ClickHouse do
}

// Of is the Sum of one uuid.
func Of(id [16]byte) Sum {
	return Sum{1, uint64(binary.BigEndian.Uint32(id[8:])), uint64(binary.BigEndian.Uint32(id[12:]))}
}

// Add adds further uuids.
func (s *Sum) Add(more Sum) {
	s.N += more.N
	s.High += more.High
	s.Low += more.Low
}

// String is the three numbers, and empty for no uuids.
func (s Sum) String() string {
	if s.N == 0 {
		return ""
	}
	return fmt.Sprintf("%d-%d-%d", s.N, s.High, s.Low)
}

// MarshalText is String.
func (s Sum) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (s *Sum) UnmarshalText(text []byte) error {
	*s = Sum{}
	if len(text) == 0 {
		return nil
	}
	_, err := fmt.Sscanf(string(text), "%d-%d-%d", &s.N, &s.High, &s.Low)
	if err != nil || s.N < 1 || s.String() != string(text) {
		return errors.New("a digest of uuids is not three numbers, such as 2-4294967295-17")
	}
	return nil
}
