package hogapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// How JSON of unknown keys prints: a RawConfig and the Extra of a config may hold credentials.

func (c RawConfig) encode(reveal bool) []byte {
	if reveal {
		return c
	}
	return redactJSON(json.RawMessage(c))
}

// MarshalJSON writes the config with credentials redacted.
func (c RawConfig) MarshalJSON() ([]byte, error) { return c.encode(false), nil }

// UnmarshalJSON keeps the bytes.
func (c *RawConfig) UnmarshalJSON(b []byte) error {
	*c = slices.Clone(b)
	return nil
}

// String is the config with credentials redacted.
func (c RawConfig) String() string { return string(c.encode(false)) }

// Format writes String under every verb.
func (c RawConfig) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// LogValue is String for slog.
func (c RawConfig) LogValue() slog.Value { return slog.StringValue(c.String()) }

func (e ExtraKeys) encode() []byte {
	if len(e) == 0 {
		return []byte("{}")
	}
	b, err := json.Marshal(map[string]json.RawMessage(e))
	if err != nil {
		return []byte(redacted)
	}
	return redactJSON(b)
}

// MarshalJSON writes the keys with credentials redacted.
func (e ExtraKeys) MarshalJSON() ([]byte, error) { return e.encode(), nil }

// String is the keys as JSON with credentials redacted.
func (e ExtraKeys) String() string { return string(e.encode()) }

// Format writes String under every verb.
func (e ExtraKeys) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, e.String()) }

// LogValue is String for slog.
func (e ExtraKeys) LogValue() slog.Value { return slog.StringValue(e.String()) }

// redactJSON replaces the values of keys that look like credentials, at any depth.
func redactJSON(raw json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) == nil {
		if b, err := json.Marshal(redactValue(v)); err == nil {
			return b
		}
	}
	return json.RawMessage(`"` + redacted + `"`)
}

func redactKey(name string, raw json.RawMessage) json.RawMessage {
	if looksSecret(name) {
		return json.RawMessage(`"` + redacted + `"`)
	}
	return redactJSON(raw)
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
				v[name] = redacted
			} else {
				v[name] = redactValue(value)
			}
		}
	}
	return v
}

// secretWords are parts of names, whatever their case, blanks and dashes.
var secretWords = []string{
	"secret", "password", "passwd", "pwd", "passphrase", "privatekey", "accesskey", "accountkey", "apikey",
	"connectionstring", "sharedaccess", "credential", "token", "clientid",
}

func looksSecret(name string) bool {
	name = lettersOnly(name)
	holds := func(word string) bool { return strings.Contains(name, word) }
	return name != "tokenuri" && slices.ContainsFunc(secretWords, holds)
}

// leastSecret is how long a credential must be to be looked for: shorter texts are a part of too many
// words.
const leastSecret = 4

// credentialsIn are the credentials in a JSON body, by the names of their keys, and their parts.
func credentialsIn(body []byte) []string {
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
				if len(part) >= leastSecret {
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
	return slices.SortedFunc(maps.Keys(found), func(a, b string) int { return len(b) - len(a) }) // before a part of it
}

// secretParts are the texts that give a credential away: each line, as of a private key, and the keys
// and signatures of a connection string.
func secretParts(secret string) (parts []string) {
	lines := strings.Split(secret, "\n")
	lines = append(lines, strings.Split(secret, `\n`)...) // a private key in one line
	for _, line := range lines {
		parts = append(parts, strings.TrimSpace(line))
	}
	for setting := range strings.SplitSeq(secret, ";") {
		if name, value, ok := strings.Cut(setting, "="); ok && looksSecret(name) {
			parts = append(parts, strings.TrimSpace(value))
		}
		if _, signature, ok := strings.Cut(setting, "sig="); ok {
			signature, _, _ = strings.Cut(signature, "&")
			if plain, err := url.PathUnescape(strings.TrimSpace(signature)); err == nil {
				signature = plain // echoes are found escaped, too
			}
			parts = append(parts, signature)
		}
	}
	return parts
}
