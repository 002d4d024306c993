package verify

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/queries"
	"github.com/hogapi/hogapi/internal/uuidsum"
)

// A row has the columns of its query, with values that can be.
func TestRows(t *testing.T) {
	t.Parallel()
	day := inMarch.From
	for text, want := range map[string]CountRow{
		`["1999-03-01","e",3,2]`:           {day, "e", Counts{Copies: 3, Seen: 2}},
		`["1999-03-01T00:00:00Z","e",2,2]`: {day, "e", Counts{Copies: 2, Seen: 2}},
		`["1999-03-01","e",1,1,9]`:         {day, "e", Counts{Copies: 1, Seen: 1, Sum: uuidsum.Sum{N: 1, Hash: 9, Hashed: 1}}},
		`["1999-03-01","",1,1,7,8]`:        {day, "", Counts{Copies: 1, Seen: 1, Sum: uuidsum.Sum{N: 1, High: 7, Low: 8}}},
	} {
		var got CountRow
		require.NoError(t, json.Unmarshal([]byte(text), &got), text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{
		`["1999-03-01","e",0,0]`, `["1999-03-01","e",1,0]`, `["1999-03-01","e",1,2]`, `["1999-03-01","e",1,2,7,8]`,
		`["1999-03-01","e",1]`, `["1999-03-01","e",1,1,"1"]`, `["1999-03-01","e",1,1,7,"8"]`, `["1999-03-01","e","1","1"]`,
		`["1999-03-01",null,1,1]`, `["1999-03-01","e",null,1]`, `["1999-13-01","e",1,1]`, `["1999-13-01","e",0,0]`, `["","e",1,1]`,
		`{}`, `"e"`,
	} {
		require.Error(t, json.Unmarshal([]byte(text), new(CountRow)), text)
	}

	id := uuid.UUID{15: 1}
	var got UUIDRow
	require.NoError(t, json.Unmarshal([]byte(`["`+id.String()+`"]`), &got))
	assert.Equal(t, id, got.ID)
	for _, text := range []string{
		`[]`, `["` + id.String() + `",1]`, `[1]`, `[null]`, `["1"]`, `["00000000000000000000000000000001"]`, `["{` + id.String() + `}"]`,
		`["0000000000000000000000000000000A"]`, `["00000000-0000-0000-0000-00000000000A"]`,
	} {
		require.Error(t, json.Unmarshal([]byte(text), new(UUIDRow)), text)
	}
}

// FuzzQueryAnswer: an accepted answer is one JSON object with one list of results, all of them
// decoded.
func FuzzQueryAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"results":[["1999-03-01","e",2,1]],"is_cached":false,"error":null}`, `{"results":[["1999-03-01","e",2,1,4294967296,18446744073709551615]],"hasMore":true}`, `{"results":[]}`, `{"results":[[]]}`, `{"results":null}`, `[]`, `{`,
		`{"results":[],"results":[]}`, `{"results":[]}{}`, `{"results":[["1999-03-01T00:00:00Z","\ud800",1,1]]}`, `{"is_cached":true,"results":[]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var answer queries.Answer[CountRow]
		if answer.Decode(t.Context(), body) != nil {
			return
		}
		var plain map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(body, &plain))
		var rows [][]any
		require.NoError(t, json.Unmarshal(plain["results"], &rows))
		require.Len(t, answer.Rows, len(rows))
		for i, row := range answer.Rows {
			require.Contains(t, []int{4, 5, 6}, len(rows[i]))
			require.Equal(t, len(rows[i]) > 4, row.Sum.N == row.Seen)
			require.Equal(t, rows[i][1], row.Event)
			require.GreaterOrEqual(t, row.Copies, row.Seen)
			require.Positive(t, row.Seen)
		}
		if cached, ok := plain["is_cached"]; ok {
			require.Equal(t, bytes.Equal(cached, []byte("true")), answer.IsCached)
		}
	})
}
