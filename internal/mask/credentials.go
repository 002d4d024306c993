package mask

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// JSON replaces the values of keys that look like credentials, at any depth.
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

// Member is the value of a JSON key as it prints.
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

// secretWords are parts of names, whatever their case, blanks and dashes.
var secretWords = []string{
	"secret", "password", "passwd", "pwd", "passphrase", "privatekey", "accesskey", "accountkey", "apikey",
	"connectionstring", "credential", "token", "clientid",
}

// blanks are what names are written with or without.
var blanks = strings.NewReplacer(" ", "", "_", "", "-", "")

func looksSecret(name string) bool {
	name = blanks.Replace(strings.ToLower(name))
	holds := func(word string) bool { return strings.Contains(name, word) }
	return name != "tokenuri" && slices.ContainsFunc(secretWords, holds)
}

// LeastSecret is how long a credential must be to be looked for: shorter texts are a part of
// too many words.
const LeastSecret = 4

// Credentials are the credentials in a JSON body, by the names of their keys. Each line of one,
// such as of a private key, is looked for by itself.
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
			for line := range strings.Lines(v) {
				if line = strings.TrimSpace(line); isSecret && len(line) >= LeastSecret {
					found[line] = true
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
