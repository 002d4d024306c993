package lines

import "bytes"

var errHole = &textError{"the file has zeros in place of text: it was not written completely, or copied with a hole; get it again"}

// leastHole is a number of consecutive zeros that no text has.
const leastHole = 512

// hole finds zeros within a text that comes in pieces.
type hole struct{ zeros int } // at the end of the last piece

// isIn reports whether a run of that many zeros ends in the next piece.
func (h *hole) isIn(piece []byte) bool {
	for len(piece) > 0 {
		rest := bytes.TrimLeft(piece, "\x00")
		if h.zeros += len(piece) - len(rest); h.zeros >= leastHole {
			return true
		}
		if len(rest) == 0 {
			return false
		}
		h.zeros = 0
		next := bytes.IndexByte(rest, 0)
		if next < 0 {
			return false
		}
		piece = rest[next:]
	}
	return false
}

func hasHole(text []byte) bool { return new(hole).isIn(text) }
