package mask

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits for hiding keys and keeping texts.
const (
	MinOfKey  = 8        // a shorter prefix of a key is not hidden
	MaxHeader = 64 << 10 // bytes kept of a failed call's header
	maxText   = 4 << 10  // bytes kept of an error's text
)

// Bytes masks keys that a server may have echoed in text: whole or cut short, plain or escaped for
// JSON or URLs. It reads the text once.
func Bytes(text []byte, keys []string) []byte {
	mayEcho := func(key string) bool { return bytes.Contains(text, []byte(key[:min(len(key), MinOfKey)])) }
	if !bytes.ContainsAny(text, `%\`) && !slices.ContainsFunc(keys, mayEcho) {
		return text // nearly always
	}
	var begins [256]bool // possible first bytes of an echo
	begins['\\'], begins['%'] = true, true
	for _, key := range keys {
		if key != "" {
			begins[key[0]] = true
		}
	}
	var out []byte
	kept := 0
	for i := 0; i < len(text); i++ {
		if !begins[text[i]] {
			continue
		}
		for _, key := range keys {
			if matched, size := echo(text[i:], key); matched > 0 && matched >= min(len(key), MinOfKey) {
				out = append(append(out, text[kept:i]...), Redacted...)
				kept = i + size
				i = kept - 1
				break
			}
		}
	}
	if kept == 0 {
		return text
	}
	return append(out, text[kept:]...)
}

// echo returns how many bytes of key the text begins with, and how many bytes of text they take.
func echo(text []byte, key string) (matched, size int) {
	for skipped := 0; matched < len(key) && size < len(text); {
		var said [utf8.UTFMax]byte
		n, length := unescape(&said, text[size:])
		if !strings.HasPrefix(key[matched:], string(said[:n])) {
			said[0], n, length = text[size], 1, 1
		}
		if !strings.HasPrefix(key[matched:], string(said[:n])) {
			if text[size] == '\\' && skipped < 2*(matched+1) { // escaped repeatedly, as in Python's repr within JSON
				skipped, size = skipped+1, size+1
				continue
			}
			break
		}
		matched, size = matched+n, size+length
	}
	return matched, size
}

// unescape decodes one character that may be escaped. It consumes length bytes of text and stores n
// bytes in said.
func unescape(said *[utf8.UTFMax]byte, text []byte) (n, length int) {
	const short, meaning = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	switch {
	case text[0] == '%' && len(text) >= 3:
		if c, ok := hexadecimal(text[1:3]); ok {
			said[0] = byte(c)
			return 1, 3
		}
	case text[0] != '\\' || len(text) < 2:
	case text[1] == 'u' && len(text) >= 6:
		if c, ok := hexadecimal(text[2:6]); ok {
			return utf8.EncodeRune(said[:], c), 6
		}
	default:
		if i := strings.IndexByte(short, text[1]); i >= 0 {
			said[0] = meaning[i]
			return 1, 2
		}
	}
	said[0] = text[0]
	return 1, 1
}

func hexadecimal(digits []byte) (c rune, ok bool) {
	n, err := strconv.ParseUint(string(digits), 16, 16)
	return rune(n), err == nil
}

// Text is Bytes for a string.
func Text(s string, keys []string) string { return string(Bytes([]byte(s), keys)) }

// Header returns the part of a failed call's header that is kept: without keys, and of limited
// size.
func Header(h http.Header, keys []string) http.Header {
	kept, left := http.Header{}, MaxHeader
	for name, values := range h {
		shown := name
		if len(name) <= left {
			shown = Text(name, keys)
		}
		for _, value := range values {
			if size := len(name) + len(value); size <= left {
				left -= size
				kept[shown] = append(kept[shown], Text(value, keys))
			}
		}
	}
	return kept
}

// Error masks keys in the text of a transport's error, which may quote a malformed answer. If it
// masks any, the wrapped error is lost.
func Error(err error, keys []string) error {
	if err == nil {
		return nil
	}
	whole := err.Error()
	if text := Text(Brief(err), keys); text != whole {
		return errors.New(text)
	}
	return err
}
