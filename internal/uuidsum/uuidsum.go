// Package uuidsum sums uuids, so that sets of uuids can be compared by three numbers that any
// database can compute.
package uuidsum

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Sum is a count of uuids and two sums over them: of the 17th to 24th hexadecimal digit, and of the
// last eight, each as a 32-bit number. These digits vary even in uuids that begin with the time. A
// repeated uuid counts again. The order does not matter.
type Sum struct {
	N         int64
	High, Low uint64 // wrap at 64 bits, as in ClickHouse
}

// Of returns the Sum of one uuid.
func Of(id [16]byte) Sum {
	return Sum{1, uint64(binary.BigEndian.Uint32(id[8:])), uint64(binary.BigEndian.Uint32(id[12:]))}
}

// Add adds further uuids.
func (s *Sum) Add(more Sum) {
	s.N += more.N
	s.High += more.High
	s.Low += more.Low
}

// String returns the three numbers, or "" for no uuids.
func (s Sum) String() string {
	if s.N == 0 {
		return ""
	}
	return fmt.Sprintf("%d-%d-%d", s.N, s.High, s.Low)
}

// MarshalText is String.
func (s Sum) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the output of MarshalText.
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
