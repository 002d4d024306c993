package record

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestKeep(t *testing.T) {
	t.Parallel()
	var o Object
	for range 2 { // the second time in the same room
		o.Begin()
		assert.Equal(t, "{}", string(o.JSON()))
		assert.True(t, o.Add("a", []byte("1")))
		assert.False(t, o.Add("a", []byte("2")))
		for _, raw := range []string{"1", "2", "2", "3", "3", `{"b":1}`, `{"b":1}`} {
			o.Keep("v_", "a", []byte(raw))
		}
		o.Keep("v_", "distinct_id", []byte(`"x"`))
		assert.True(t, o.AddText(`quo"te`, "te\"xt\n"))
		assert.Equal(t, `{"a":1,"v_a":2,"v_a_2":3,"v_a_3":{"b":1},"v_a_4":{"b":1},"v_distinct_id":"x","quo\"te":"te\"xt\n"}`, string(o.JSON()))
		assert.Equal(t, `"te\"xt\n"`, string(o.Get(`quo"te`)))
		assert.Nil(t, o.Get("b"))
		assert.Equal(t, 7, o.Len())
	}
}

// An object has each name once, and all of them are read back, however many there are.
func TestObject(t *testing.T) {
	t.Parallel()
	var o Object
	for _, n := range []int{0, 1, few, few + 1, few + 2, 500} {
		o.Begin()
		assert.True(t, o.IsEmpty())
		want := map[string]any{}
		for i := range n {
			name := fmt.Sprintf(`"key" \ é %d`+"\n", i)
			if i%2 == 0 {
				name = fmt.Sprint("key", i)
			}
			assert.True(t, o.Add(name, fmt.Append(nil, i)))
			assert.False(t, o.AddBytes([]byte(name), []byte("-1")), name)
			want[name] = float64(i)
		}
		for name, value := range want { // among few members and among many
			assert.False(t, o.AddText(name, "other"))
			assert.Equal(t, fmt.Sprint(value), string(o.Get(name)))
		}
		text := o.Append([]byte("prefix"))[len("prefix"):]
		assert.Len(t, text, o.Size())
		var got map[string]any
		require.NoError(t, json.Unmarshal(text, &got))
		assert.Equal(t, want, got)
		assert.Equal(t, n == 0, o.IsEmpty())
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`"12"`: `12`, `12`: `12`, `"-7"`: `-7`, `"0.5"`: `0.5`, `"1e3"`: `1e3`, `"9007199254740991"`: `9007199254740991`,
		`"9007199254740993"`: `"9007199254740993"`, `-5164663614086310235`: `"-5164663614086310235"`,
		`-9007199254740991`: `-9007199254740991`, `-9007199254740992`: `"-9007199254740992"`, `9007199254740992`: `"9007199254740992"`,
		`" 1"`: `" 1"`, `"1-2"`: `"1-2"`, `-1.5`: `-1.5`, `90071992547409911.5`: `90071992547409911.5`,
		`"007"`: `"007"`, `"NaN"`: `"NaN"`, `"1 "`: `"1 "`, `""`: `""`, `"-"`: `"-"`, `null`: `null`, `true`: `true`,
	} {
		assert.Equal(t, want, string(Number([]byte(raw))), raw)
	}
	for raw, want := range map[string]int64{`"1709251198012345"`: 1709251198012345, `1.709251198012345E15`: 1709251198012345, `-3`: -3, `9007199254740991.0`: 1<<53 - 1, `-9007199254740991.0`: 1 - 1<<53} {
		n, ok := Int([]byte(raw))
		assert.True(t, ok, raw)
		assert.Equal(t, want, n, raw)
	}
	for _, raw := range []string{``, `""`, `1.5`, `1e30`, `9007199254740992.0`, `-9007199254740992.0`, `null`, `"x"`, `{}`} {
		_, ok := Int([]byte(raw))
		assert.False(t, ok, raw)
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{``: "", `null`: "", `""`: "", `"  "`: "", `"a b"`: "a b", `" \t"`: "", `" a "`: " a ", `12`: "12", `-1.5`: "-1.5", `12345678901234567890`: "12345678901234567890", `"\u0061"`: "a"} {
		id, err := ID("userId", []byte(raw))
		require.NoError(t, err)
		assert.Equal(t, want, id, raw)
	}
	for _, raw := range []string{`{}`, `[1]`, `true`} {
		_, err := ID("userId", []byte(raw))
		require.ErrorContains(t, err, "userId: want a text or a number, not ", raw)
		_, err = ShortID("user_id", []byte(raw))
		require.EqualError(t, err, "user_id: want a text or a number", raw)
	}
	space, own := uuid.NameSpaceOID, "022bb90c-1bac-41e4-8dfc-aa07a5b093db"
	assert.Equal(t, own, UUID(space, own).String())
	assert.Equal(t, uuid.Nil, UUID(space, ""))
	for _, id := range []string{"x", "022bb90c1bac41e48dfcaa07a5b093db", "{" + own + "}", "022bb90c-1bac-41e4-0dfc-aa07a5b093db"} { // the last is of another variant
		assert.Equal(t, uuid.NewSHA1(space, []byte(id)), UUID(space, id), id)
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for url, want := range map[string][2]string{
		"https://shop.example:8080/a/b?c=d#e": {"shop.example:8080", "/a/b"}, "https://ann@shop.example?x": {"shop.example", ""},
		"android-app://com.example/": {"com.example", "/"}, "/a/b": {}, "": {}, "file:///a": {"", "/a"}, "direct": {},
	} {
		raw, err := json.Marshal(url)
		require.NoError(t, err)
		assert.Equal(t, want, [2]string{Host(raw), Path(raw)}, url)
	}
	assert.Empty(t, Host(nil))
}

func TestObjectOfNames(t *testing.T) {
	t.Parallel()
	var o Properties
	var inner Object
	o.Keep("a", []byte("1"))
	o.Keep("a", []byte("2"))
	o.Keep("a", []byte("3"))
	assert.True(t, o.AddText("é", "\"x\"\n"))
	assert.True(t, o.Add("", []byte("[]")))
	assert.False(t, o.Add("", []byte("[]")))
	text := o.Append(nil)
	assert.Equal(t, `{"a":1,"a_":2,"a__":3,"é":"\"x\"\n","":[]}`, string(text))
	assert.Equal(t, string(text), string(AppendMember(text, "$set", &inner)), "nothing of an empty one")
	inner.Add("b", []byte("4"))
	assert.Equal(t, `{"$set":{"b":4}}`, string(AppendMember([]byte("{}"), "$set", &inner)))
	assert.Equal(t, `{"x":0,"$set":{"b":4}}`, string(AppendMember([]byte(`{"x":0}`), "$set", &inner)))
}

func TestIsReserved(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"distinct_id", "$set", "$groups", "$session_id", "$process_person_profile"} {
		assert.True(t, IsReserved(name), name)
		assert.True(t, IsReserved([]byte(name)), name)
	}
	for _, name := range []string{"", "$", "d", "set", "alias", "$current_url", "$lib"} {
		assert.False(t, IsReserved(name), name)
	}
}

// Any text is JSON, even one of characters that need an escape.
func TestTexts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " ", `"`, `""`, `\`, "\n", "\x1f", "\x7f", "ü", "\u0080", "a\"b", "plain"} {
		var o Object
		o.Begin()
		o.AddText("k", text)
		var got map[string]string
		require.NoError(t, json.Unmarshal(o.Append(nil), &got), text)
		assert.Equal(t, text, got["k"])
	}
}
