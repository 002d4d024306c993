package jsonb

import "bytes"

// Members calls visit for each member of an object that is known to be valid, given what stands between its braces: its key's text,
// and the member as it stands there, which ends with the value. It checks nothing, which takes a fraction of what [Object] takes.
func Members(members []byte, visit func(key, value, member []byte)) {
	for i := 0; i < len(members); {
		if c := members[i]; c != '"' { // blanks, and the comma before the member
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

// textEnd is the place after the text that begins at i.
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

// valueEnd is the place after the value that begins at i.
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
