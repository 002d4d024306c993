package lines

import (
	"bufio"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
)

// members reads the members of a gzip file in sequence, and tracks the text with valid checksums.
// Zeros after the last member are padding.
type members struct {
	packed *bufio.Reader
	z      *gzip.Reader
	plain  int64 // bytes read
	good   int64 // bytes covered by valid checksums
}

func newMembers(packed *bufio.Reader) (*members, error) {
	z, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return &members{packed: packed, z: z}, nil
}

func (m *members) checked() int64 { return m.good }

func (m *members) close() {}

// Read implements io.Reader.
func (m *members) Read(p []byte) (n int, err error) {
	for {
		n, err = m.z.Read(p)
		m.plain += int64(n)
		if !errors.Is(err, io.EOF) {
			return n, err
		}
		m.good = m.plain
		if err = m.next(); err != nil || n > 0 {
			return n, err
		}
	}
}

// next begins the next member. The error is io.EOF after the last one.
func (m *members) next() error {
	for {
		c, err := m.packed.ReadByte()
		if err != nil {
			return err
		}
		if c == 0 {
			continue
		}
		if err := m.packed.UnreadByte(); err != nil {
			return err
		}
		if err := m.z.Reset(m.packed); err != nil {
			return err
		}
		m.z.Multistream(false)
		return nil
	}
}
