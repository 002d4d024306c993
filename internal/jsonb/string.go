package jsonb

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// The characters with an escape of one letter, and the reverse.
var (
	escapes   = [utf8.RuneSelf]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}
	unescapes = [utf8.RuneSelf]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}
)

// special marks the bytes of x that end a run of plain text: quotes, backslashes, control
// characters and bytes outside ASCII. The lowest mark is exact; higher marks may be false.
func special(x uint64) uint64 {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	return (x | (x - ones*0x20) | ((x ^ ones*'"') - ones) | ((x ^ ones*'\\') - ones)) & high
}

// AppendString appends s as a JSON string. It escapes only the characters that JSON requires:
// quote, backslash and control characters. Bad UTF-8 is an error.
func AppendString(dst []byte, s string) ([]byte, error) {
	before := len(dst)
	dst = append(dst, '"')
	start := 0 // of the text that is not appended yet
	for i := nextSpecial(s, 0); i < len(s); i = nextSpecial(s, i) {
		c := s[i]
		if c >= utf8.RuneSelf {
			for i < len(s) && s[i] >= utf8.RuneSelf {
				size := runeSize(s[i:])
				if size == 0 {
					return dst[:before], &Error{Kind: KindUTF8, Offset: i}
				}
				i += size
			}
			continue
		}
		dst = append(dst, s[start:i]...)
		if short := escapes[c]; short != 0 {
			dst = append(dst, '\\', short)
		} else {
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"'), nil
}

// nextSpecial returns the offset of the next byte from i on that ends a run of plain text, or the
// length of s.
func nextSpecial(s string, i int) int {
	for ; i+8 <= len(s); i += 8 {
		if marks := special(word(s[i:])); marks != 0 {
			return i + bits.TrailingZeros64(marks)/8
		}
	}
	rest := len(s) - i
	if rest > 0 && len(s) >= 8 {
		last := word(s[len(s)-8:]) >> (64 - 8*rest) // zeros follow, which special marks
		return i + min(bits.TrailingZeros64(special(last))/8, rest)
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			break
		}
	}
	return i
}

// word returns the first eight bytes of s as [binary.LittleEndian] does.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// scanString checks the string with its opening quote at data[i]. It returns the offset after the
// closing quote, or of the fault.
func scanString(data []byte, i int) (end int, escaped bool, kind Kind) {
	i++
	for {
		for i+8 <= len(data) {
			if marks := special(binary.LittleEndian.Uint64(data[i:])); marks != 0 {
				i += bits.TrailingZeros64(marks) / 8
				break
			}
			i += 8
		}
		if i >= len(data) {
			return len(data), escaped, KindSyntax
		}
		switch c := data[i]; {
		case c == '"':
			return i + 1, escaped, 0
		case c == '\\':
			size, kind := scanEscape(data[i:])
			if kind != 0 {
				return i, escaped, kind
			}
			escaped = true
			i += size
		case c < ' ':
			return i, escaped, KindSyntax
		case c < utf8.RuneSelf:
			i++
		default:
			for i < len(data) && data[i] >= utf8.RuneSelf {
				size := runeSize(data[i:])
				if size == 0 {
					return i, escaped, KindUTF8
				}
				i += size
			}
		}
	}
}

// runeSize returns the size of the non-ASCII rune at the start of s, or 0 for bad UTF-8.
func runeSize[T string | []byte](s T) int {
	const cont, mask = 0b1000_0000, 0b1100_0000
	switch c := s[0]; {
	case len(s) < 3:
	case c >= 0xc2 && c < 0xe0 && s[1]&mask == cont:
		return 2
	case c > 0xe0 && c < 0xed && s[1]&mask == cont && s[2]&mask == cont:
		return 3
	}
	r, size := utf8.DecodeRuneInString(string(s[:min(len(s), utf8.UTFMax)]))
	if r == utf8.RuneError && size == 1 {
		return 0
	}
	return size
}

// scanEscape checks the escape at the start of data and returns its size. A surrogate pair counts
// as one escape.
func scanEscape(data []byte) (size int, kind Kind) {
	if len(data) < 2 {
		return 0, KindSyntax
	}
	if c := data[1]; c < utf8.RuneSelf && unescapes[c] != 0 {
		return 2, 0
	}
	switch r := hex4(data); {
	case r < 0:
		return 0, KindSyntax
	case !utf16.IsSurrogate(r):
		return 6, 0
	case utf16.DecodeRune(r, hex4(data[6:])) == utf8.RuneError:
		return 0, KindSurrogate
	}
	return 12, 0
}

// hex4 reads the escape \uXXXX at the start of data. Without an escape it returns a negative rune.
func hex4(data []byte) rune {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return -1
	}
	var r rune
	for _, c := range data[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// AppendUnquoted appends the text of the raw JSON string s.
func AppendUnquoted(dst, s []byte) ([]byte, error) {
	escaped, err := checkString(s)
	if err != nil {
		return dst, err
	}
	if !escaped {
		return append(dst, s[1:len(s)-1]...), nil
	}
	return appendUnescaped(dst, s), nil
}

// Unquote returns the text of the raw JSON string s.
func Unquote(s []byte) (string, error) {
	if _, err := checkString(s); err != nil {
		return "", err
	}
	return text(s), nil
}

// Text is Unquote for a raw string that was read before, and is valid.
func Text(s []byte) string { return text(s) }

func checkString(s []byte) (escaped bool, err error) {
	if len(s) == 0 || s[0] != '"' {
		return false, &Error{Kind: KindSyntax}
	}
	end, escaped, kind := scanString(s, 0)
	if kind == 0 && end != len(s) {
		kind = KindSyntax
	}
	if kind != 0 {
		return false, &Error{Kind: kind, Offset: end}
	}
	return escaped, nil
}

func text(s []byte) string {
	if bytes.IndexByte(s, '\\') >= 0 {
		return string(appendUnescaped(nil, s))
	}
	return string(s[1 : len(s)-1])
}

// appendUnescaped appends the text of a valid raw string.
func appendUnescaped(dst, s []byte) []byte {
	for i := 1; i < len(s)-1; {
		if s[i] != '\\' {
			dst = append(dst, s[i])
			i++
			continue
		}
		if c := s[i+1]; c != 'u' {
			dst = append(dst, unescapes[c])
			i += 2
			continue
		}
		r := hex4(s[i:])
		i += 6
		if utf16.IsSurrogate(r) {
			r = utf16.DecodeRune(r, hex4(s[i:]))
			i += 6
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}
