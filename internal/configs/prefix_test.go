package configs

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPrefix(t *testing.T) {
	below, changed := json.RawMessage(`{"bucket_name":"b","prefix":"p/"}`), json.RawMessage(`{"bucket_name":"c","key":1}`)
	assert.Equal(t, "p/", Prefix(below))
	assert.Empty(t, Prefix(changed))
	assert.Empty(t, Prefix(json.RawMessage(`{"prefix":null}`)))
	got, refusal := WithPrefix("q/", below, changed)
	assert.Nil(t, refusal)
	assert.JSONEq(t, `{"bucket_name":"c","key":1,"prefix":"q/"}`, string(got))
	_, refusal = WithPrefix("q/", below, json.RawMessage(`[]`))
	assert.NotNil(t, refusal)
}
