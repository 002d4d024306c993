package queries

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/httptry"
)

// Only one whole JSON object with a list of results is an answer.
func TestDecode(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct {
		rows            int
		isCached, isCut bool
		fail            string
	}{
		`{"results":[]}`: {},
		`{"results":[1,2],"is_cached":false,"hasMore":false}`:   {rows: 2},
		`{"results":[1,2],"is_cached":null,"hasMore":null}`:     {rows: 2},
		`{"is_cached":true,"results":[1]}`:                      {rows: 1, isCached: true},
		`{"results":[1],"hasMore":true}`:                        {rows: 1, isCut: true},
		`{"results":[],"error":null,"columns":["a",{"b":[]}]} `: {},
		`{"results":[1],"error":"out of memory"}`:               {fail: "an error of its own"},
		`{"results":[1],"error":{}}`:                            {fail: "an error of its own"},
		`{"results":[1],"error":`:                               {fail: "bad JSON"},
		``:                                                      {fail: "not a JSON object"},
		`["results",[]]`:                                        {fail: "not a JSON object"},
		`"results"`:                                             {fail: "not a JSON object"},
		`{}`:                                                    {fail: "results missing"},
		`{"hasMore":true}`:                                      {fail: "results missing"},
		`{"results":[1]`:                                        {fail: "bad JSON"},
		`{"results":[1],`:                                       {fail: "bad JSON"},
		`{"results":[1`:                                         {fail: "bad JSON"},
		`{"results":`:                                           {fail: "bad JSON"},
		`{"results":{}}`:                                        {fail: "not a list"},
		`{"results":null}`:                                      {fail: "not a list"},
		`{"results":[1],"results":[2]}`:                         {fail: "duplicate key in results"},
		`{"results":[1]}{}`:                                     {fail: "bad JSON"},
		`{"results":[1,"a"]}`:                                   {fail: "row 1"},
		`{"results":[1],"is_cached":"no"}`:                      {fail: "cannot unmarshal"},
		`{"results":[1],"hasMore":"no"}`:                        {fail: "cannot unmarshal"},
		`{"results":["\ud800"]}`:                                {fail: "lone surrogate"},
	} {
		var answer Answer[int]
		err := answer.Decode(t.Context(), []byte(body))
		if want.fail != "" {
			require.ErrorContains(t, err, want.fail, body)
			continue
		}
		require.NoError(t, err, body)
		assert.Len(t, answer.Rows, want.rows, body)
		assert.Equal(t, want.isCached, answer.IsCached, body)
		assert.Equal(t, want.isCut, answer.HasMore, body)
	}

	var answer Answer[int]
	require.NoError(t, answer.Decode(t.Context(), []byte(`{"results":[0`+strings.Repeat(",0", MaxRows-1)+`]}`)))
	assert.Len(t, answer.Rows, MaxRows)
	answer = Answer[int]{}
	require.ErrorIs(t, answer.Decode(t.Context(), []byte(`{"results":[0`+strings.Repeat(",0", MaxRows)+`]}`)), httptry.ErrTooBig)
	assert.Len(t, answer.Rows, MaxRows)

	ended, end := context.WithCancel(t.Context())
	end()
	answer = Answer[int]{}
	require.ErrorIs(t, answer.Decode(ended, []byte(`{"results":[1]}`)), context.Canceled)
	assert.Empty(t, answer.Rows, "rows are not read after the end of the context")
}
