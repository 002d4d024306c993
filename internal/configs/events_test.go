package configs

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestEvents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		config, filters  string
		include, exclude []string
		isAll            bool
	}{
		{`{}`, ``, nil, nil, true},
		{`{"include_events":null,"exclude_events":[]}`, `null`, nil, []string{}, true},
		{`{"include_events":["a","b"],"exclude_events":["c"]}`, `[]`, []string{"a", "b"}, []string{"c"}, true},
		{`{"include_events":["a"]}`, `[{"key":"plan"}]`, []string{"a"}, nil, false},
		{`{"include_events":["a"]}`, `{"a":1}`, []string{"a"}, nil, false},
		{`{"include_events":"['a']"}`, `[]`, nil, nil, false},
		{`{"include_events":["a"],"exclude_events":"c"}`, ``, nil, nil, false},
	} {
		include, exclude, isAll := Events(json.RawMessage(c.config), json.RawMessage(c.filters))
		assert.Equal(t, c.include, include, c.config)
		assert.Equal(t, c.exclude, exclude, c.config)
		assert.Equal(t, c.isAll, isAll, c.config)
	}
}
