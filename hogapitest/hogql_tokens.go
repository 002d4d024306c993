package hogapitest

import "strings"

// hogToken is a word, a name in quotes, a number, a text or a sign.
type hogToken struct {
	kind hogKind
	text string // without quotes
}

type hogKind uint8

const (
	hogEnd hogKind = iota
	hogWord
	hogName // in backticks or double quotes: never a keyword
	hogNumber
	hogText
	hogSign
)

const hogBlanks = " \t\r\n\f\v"

// hogTokens cuts a query into tokens, without blanks and comments.
func hogTokens(text string) (list []hogToken) {
	for at := 0; at < len(text); {
		token, size := hogNext(text[at:])
		if size == 0 {
			hogFail("hogql_syntax_error", "token recognition error at: '%c'", text[at])
		}
		at += size
		if token.kind != hogEnd {
			list = append(list, token)
		}
	}
	return list
}

// hogNext reads the token in front, and how long it is. Blanks and comments are hogEnd.
func hogNext(s string) (hogToken, int) {
	switch c := s[0]; {
	case strings.IndexByte(hogBlanks, c) >= 0:
		return hogToken{}, 1
	case strings.HasPrefix(s, "--"):
		line, _, _ := strings.Cut(s, "\n")
		return hogToken{}, len(line)
	case strings.HasPrefix(s, "/*"):
		_, after, closed := strings.Cut(s[2:], "*/")
		if !closed {
			hogFail("hogql_syntax_error", "unterminated comment")
		}
		return hogToken{}, len(s) - len(after)
	case c == '\'':
		said, size := hogQuoted(s)
		return hogToken{hogText, said}, size
	case c == '`', c == '"':
		said, size := hogQuoted(s)
		return hogToken{hogName, said}, size
	case '0' <= c && c <= '9':
		size := hogSpan(s, func(c byte) bool { return '0' <= c && c <= '9' || c == '.' })
		return hogToken{hogNumber, s[:size]}, size
	case isHogLetter(c):
		size := hogSpan(s, func(c byte) bool { return isHogLetter(c) || '0' <= c && c <= '9' })
		return hogToken{hogWord, s[:size]}, size
	}
	for _, sign := range []string{"!=", "<>", "<=", ">=", "==", "(", ")", "{", "}", "[", "]", ",", ".", "=", "<", ">", "*"} {
		if !strings.HasPrefix(s, sign) {
			continue
		}
		token := hogToken{hogSign, sign}
		switch sign {
		case "<>":
			token.text = "!="
		case "==":
			token.text = "="
		}
		return token, len(sign)
	}
	return hogToken{}, 0
}

func hogSpan(s string, in func(c byte) bool) int {
	for i := range len(s) {
		if !in(s[i]) {
			return i
		}
	}
	return len(s)
}

// hogQuoted reads the text between two quotes. A quote inside is doubled, or has a backslash.
func hogQuoted(s string) (said string, size int) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case s[i] == s[0] && i+1 < len(s) && s[i+1] == s[0]:
			i++
			b.WriteByte(s[i])
		case s[i] == s[0]:
			return b.String(), i + 1
		default:
			b.WriteByte(s[i])
		}
	}
	hogFail("hogql_syntax_error", "unterminated text")
	return "", 0
}

func isHogLetter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '$'
}
