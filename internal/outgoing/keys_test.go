package outgoing

import (
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestMisspelt(t *testing.T) {
	t.Parallel()
	known := []string{"JSONLines", "every 5 minutes"}
	for _, value := range []string{"JSONLines", "every 5 minutes", "Avro"} {
		assert.Nil(t, Misspelt("f", value, known), value)
	}
	for _, value := range []string{"", "jsonlines", "JSON-Lines", "every_5_minutes"} {
		assert.NotNil(t, Misspelt("f", value, known), value)
	}
}

func TestQueries(t *testing.T) {
	t.Parallel()
	q := url.Values{}
	SetText(q, "a", "")
	SetTime(q, "b", time.Time{})
	SetList(q, "c", []string(nil))
	assert.Empty(t, q)
	SetText(q, "a", "x")
	SetTime(q, "b", time.Date(2024, 5, 1, 2, 0, 0, 5e8, time.FixedZone("", 7200)))
	SetList(q, "c", []string{"y", "z"})
	assert.Equal(t, "a=x&b=2024-05-01T00%3A00%3A00.5Z&c=y%2Cz", q.Encode())
}
