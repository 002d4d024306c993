package jsonb

import "bytes"

// Members calls visit for each member of a valid object, given the text between its braces. It
// passes the text of the key, the value, and the member from its key to the end of its value. It
// checks nothing, which takes a fraction of the time of [Object].
func Members(members []byte, visit func(key, value, member []byte)) {
	for i := 0; i < len(members); {
		if c := members[i]; c != '"' { // whitespace, or the comma before the member
			i++
			continue
		}
		end := textEnd(members, i)
		key := members[i+1 : end-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			key = appendUnescaped(nil, members[i:end])
		}
		from := end + bytes.IndexByte(members[end:], ':') + 1
		for isBlank(members[from]) {
			from++
		}
		to := valueEnd(members, from)
		visit(key, members[from:to], members[i:to])
		i = to
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// textEnd returns the offset after the string that begins at i.
func textEnd(data []byte, i int) int {
	for i++; ; i++ {
		i += bytes.IndexByte(data[i:], '"')
		slashes := 0
		for data[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
}

// valueEnd returns the offset after the value that begins at i.
func valueEnd(data []byte, i int) int {
	switch data[i] {
	case '"':
		return textEnd(data, i)
	case '{', '[':
		for depth := 0; ; {
			switch data[i] {
			case '"':
				i = textEnd(data, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			if i++; depth == 0 {
				return i
			}
		}
	}
	for i < len(data) && data[i] != ',' && !isBlank(data[i]) {
		i++
	}
	return i
}
