package event

import (
	"fmt"
	"strconv"

	"github.com/hogapi/hogapi/internal/mask"
)

// Position is a position in a source, such as the base name of a file and a byte offset, or the key of a row of
// a table. Key must be valid UTF-8. The zero value is the start. Consecutive events with the same Position are
// one record, which is settled and resumed as a whole. Events without a Position do not advance the point at
// which an import resumes.
type Position struct {
	Key    string `json:"key,omitempty"`
	Offset int64  `json:"offset,omitempty"`
}

// IsZero reports whether p is the zero value: the start of a source, or no position.
func (p Position) IsZero() bool { return p == Position{} }

// String returns "key@offset", "key" or "offset", with the key quoted if it is not printable. (Errors name a
// line of a file as "file:line".)
func (p Position) String() string {
	switch {
	case p.Key == "":
		return strconv.FormatInt(p.Offset, 10)
	case p.Offset == 0:
		return mask.OneLine(p.Key)
	}
	return fmt.Sprintf("%s@%d", mask.OneLine(p.Key), p.Offset)
}
