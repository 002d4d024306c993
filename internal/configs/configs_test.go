package configs

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/opt"
)

// secret is masked in print and decodes strings.
type secret string

func (s secret) Reveal() string             { return string(s) }
func (secret) MarshalJSON() ([]byte, error) { return []byte(`"[redacted]"`), nil }
func (s *secret) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, (*string)(s)) != nil {
		return errors.New("a secret must be a text")
	}
	return nil
}

type (
	keys map[string]json.RawMessage
	raw  json.RawMessage

	config struct {
		Name  opt.Opt[string]   `json:"name,omitzero"`
		Port  opt.Opt[int]      `json:"port,omitzero"`
		On    opt.Opt[bool]     `json:"on,omitzero"`
		List  opt.Opt[[]string] `json:"list,omitzero"`
		Key   opt.Opt[secret]   `json:"key,omitzero"`
		Login opt.Opt[login]    `json:"login,omitzero"`
		Part  opt.Opt[part]     `json:"part,omitzero"`
		Extra keys              `json:"-"`
	}
	part struct {
		Key   opt.Opt[secret] `json:"key,omitzero"`
		Extra keys            `json:"-"`
	}
	login struct { // a union
		ID   int64
		Role string
		Pair part
	}
)

func (c config) MarshalJSON() ([]byte, error)  { return Redacted(c) }
func (c *config) UnmarshalJSON(b []byte) error { return Decode(b, c) }
func (p part) MarshalJSON() ([]byte, error)    { return Redacted(p) }
func (p *part) UnmarshalJSON(b []byte) error   { return Decode(b, p) }
func (l login) MarshalJSON() ([]byte, error)   { return RedactedUnion(l) }
func (l *login) UnmarshalJSON(b []byte) error  { return DecodeUnion(b, l) }

const canary = "CanarySecret0123456789"

// text is JSON, as the value of a key.
func text(s string) json.RawMessage { return json.RawMessage(s) }

var canaryText = text(`"` + canary + `"`)

// Each config in both forms. Decoding the revealed form gives the same config.
func TestForms(t *testing.T) {
	pair := part{Key: opt.Set(secret(canary)), Extra: keys{"my_secret": canaryText, "n": text(`1`)}}
	for name, tt := range map[string]struct {
		config             config
		redacted, revealed string
	}{
		"absent": {config{}, `{}`, `{}`},
		"null": {
			config{Port: opt.Null[int](), Key: opt.Null[secret](), Part: opt.Null[part]()},
			`{"key":null,"part":null,"port":null}`, `{"key":null,"part":null,"port":null}`,
		},
		"values": {
			config{Name: opt.Set(""), Port: opt.Set(0), On: opt.Set(false), List: opt.Set([]string{})},
			`{"list":[],"name":"","on":false,"port":0}`, `{"list":[],"name":"","on":false,"port":0}`,
		},
		"secret": {config{Key: opt.Set(secret(canary))}, `{"key":"[redacted]"}`, `{"key":"` + canary + `"}`},
		"extra": {
			config{Extra: pair.Extra}, `{"my_secret":"[redacted]","n":1}`, `{"my_secret":"` + canary + `","n":1}`,
		},
		"part": {
			config{Part: opt.Set(pair)}, `{"part":{"key":"[redacted]","my_secret":"[redacted]","n":1}}`,
			`{"part":{"key":"` + canary + `","my_secret":"` + canary + `","n":1}}`,
		},
		"id":   {config{Login: opt.Set(login{ID: 7})}, `{"login":7}`, `{"login":7}`},
		"role": {config{Login: opt.Set(login{Role: "r"})}, `{"login":"r"}`, `{"login":"r"}`},
		"none": {config{Login: opt.Set(login{})}, `{"login":{}}`, `{"login":{}}`},
		"pair": {
			config{Login: opt.Set(login{Pair: pair})}, `{"login":{"key":"[redacted]","my_secret":"[redacted]","n":1}}`,
			`{"login":{"key":"` + canary + `","my_secret":"` + canary + `","n":1}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []any{tt.config, &tt.config} {
				b, err := Redacted(c)
				require.NoError(t, err)
				require.Equal(t, tt.redacted, string(b))
				b, err = Revealed(c)
				require.NoError(t, err)
				require.Equal(t, tt.revealed, string(b))
			}
			back := config{Name: opt.Set("before"), Extra: keys{"before": text(`1`)}}
			require.NoError(t, Decode([]byte(tt.revealed), &back))
			require.Equal(t, tt.config, back)
		})
	}
}

// Raw JSON is written unchanged; other bytes are masked as a whole.
func TestRaw(t *testing.T) {
	for sent, redacted := range map[string]string{
		`{"deep":[{"token":"` + canary + `"}],"n":1}`: `{"deep":[{"token":"[redacted]"}],"n":1}`,
		`{"token":"` + canary:                         `"[redacted]"`,
	} {
		b, err := Redacted(raw(sent))
		require.NoError(t, err)
		require.Equal(t, redacted, string(b))
		b, err = Revealed(raw(sent))
		require.NoError(t, err)
		require.Equal(t, sent, string(b))
	}
}

func TestRedactedKeys(t *testing.T) {
	require.Equal(t, `{}`, string(RedactedKeys(nil)))
	deep := Keys{"b": text(`1`), "a": text(`{"password":"x"}`)}
	require.Equal(t, `{"a":{"password":"[redacted]"},"b":1}`, string(RedactedKeys(deep)))
	require.Equal(t, `[redacted]`, string(RedactedKeys(Keys{"a": text(`"` + canary)})))
}

// No error contains a credential, in either form.
func TestEncodeErrors(t *testing.T) {
	for want, c := range map[string]any{
		"name has a field of its own and cannot be in Extra":      config{Extra: keys{"name": canaryText}},
		"part: key has a field of its own and cannot be in Extra": config{Part: opt.Set(part{Extra: keys{"key": canaryText}})},
		"configs.alien is not a config of this package":           alien{Raw: raw(canaryText)},
		"*configs.alien is not a config of this package":          &alien{Raw: raw(canaryText)},
	} {
		_, err := Revealed(c)
		require.EqualError(t, err, want)
		_, err = Redacted(c)
		require.ErrorContains(t, err, want[len("part: "):])
		require.NotContains(t, err.Error(), canary)
	}
}

type alien struct {
	Raw   raw
	Extra keys
}

func TestDecode(t *testing.T) {
	for sent, want := range map[string]config{
		`{"port":"5432","on":"False"}`:        {Port: opt.Set(5432), On: opt.Set(false)},
		`{"port":" +07 ","on":"t"}`:           {Port: opt.Set(7), On: opt.Set(true)},
		`{"port":"None","on":"","list":null}`: {Port: opt.Null[int](), On: opt.Null[bool](), List: opt.Null[[]string]()},
		`{"name":"5432","key":"7"}`:           {Name: opt.Set("5432"), Key: opt.Set(secret("7"))},
		`{"Extra":1,"x":"True"}`:              {Extra: keys{"Extra": text(`1`), "x": text(`"True"`)}},
		`null`:                                {},
		`{"login":" 7 ","part":{"new":1}}`:    {Login: opt.Set(login{ID: 7}), Part: opt.Set(part{Extra: keys{"new": text(`1`)}})},
		`{"login":"None"}`:                    {Login: opt.Set(login{})},
		`{"login":{"key":"k"}}`:               {Login: opt.Set(login{Pair: part{Key: opt.Set(secret("k"))}})},
	} {
		var c config
		require.NoError(t, Decode([]byte(sent), &c), sent)
		require.Equal(t, want, c, sent)
	}
}

// Errors do not quote a value of the wrong type: it may be a misplaced credential.
func TestDecodeErrors(t *testing.T) {
	for sent, want := range map[string]string{
		`"` + canary + `"`:             "json: cannot unmarshal string into Go value of type map[string]json.RawMessage",
		`{"port":"` + canary + `"}`:    "port: json: cannot unmarshal string into Go value of type int",
		`{"on":"` + canary + `"}`:      "on: json: cannot unmarshal string into Go value of type bool",
		`{"list":"None"}`:              "list: json: cannot unmarshal string into Go value of type []string",
		`{"part":""}`:                  "part: json: cannot unmarshal string into Go value of type map[string]json.RawMessage",
		`{"key":["` + canary + `"]}`:   "key: a secret must be a text",
		`{"login":true}`:               "login: json: cannot unmarshal bool into Go value of type int64",
		`{"login":["` + canary + `"]}`: "login: json: cannot unmarshal array into Go value of type int64",
	} {
		require.EqualError(t, Decode([]byte(sent), new(config)), want, sent)
	}
	var access struct {
		ID   int64
		Pair part
	}
	err := DecodeUnion(canaryText, &access)
	require.EqualError(t, err, "json: cannot unmarshal string into Go value of type int64", "it has no text")
}

// Decoding a union clears its earlier value, above all a credential.
func TestDecodeUnionStartsEmpty(t *testing.T) {
	for _, sent := range []string{`7`, `"a role"`, `null`, `[]`} {
		l := login{ID: 1, Role: "r", Pair: part{Key: opt.Set(secret(canary))}}
		_ = DecodeUnion([]byte(sent), &l)
		require.Zero(t, l.Pair, sent)
		require.False(t, l.ID != 0 && l.Role != "", sent)
	}
}

func TestFieldNames(t *testing.T) {
	require.Equal(t, []string{"ID", "Role", "Pair"}, fieldNames(reflect.TypeFor[login]()))
	require.Equal(t, []string{"key", "Extra"}, fieldNames(reflect.TypeFor[part]()))
}

func TestOverlay(t *testing.T) {
	for name, tt := range map[string]struct{ below, changed, want string }{
		"value":                {`1`, `null`, `null`},
		"objects":              {`{"x":1,"deep":{"y":1}}`, `{"deep":{"z":2}}`, `{"deep":{"y":1,"z":2},"x":1}`},
		"object over a list":   {`[1]`, `{"x":1}`, `{"x":1}`},
		"null over an object":  {`{"x":1}`, `null`, `null`},
		"object over a null":   {`null`, `{"z":1,"a":2}`, `{"z":1,"a":2}`},
		"empty over an object": {`{"x":1}`, `{}`, `{"x":1}`},
		"value over an object": {`{"x":{"y":1}}`, `{"x":2}`, `{"x":2}`},
	} {
		below := Keys{"kept": text(`1`), "k": text(tt.below)}
		whole := Overlay(below, Keys{"k": text(tt.changed), "new": text(`2`)})
		require.Equal(t, Keys{"kept": text(`1`), "k": text(tt.want), "new": text(`2`)}, whole, name)
		require.Equal(t, Keys{"kept": text(`1`), "k": text(tt.below)}, below, name)
	}
}
