package mask

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// What is hidden, and how much is kept.
const (
	LeastOfKey = 8        // so many first characters of a key are worth hiding
	leastWhole = 16       // a shorter key is a word of a test, which a good answer may hold too
	MostHeader = 64 << 10 // bytes of the header that are kept of a failed call
	mostText   = 4 << 10  // bytes of an error's text that are kept
)

// Bytes returns text without the keys that a server may have echoed in it: whole or cut short, as
// they are or escaped as JSON and URLs do. It reads the text once.
func Bytes(text []byte, keys []string) []byte {
	return withoutEchoes(text, keys, func(key string) int { return min(len(key), LeastOfKey) })
}

// Whole is Bytes for an answer that is used: only whole keys are taken out of it.
func Whole(text []byte, keys []string) []byte {
	keys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return len(key) < leastWhole })
	return withoutEchoes(text, keys, func(key string) int { return len(key) })
}

func withoutEchoes(text []byte, keys []string, least func(key string) int) []byte {
	mayEcho := func(key string) bool { return bytes.Contains(text, []byte(key[:min(len(key), LeastOfKey)])) }
	if !bytes.ContainsAny(text, `%\`) && !slices.ContainsFunc(keys, mayEcho) {
		return text // as nearly always
	}
	var begins [256]bool // how an echo can begin
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
			if matched, size := echo(text[i:], key); matched > 0 && matched >= least(key) {
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

// echo reports how many bytes of key the text begins with, and how many of its own bytes say so.
func echo(text []byte, key string) (matched, size int) {
	for skipped := 0; matched < len(key) && size < len(text); {
		var said [utf8.UTFMax]byte
		n, length := unescape(&said, text[size:])
		if !strings.HasPrefix(key[matched:], string(said[:n])) {
			said[0], n, length = text[size], 1, 1
		}
		if !strings.HasPrefix(key[matched:], string(said[:n])) {
			if text[size] == '\\' && skipped < 2*(matched+1) { // escaped more than once, as Python's repr is in JSON
				skipped, size = skipped+1, size+1
				continue
			}
			break
		}
		matched, size = matched+n, size+length
	}
	return matched, size
}

// unescape reads one character that may be escaped. It takes length bytes of the text and means n
// bytes of said.
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
	for _, d := range digits {
		switch {
		case '0' <= d && d <= '9':
			d -= '0'
		case 'a' <= d|0x20 && d|0x20 <= 'f':
			d = d | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		c = c<<4 | rune(d)
	}
	return c, true
}

// Text is Bytes for a string.
func Text(s string, keys []string) string { return string(Bytes([]byte(s), keys)) }

// Header is what is kept of the header of a failed call: no keys, and not more than a header
// needs.
func Header(h http.Header, keys []string) http.Header {
	kept, left := http.Header{}, MostHeader
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

// Error is Bytes for the text of a transport's error, which may quote a malformed answer. What it
// wraps is then lost.
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
