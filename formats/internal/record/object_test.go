package record_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hogapi/hogapi/formats/internal/props"
	"github.com/hogapi/hogapi/formats/internal/record"
)

func TestObjectOfNames(t *testing.T) {
	t.Parallel()
	var o, inner props.Object
	record.Keep(&o, "a", []byte("1"))
	record.Keep(&o, "a", []byte("2"))
	record.Keep(&o, "a", []byte("3"))
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
