package hogapitest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestJSONIsReadStrictly(t *testing.T) {
	good := []string{
		`{}`, ` { "a" : 1 } `, `{"a":[1,2,{"b":null}],"c":true,"d":false}`, `{"":""}`, `{"a":-0.5e+7}`, `{"a":0}`, `{"a":"\"\\\/\b\f\n\r\t\u00e9"}`,
		`{"a":"\ud83d\ude00"}`, `{"a":"😀"}`, `{"a":12345678901234567890123456789}`, `{"a":1e308}`, "{\"a\":\"\u007f\"}",
		`{"a":` + strings.Repeat("[", 127) + strings.Repeat("]", 127) + `}`,
	}
	bad := []string{
		``, `{`, `}`, `{]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{"a":1 "b":2}`, `{a:1}`, `{"a":1}x`, `{"a":1}{}`, `[1,]`, `{"a":tru}`, `{"a":nul}`,
		`{"a":01}`, `{"a":+1}`, `{"a":1.}`, `{"a":.5}`, `{"a":1e}`, `{"a":-}`, `{"a":0x1}`, `{"a":NaN}`, `{"a":1e309}`, `{"a":` + strings.Repeat("9", 400) + `}`,
		`{"a":"`, `{"a":"\`, `{"a":"\x"}`, `{"a":"\u12"}`, `{"a":"\u12g4"}`, "{\"a\":\"\n\"}", "{\"a\":\"\xc3\"}", "{\"a\xff\":1}",
		`{"a":"\ud83d"}`, `{"a":"\ud83dx"}`, `{"a":"\ud83d\n"}`, `{"a":"\ud83d\u0041"}`, `{"a":"\ude00"}`, `{"a":"\ud83d\u`, `{"a":"\ud8`,
		`{"a":` + strings.Repeat("[", 128) + strings.Repeat("]", 128) + `}`,
	}
	for _, text := range good {
		assert.True(t, strictJSON([]byte(text)), text)
	}
	for _, text := range bad {
		assert.False(t, strictJSON([]byte(text)), text)
	}
}

func TestMembersKeepBytes(t *testing.T) {
	list := members([]byte(`{"a" : 1.50 , "\u0061":[ 1 ], "A":"x"}`))
	assert.Equal(t, []member{{"a", json.RawMessage("1.50")}, {"a", json.RawMessage("[ 1 ]")}, {"A", json.RawMessage(`"x"`)}}, list)
}

func TestCanonicalForm(t *testing.T) {
	same := [][2]string{
		{`{"a":1,"b":{"d":[1,2],"c":"é"}}`, ` { "b" : {"c":"\u00e9","d":[ 1 , 2 ] }, "\u0061":1 }`},
		{`{"a":1,"a":2}`, `{"a":2}`},
		{`{}`, ``},
	}
	different := [][2]string{
		{`{"a":1}`, `{"a":1.0}`}, {`{"a":1}`, `{"a":"1"}`}, {`{"a":12345678901234567890}`, `{"a":12345678901234567891}`}, {`{"a":null}`, `{}`},
		{`{"a":[1,2]}`, `{"a":[2,1]}`}, {`{"a":[[1],2]}`, `{"a":[[1,2]]}`}, {`{"a":"x"}`, `{"A":"x"}`}, {`{"a":{}}`, `{"a":[]}`}, {`{"a":true}`, `{"a":false}`},
		{`{"a":"\",\"b\":\"c"}`, `{"a":"","b":"c"}`},
	}
	for _, pair := range same {
		assert.Equal(t, string(canonical([]byte(pair[0]))), string(canonical([]byte(pair[1]))))
	}
	for _, pair := range different {
		assert.NotEqual(t, string(canonical([]byte(pair[0]))), string(canonical([]byte(pair[1]))))
	}
}

func TestDaysBefore1970(t *testing.T) {
	for text, want := range map[string]int64{"1970-01-01": 0, "1969-12-31T23:59:59Z": -1, "1969-12-31": -1, "1970-01-02": 1} {
		at, ok := readISO(text)
		require.True(t, ok)
		assert.Equal(t, want, floorDay(at), text)
	}
}

func TestNestedConfigsOfOlderEras(t *testing.T) {
	d := destination{kind: "Redshift", config: map[string]any{
		"copy_inputs": map[string]any{"bucket": "b", "retries": json.Number("3"), "bucket_credentials": map[string]any{"aws_secret_access_key": "k"}, "authorization": map[string]any{"aws_access_key_id": "k", "role": "r"}},
		"list":        []any{true, json.Number("1.50"), nil},
	}}
	want := map[string]any{"copy_inputs": map[string]any{"bucket": "b", "retries": "3", "authorization": map[string]any{"aws_access_key_id": "k", "role": "r"}}, "list": []any{"True", "1.50", nil}}
	assert.Equal(t, want, d.json(E1)["config"])
	newest := d.json(E4)["config"].(map[string]any)["copy_inputs"]
	assert.Equal(t, map[string]any{
		"bucket": "b", "retries": json.Number("3"), "bucket_credentials": map[string]any{}, "authorization": map[string]any{"role": "r"},
	}, newest, "secret keys are left out at every depth")
}
