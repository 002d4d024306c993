package hogql

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

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
		var answer Answer[CountRow]
		if answer.Decode(t.Context(), body) != nil {
			return
		}
		var plain map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(body, &plain))
		var rows [][]any
		require.NoError(t, json.Unmarshal(plain["results"], &rows))
		require.Len(t, answer.Rows, len(rows))
		for i, row := range answer.Rows {
			require.Contains(t, []int{4, 6}, len(rows[i]))
			require.Equal(t, len(rows[i]) == 6, row.Sum.N == row.Seen)
			require.Equal(t, rows[i][1], row.Event)
			require.GreaterOrEqual(t, row.Copies, row.Seen)
			require.Positive(t, row.Seen)
		}
		if cached, ok := plain["is_cached"]; ok {
			require.Equal(t, bytes.Equal(cached, []byte("true")), answer.IsCached)
		}
	})
}
