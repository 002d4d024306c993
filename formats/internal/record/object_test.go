package record_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/formats/internal/record"
)

// An object has each name once, and all of them are read back, however many there are.
func TestObject(t *testing.T) {
	t.Parallel()
	var o record.Object
	for _, n := range []int{0, 1, 63, 64, 65, 500} {
		o.Reset()
		assert.True(t, o.IsEmpty())
		want := map[string]any{}
		for i := range n {
			name := fmt.Sprintf(`"key" \ é %d`+"\n", i)
			if i%2 == 0 {
				name = fmt.Sprint("key", i)
			}
			assert.True(t, o.Add(name, fmt.Append(nil, i)))
			assert.False(t, o.AddBytes([]byte(name), []byte("-1")), name)
			assert.False(t, o.AddText(name, "other"))
			want[name] = float64(i)
		}
		text := o.Append([]byte("prefix"))[len("prefix"):]
		assert.Len(t, text, o.Len())
		var got map[string]any
		require.NoError(t, json.Unmarshal(text, &got))
		assert.Equal(t, want, got)
		assert.Equal(t, n == 0, o.IsEmpty())
	}
}

func TestObjectOfNames(t *testing.T) {
	t.Parallel()
	var o, inner record.Object
	o.Keep("a", []byte("1"))
	o.Keep("a", []byte("2"))
	o.Keep("a", []byte("3"))
	assert.True(t, o.AddText("é", "\"x\"\n"))
	assert.True(t, o.Add("", []byte("[]")))
	assert.False(t, o.Add("", []byte("[]")))
	text := o.Append(nil)
	assert.Equal(t, `{"a":1,"a_":2,"a__":3,"é":"\"x\"\n","":[]}`, string(text))
	assert.Equal(t, string(text), string(record.AppendMember(text, "$set", &inner)), "nothing of an empty one")
	inner.Add("b", []byte("4"))
	assert.Equal(t, `{"$set":{"b":4}}`, string(record.AppendMember([]byte("{}"), "$set", &inner)))
	assert.Equal(t, `{"x":0,"$set":{"b":4}}`, string(record.AppendMember([]byte(`{"x":0}`), "$set", &inner)))
}

func TestIsReserved(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"distinct_id", "$set", "$groups", "$session_id", "$process_person_profile"} {
		assert.True(t, record.IsReserved(name), name)
		assert.True(t, record.IsReserved([]byte(name)), name)
	}
	for _, name := range []string{"", "$", "d", "set", "alias", "$current_url", "$lib"} {
		assert.False(t, record.IsReserved(name), name)
	}
}
