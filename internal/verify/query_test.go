package verify

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestQueryForms(t *testing.T) {
	t.Parallel()
	q := Query{"SELECT {a}, {b}", map[string]any{"a": `it's \ {b}`, "b": 5}}
	assert.Equal(t, `SELECT 'it\'s \\ {b}', '5'`, q.String(), "a value is not read for placeholders")
	text, err := json.Marshal(q)
	require.NoError(t, err)
	assert.JSONEq(t, `{"kind":"HogQLQuery","query":"SELECT {a}, {b}","values":{"a":"it's \\ {b}","b":5}}`, string(text))
}

// Without limits, all possible event times are selected. Times are sent in UTC with their
// fractions.
func TestSelectEvents(t *testing.T) {
	t.Parallel()
	all := SelectEvents("i", time.Time{}, time.Time{})
	assert.Equal(t, map[string]any{"job_id": "i", "start_at": "1900-01-01T00:00:00Z", "end_at": "2300-01-01T00:00:00Z"}, all.Values)
	from := time.Date(2024, 3, 1, 1, 0, 0, 5000, time.FixedZone("", 3600))
	some := SelectEvents("i", from, from.AddDate(0, 1, 0))
	assert.Equal(t, map[string]any{"job_id": "i", "start_at": "2024-03-01T00:00:00.000005Z", "end_at": "2024-04-01T00:00:00.000005Z"}, some.Values)
}
