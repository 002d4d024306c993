package mask

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// JSON masks the values of keys that look like credentials, at any depth.
func JSON(raw json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) == nil {
		if b, err := json.Marshal(redactValue(v)); err == nil {
			return b
		}
	}
	return json.RawMessage(`"` + Redacted + `"`)
}

// Member returns the printable value of a JSON key.
func Member(name string, raw json.RawMessage) json.RawMessage {
	if looksSecret(name) {
		return json.RawMessage(`"` + Redacted + `"`)
	}
	return JSON(raw)
}

func redactValue(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = redactValue(v[i])
		}
	case map[string]any:
		for name, value := range v {
			if looksSecret(name) {
				v[name] = Redacted
			} else {
				v[name] = redactValue(value)
			}
		}
	}
	return v
}

// secretWords are parts of key names, in any case, with or without blanks and dashes.
var secretWords = []string{
	"secret", "password", "passwd", "pwd", "passphrase", "privatekey", "accesskey", "accountkey", "apikey",
	"connectionstring", "sharedaccess", "credential", "token", "clientid",
}

// blanks removes optional separators from names.
var blanks = strings.NewReplacer(" ", "", "_", "", "-", "")

func looksSecret(name string) bool {
	name = blanks.Replace(strings.ToLower(name))
	holds := func(word string) bool { return strings.Contains(name, word) }
	return name != "tokenuri" && slices.ContainsFunc(secretWords, holds)
}

// minSecret is the smallest length of a credential to search for: shorter texts occur in too many
// words.
const minSecret = 4

// Credentials returns the credentials in a JSON body, which it finds by key names, and their
// secretParts.
func Credentials(body []byte) []string {
	var value any
	if json.Unmarshal(body, &value) != nil {
		return nil
	}
	found := map[string]bool{}
	var walk func(v any, isSecret bool)
	walk = func(v any, isSecret bool) {
		switch v := v.(type) {
		case string:
			if !isSecret {
				return
			}
			for _, part := range secretParts(v) {
				if len(part) >= minSecret {
					found[part] = true
				}
			}
		case []any:
			for _, item := range v {
				walk(item, isSecret)
			}
		case map[string]any:
			for name, item := range v {
				walk(item, isSecret || looksSecret(name))
			}
		}
	}
	walk(value, false)
	return slices.SortedFunc(maps.Keys(found), func(a, b string) int { return len(b) - len(a) }) // before its parts
}

// HeaderCredentials returns the credentials in a caller's own headers, such as a cookie or the token of a proxy.
func HeaderCredentials(h http.Header) (found []string) {
	for name, values := range h {
		if lower := strings.ToLower(name); !looksSecret(name) && lower != "cookie" && !strings.HasSuffix(lower, "authorization") {
			continue
		}
		for _, value := range values {
			found = append(found, value)
			for _, part := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" ;=", r) }) {
				if len(part) > 2*minSecret { // shorter parts are names
					found = append(found, part)
				}
			}
		}
	}
	return found
}

// secretParts returns the texts that disclose a credential: each line, for example of a private
// key, and the keys and signatures of a connection string.
func secretParts(secret string) (parts []string) {
	for line := range strings.SplitSeq(strings.ReplaceAll(secret, `\n`, "\n"), "\n") { // a private key may be on one line
		parts = append(parts, strings.TrimSpace(line))
	}
	for setting := range strings.SplitSeq(secret, ";") {
		if name, value, ok := strings.Cut(setting, "="); ok && looksSecret(name) {
			parts = append(parts, strings.TrimSpace(value))
		}
		if _, signature, ok := strings.Cut(setting, "sig="); ok {
			signature, _, _ = strings.Cut(signature, "&")
			if plain, err := url.PathUnescape(strings.TrimSpace(signature)); err == nil {
				signature = plain // servers also echo it escaped
			}
			parts = append(parts, signature)
		}
	}
	return parts
}
