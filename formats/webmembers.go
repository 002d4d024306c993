package formats

import (
	"bytes"
	"encoding/json"
)

// eachMember calls see with each member of a JSON object that has a value. It only looks for the ends of texts
// and values, since the gate judges the object: of a text that is no object, it sees some members or none.
func eachMember(raw []byte, see func(key, value []byte)) {
	for i := 0; ; {
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 {
			return
		}
		i += n + 1
		end := endOfText(raw, i)
		if end < 0 {
			return
		}
		key := raw[i:end]
		i = end + 1
		if n = bytes.IndexByte(raw[i:], ':'); n < 0 {
			return
		}
		i += n + 1
		for i < len(raw) && isSpace(raw[i]) {
			i++
		}
		begin := i
		if i = endOfValue(raw, i); i < 0 || i == begin {
			return
		}
		if bytes.IndexByte(key, '\\') >= 0 {
			var text string
			if json.Unmarshal(append(append([]byte{'"'}, key...), '"'), &text) != nil {
				return
			}
			key = []byte(text)
		}
		see(key, raw[begin:i])
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// endOfText returns the place of the quote that ends the text that begins at i, or -1.
func endOfText(raw []byte, i int) int {
	for {
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 {
			return -1
		}
		slashes := 0
		for slashes < n && raw[i+n-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + n
		}
		i += n + 1
	}
}

// endOfValue returns the place after the value that begins at i, or -1.
func endOfValue(raw []byte, i int) int {
	depth := 0
	for i < len(raw) {
		switch c := raw[i]; {
		case c == '"':
			end := endOfText(raw, i+1)
			if end < 0 {
				return -1
			}
			if i = end; depth == 0 {
				return i + 1
			}
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth <= 0 {
				return i + 1 + min(depth, 0)
			}
		case depth == 0 && (c == ',' || isSpace(c)):
			return i
		}
		i++
	}
	return -1
}
