package jsonb_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/jsonb"
)

func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

var valid = []string{
	`null`, `true`, `false`, `0`, `-0`, `1`, `-1`, `10`, `0.5`, `1e5`, `1E+5`, `1e-400`, `0e99999`, `-0.0e-0`,
	`9007199254740993`, `123456789012345678901234567890`, `3.14159265358979323846264338327950288419716939937510`,
	`1.7976931348623157e308`, `17976931348623157` + strings.Repeat("0", 292), `0.` + strings.Repeat("0", 400) + `1`,
	`""`, `"a"`, `"\"\\\/\b\f\n\r\t"`, `"\u0000\u001f\u007f"`, "\"\x7f\"", `"é€😀"`, `"\ud83d\ude00"`, `"\uD83D\uDE00\ud83d\ude00"`,
	"\"\u2028\u2029\ufffd\"", `"\ufffd"`, "\"\u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff\"",
	`[]`, `[[],{}]`, `[1,"a",null]`, `{}`, `{"a":1}`, `{"":{"":{}}}`, `{"a":{"b":1,"b":2}}`, `[{"a":1,"a":1}]`,
	nested(100), strings.Repeat(`{"a":`, 100) + `1` + strings.Repeat(`}`, 100),
	`"` + strings.Repeat("x", 100) + `\n` + strings.Repeat("ü", 100) + `"`,
}

// invalid are values that must be refused, each with the kind, path and offset of its fault.
var invalid = []struct {
	raw    string
	kind   jsonb.Kind
	path   string
	offset int
}{
	{``, jsonb.KindSyntax, "", 0},
	{` `, jsonb.KindSyntax, "", 1},
	{`nul`, jsonb.KindSyntax, "", 0},
	{`nulL`, jsonb.KindSyntax, "", 0},
	{`True`, jsonb.KindSyntax, "", 0},
	{`NaN`, jsonb.KindSyntax, "", 0},
	{`-Infinity`, jsonb.KindSyntax, "", 1},
	{`1 2`, jsonb.KindSyntax, "", 2},
	{`{}{}`, jsonb.KindSyntax, "", 2},
	{"\ufeff{}", jsonb.KindSyntax, "", 0},
	{"{}\v", jsonb.KindSyntax, "", 2},
	{"{}\x00", jsonb.KindSyntax, "", 2},
	{`01`, jsonb.KindSyntax, "", 1},
	{`-`, jsonb.KindSyntax, "", 1},
	{`+1`, jsonb.KindSyntax, "", 0},
	{`.5`, jsonb.KindSyntax, "", 0},
	{`1.`, jsonb.KindSyntax, "", 2},
	{`1.e5`, jsonb.KindSyntax, "", 2},
	{`1e`, jsonb.KindSyntax, "", 2},
	{`1e+`, jsonb.KindSyntax, "", 3},
	{`0x10`, jsonb.KindSyntax, "", 1},
	{`1_000`, jsonb.KindSyntax, "", 1},
	{`1e400`, jsonb.KindNumber, "", 0},
	{`-1e309`, jsonb.KindNumber, "", 0},
	{`1` + strings.Repeat("0", 309), jsonb.KindNumber, "", 0},
	{`1.7976931348623159e308`, jsonb.KindNumber, "", 0},
	{`{"a":{"b":[1,1e999999999999999999999]}}`, jsonb.KindNumber, "a.b[1]", 13},
	{`"`, jsonb.KindSyntax, "", 1},
	{`"abc`, jsonb.KindSyntax, "", 4},
	{`"abcdefghijklmnop`, jsonb.KindSyntax, "", 17},
	{`"a\`, jsonb.KindSyntax, "", 2},
	{`"\x"`, jsonb.KindSyntax, "", 1},
	{`"\u12"`, jsonb.KindSyntax, "", 1},
	{`"\u123g"`, jsonb.KindSyntax, "", 1},
	{`"\U0041"`, jsonb.KindSyntax, "", 1},
	{"\"a\nb\"", jsonb.KindSyntax, "", 2},
	{"\"abcdefgh\x00\"", jsonb.KindSyntax, "", 9},
	{`'a'`, jsonb.KindSyntax, "", 0},
	{"\"\xff\"", jsonb.KindUTF8, "", 1},
	{"\"\xc0\xaf\"", jsonb.KindUTF8, "", 1},
	{"\"\xed\xa0\x80\"", jsonb.KindUTF8, "", 1},
	{"\"\xf4\x90\x80\x80\"", jsonb.KindUTF8, "", 1},
	{"\"é\xe2\x82\"", jsonb.KindUTF8, "", 3},
	{"\"\xe2\x82", jsonb.KindUTF8, "", 1},
	{"{\"a\":[0,{\"b\":\"abcdefghijk\x80\"}]}", jsonb.KindUTF8, "a[1].b", 25},
	{"{\"a\":1,\"k\x80\":1}", jsonb.KindUTF8, "", 9},
	{`"\ud800"`, jsonb.KindSurrogate, "", 1},
	{`"\udc00"`, jsonb.KindSurrogate, "", 1},
	{`"\ud800\ud800"`, jsonb.KindSurrogate, "", 1},
	{`"\ud83dx\ude00"`, jsonb.KindSurrogate, "", 1},
	{`"\ude00\ud83d"`, jsonb.KindSurrogate, "", 1},
	{`"\ud83d\u0041"`, jsonb.KindSurrogate, "", 1},
	{`"\ud83d\ude0"`, jsonb.KindSurrogate, "", 1},
	{`"ok \ud83d\ude00\ud83d"`, jsonb.KindSurrogate, "", 16},
	{`[`, jsonb.KindSyntax, "[0]", 1},
	{`[1`, jsonb.KindSyntax, "[0]", 2},
	{`[1,`, jsonb.KindSyntax, "[1]", 3},
	{`[1,]`, jsonb.KindSyntax, "[1]", 3},
	{`[,]`, jsonb.KindSyntax, "[0]", 1},
	{`[1}`, jsonb.KindSyntax, "[0]", 2},
	{`[1 2]`, jsonb.KindSyntax, "[0]", 3},
	{`{`, jsonb.KindSyntax, "", 1},
	{`{"a"`, jsonb.KindSyntax, "a", 4},
	{`{"a" 1}`, jsonb.KindSyntax, "a", 5},
	{`{"a":`, jsonb.KindSyntax, "a", 5},
	{`{"a":}`, jsonb.KindSyntax, "a", 5},
	{`{"a":1`, jsonb.KindSyntax, "a", 6},
	{`{"a":1,`, jsonb.KindSyntax, "", 7},
	{`{"a":1,}`, jsonb.KindSyntax, "", 7},
	{`{"a":1]`, jsonb.KindSyntax, "a", 6},
	{`{a:1}`, jsonb.KindSyntax, "", 1},
	{`{1:1}`, jsonb.KindSyntax, "", 1},
	{`{"a":[[0],{"b.c":{"":tru}}]}`, jsonb.KindSyntax, `a[1]["b.c"][""]`, 21},
	{nested(101), jsonb.KindDepth, strings.Repeat("[0]", 100), 100},
	{nested(100_000)[:100_000], jsonb.KindDepth, strings.Repeat("[0]", 100), 100},
}

func TestValid(t *testing.T) {
	for _, raw := range valid {
		require.True(t, json.Valid([]byte(raw)), "the corpus must be JSON: %.40s", raw)
		assert.NoError(t, jsonb.Valid([]byte(raw)), "%.40s", raw)
		assert.NoError(t, jsonb.Valid([]byte(" \t\r\n"+raw+"\n\r\t ")), "%.40s", raw)
		// Bytes between the length and the capacity must not be read.
		assert.NoError(t, jsonb.Valid([]byte(raw + `"x`)[:len(raw)]), "%.40s", raw)
	}
	for _, c := range invalid {
		err := jsonb.Valid([]byte(c.raw))
		assert.Equal(t, &jsonb.Error{Kind: c.kind, Path: c.path, Offset: c.offset}, err, "%.40q", c.raw)
		if c.kind == jsonb.KindSyntax {
			assert.False(t, json.Valid([]byte(c.raw)), "%.40q", c.raw)
		}
	}
}

// A control character in a string is a fault, at each position in a word of eight bytes.
func TestValidControlCharacters(t *testing.T) {
	for c := range byte(0x20) {
		for before := range 20 {
			raw := `"` + strings.Repeat("x", before) + string(c) + `yyyyyyyyyyyy"`
			err := jsonb.Valid([]byte(raw))
			assert.Equal(t, &jsonb.Error{Kind: jsonb.KindSyntax, Offset: before + 1}, err)
		}
	}
}

func TestObjectRefuses(t *testing.T) {
	for raw, want := range map[string]jsonb.Error{
		`[]`:                       {Kind: jsonb.KindSyntax},
		` "a"`:                     {Kind: jsonb.KindSyntax, Offset: 1},
		``:                         {Kind: jsonb.KindSyntax},
		`{} x`:                     {Kind: jsonb.KindSyntax, Offset: 3},
		`{"a":1,"a":2}`:            {Kind: jsonb.KindDuplicate, Path: "a", Offset: 7},
		`{"a":1,"b":2,"\u0061":`:   {Kind: jsonb.KindSyntax, Path: "a", Offset: 22},
		`{"a":1,"b":2,"\u0061":3}`: {Kind: jsonb.KindDuplicate, Path: "a", Offset: 13},
		`{"":1,"":2}`:              {Kind: jsonb.KindDuplicate, Path: `[""]`, Offset: 6},
		`{"a":"` + "\xff" + `"}`:   {Kind: jsonb.KindUTF8, Path: "a", Offset: 6},
		`{"a":1,"a` + "\n" + `":`:  {Kind: jsonb.KindSyntax, Offset: 9},
		`{"a":` + nested(100) + `}`: {
			Kind: jsonb.KindDepth, Path: "a" + strings.Repeat("[0]", 99), Offset: 104},
	} {
		assert.Equal(t, &want, jsonb.Object([]byte(raw), nil), raw)
	}
}

func TestObjectManyKeys(t *testing.T) {
	for _, n := range []int{1, 31, 32, 33, 34, 500} {
		var raw strings.Builder
		for i := range n {
			fmt.Fprintf(&raw, `"key %d":%d,`, i, i)
		}
		all := 0
		require.NoError(t, jsonb.Object([]byte("{"+strings.TrimSuffix(raw.String(), ",")+"}"), func(_, _ []byte) { all++ }))
		assert.Equal(t, n, all)
		for _, again := range []int{0, n / 2, n - 1} {
			err := jsonb.Object(fmt.Appendf(nil, `{%s"key %d":0}`, raw.String(), again), nil)
			assert.Equal(t, &jsonb.Error{Kind: jsonb.KindDuplicate, Path: fmt.Sprintf(`["key %d"]`, again), Offset: raw.Len() + 1}, err)
		}
	}
}

func TestUnquoteRefuses(t *testing.T) {
	for _, raw := range []string{``, `"`, `a`, `1`, `"a" `, ` "a"`, `"a"b"`, `"\ud800"`, "\"\xff\"", "\"\n\""} {
		_, err := jsonb.Unquote([]byte(raw))
		require.Error(t, err, raw)
		got, err := jsonb.AppendUnquoted([]byte("x"), []byte(raw))
		require.Error(t, err, raw)
		assert.Equal(t, "x", string(got))
	}
}

func TestErrorText(t *testing.T) {
	err := jsonb.Object([]byte(`{"a":{"b c":[0,"`+"\x80"+`"]}}`), nil)
	assert.EqualError(t, err, `bad UTF-8 in a["b c"][1] (byte 16)`)
	var e jsonb.Encoder
	_, err = e.AppendValue(nil, func() {})
	assert.EqualError(t, err, "cannot be marshalled: json: unsupported type: func()")
	assert.Equal(t, "kind 99", jsonb.Kind(99).String())
}

func properties() map[string]any {
	return map[string]any{
		"$browser": "Firefox", "$browser_version": 128, "$current_url": "https://example.org/pricing?plan=team&utm_source=letter",
		"plan": "team", "seats": int64(25), "price": 349.5, "trial": false, "score": 0.8472394872,
		"referrer": "Привет \"друг\"", "$groups": map[string]any{"company": "id:5"}, "tags": []any{"a", "b"},
	}
}

func line(space string) []byte {
	var e jsonb.Encoder
	m := properties()
	m["note"] = "a longer text, as titles and descriptions are, without anything special in it"
	p, _ := e.AppendValue(nil, m)
	p = bytes.ReplaceAll(p, []byte(`,"`), []byte(`,`+space+`"`))
	p = bytes.ReplaceAll(p, []byte(`":`), []byte(`":`+space))
	return fmt.Appendf(nil, `{"event":%[2]s"commit authored",%[2]s"distinct_id":%[2]s"author-814d053c97f32907",%[2]s"timestamp":`+
		`%[2]s"2012-08-15T05:55:00-07:00",%[2]s"uuid":%[2]s"461fc531-6209-5996-b1b1-a8aa997a6516",%[2]s"properties":%[2]s%[1]s}`, p, space)
}

func TestScannerAllocates(t *testing.T) {
	raw, n := line(""), 0
	assert.Zero(t, testing.AllocsPerRun(10, func() {
		_ = jsonb.Valid(raw)
		_ = jsonb.Object(raw, func(_, value []byte) { n += len(value) })
		raw, _ = jsonb.Compact(raw[:0], raw)
	}))
	require.NotZero(t, n)
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		` {"b" : [ 1 , {"d":1.0,"c":null} ] , "a":"x y" } `: `{"a":"x y","b":[1,{"c":null,"d":1.0}]}`,
		`{"\u0061":"\u00e9\/\n"}`:                           `{"a":"é/\n"}`,
		`{}`:                                                `{}`,
		`[ ]`:                                               `[]`,
		`"x"`:                                               `"x"`,
		`{"b":1,"a":{},"b":2}`:                              `{"a":{},"b":1,"b":2}`,
	} {
		got, err := jsonb.Canonical([]byte("kept"), []byte(text))
		require.NoError(t, err)
		assert.Equal(t, "kept"+want, string(got))
	}
	_, err := jsonb.Canonical(nil, []byte(`{"a":`))
	require.Error(t, err)
}

// The canonical form has the value of its input, and is its own canonical form.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"b":[1,{"d":1e5,"c":null}],"a":"\u00e9"}`, `[[],{}," "]`, `{"a":1,"a":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := jsonb.Canonical(nil, text)
		if err != nil {
			return
		}
		again, err := jsonb.Canonical(nil, got)
		require.NoError(t, err)
		require.Equal(t, string(got), string(again))
		var before, after any
		require.NoError(t, json.Unmarshal(text, &before))
		require.NoError(t, json.Unmarshal(got, &after))
		require.Equal(t, before, after)
	})
}

type visited struct{ key, value, member string }

func membersOf(object []byte) (all []visited) {
	object = bytes.TrimSpace(object)
	jsonb.Members(object[1:len(object)-1], func(key, value, m []byte) { all = append(all, visited{string(key), string(value), string(m)}) })
	return all
}

func TestMembers(t *testing.T) {
	got := membersOf([]byte(`{ "a" : 1 ,"b\"\u0041":"x\\","c":{"d":["}",{"e":"]"}]} , "":null,"f":-1.5e3 }`))
	assert.Equal(t, []visited{
		{"a", "1", `"a" : 1`}, {`b"A`, `"x\\"`, `"b\"\u0041":"x\\"`}, {"c", `{"d":["}",{"e":"]"}]}`, `"c":{"d":["}",{"e":"]"}]}`},
		{"", "null", `"":null`}, {"f", "-1.5e3", `"f":-1.5e3`},
	}, got)
	assert.Empty(t, membersOf([]byte(`{}`)))
	assert.Empty(t, membersOf([]byte(` { } `)))
}

// For each object that Object accepts, Members visits the same members.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1}`, `{"a\\":"\\","b":[{"c":"]"}]}`, `{"\u0061":{} , "x" : "\"" }`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, object []byte) {
		type pair struct{ key, value string }
		var want, got []pair
		if jsonb.Object(object, func(key, value []byte) { want = append(want, pair{string(key), string(value)}) }) != nil {
			return
		}
		for _, m := range membersOf(object) {
			got = append(got, pair{m.key, m.value})
		}
		assert.Equal(t, want, got)
	})
}

func TestArray(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][]string{
		`[]`:                      nil,
		` [ ] `:                   nil,
		`[1]`:                     {"1"},
		` [1 , "a,]" ,{"b":[2]}]`: {"1", `"a,]"`, `{"b":[2]}`},
		`[[],null]`:               {"[]", "null"},
	} {
		var got []string
		require.NoError(t, jsonb.Array([]byte(raw), func(element []byte) { got = append(got, string(element)) }), raw)
		assert.Equal(t, want, got, raw)
	}
	for raw, want := range map[string]string{
		``: "bad JSON", `{}`: "bad JSON", `1`: "bad JSON", `[`: "bad JSON", `[1,]`: "bad JSON in [1]", `[1 2]`: "bad JSON",
		`[1]]`: "bad JSON", `[{"a":1e999}]`: "not a finite JSON number", `["a`: "bad JSON",
	} {
		require.ErrorContains(t, jsonb.Array([]byte(raw), func([]byte) {}), want, raw)
	}
}
