package hogapi

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// How the credentials in the body of a request are kept out of what is made of a refusal, which may
// echo them.

const (
	leastKey    = 12  // shorter keys, of tests, may be in any data
	leastSecret = 4   // shorter texts are a part of too many words
	leastLine   = 16  // of a credential of several lines, such as a private key, each line of this length is one
	mostSecret  = 256 // bytes of a credential whose first part alone is looked for
)

// credentialsIn are the credentials in a JSON body, by the names of their keys.
func credentialsIn(body []byte) []string {
	value, ok := anyJSON(body)
	if !ok {
		return nil
	}
	found := map[string]bool{}
	var walk func(v any, secret bool)
	walk = func(v any, secret bool) {
		switch v := v.(type) {
		case string:
			if !secret {
				return
			}
			found[v] = len(v) >= leastSecret
			for line := range strings.Lines(v) {
				line = strings.TrimSpace(line)
				found[line] = found[line] || len(line) >= leastLine
			}
		case []any:
			for _, item := range v {
				walk(item, secret)
			}
		case map[string]any:
			for name, item := range v {
				walk(item, secret || looksSecret(name))
			}
		}
	}
	walk(value, false)
	maps.DeleteFunc(found, func(_ string, isLong bool) bool { return !isLong })
	return slices.SortedFunc(maps.Keys(found), func(a, b string) int { return len(b) - len(a) }) // the whole before its lines
}

// redactCredentials returns body without credentials: in JSON however they are escaped, in other
// texts as they are or, where the body was cut, in part.
func redactCredentials(body []byte, secrets []string) []byte {
	if len(secrets) == 0 {
		return body
	}
	value, ok := anyJSON(body)
	if !ok {
		return []byte(redactPlain(string(body), secrets))
	}
	hasOne := false
	masked := eachText(value, func(s string) string {
		hidden := redactExact(s, secrets)
		hasOne = hasOne || hidden != s
		return hidden
	})
	if !hasOne {
		return body
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(masked); err != nil {
		return []byte(redacted)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func redactExact(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	return text
}

func redactPlain(text string, secrets []string) string {
	for _, secret := range secrets {
		quoted, _ := json.Marshal(secret) //nolint:errchkjson // a string
		for _, form := range []string{secret, strings.Trim(string(quoted), `"`)} {
			text = redactText(strings.ReplaceAll(text, form, redacted), []string{form[:min(len(form), mostSecret)]})
		}
	}
	return text
}

// hide returns an answer's header and body without the keys of the client and the credentials of
// the request.
func (x *exchange) hide(h http.Header, body []byte) (http.Header, []byte) {
	h = redactHeader(h, x.keys)
	for _, values := range h {
		for i, v := range values {
			values[i] = redactPlain(v, x.credentials)
		}
	}
	return h, redact(redactCredentials(body, x.credentials), x.keys)
}

// withoutKeys is a success as it is decoded: a service that echoes the client's keys, in the error
// of a run for example, must not make its callers print them. Do is given what it asks for.
func (x *exchange) withoutKeys(body []byte) []byte {
	if x.op.name == OpDo {
		return body
	}
	long := slices.DeleteFunc(slices.Clone(x.keys), func(key string) bool { return len(key) < leastKey })
	return redact(body, long)
}

// eachText is a JSON value with its texts replaced, the names of keys among them.
func eachText(v any, replace func(string) string) any {
	switch v := v.(type) {
	case string:
		return replace(v)
	case []any:
		for i := range v {
			v[i] = eachText(v[i], replace)
		}
	case map[string]any:
		for name, value := range maps.Clone(v) {
			delete(v, name)
			v[replace(name)] = eachText(value, replace)
		}
	}
	return v
}

func anyJSON(text []byte) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return v, d.Decode(&v) == nil && !d.More()
}
