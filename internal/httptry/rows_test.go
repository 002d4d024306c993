package httptry

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stretchr/testify/require"
)

type row struct{ ID int }

// The field that cannot be read is named, with its value.
func TestFieldIsNamed(t *testing.T) {
	type below struct {
		At *time.Time `json:"at"`
	}
	type whole struct {
		ID    uuid.UUID `json:"id"`
		At    time.Time `json:"created_at"`
		Count *int64    `json:"count"`
		Names []string  `json:"names"`
		By    *below    `json:"by"`
		Raw   row       `json:"-"`
	}
	for body, says := range map[string]string{
		`{"id":7}`: `id: 7 is not a uuid`, `{"id":"a1"}`: `id: "a1" is not a uuid`, `{"count":"x"}`: `count: "x" is not a whole number`,
		`{"created_at":"2026-03-04T05:06:07"}`:        `created_at: "2026-03-04T05:06:07" is not a time with a zone`,
		`{"names":[1]}`:                               `names: a list is not a list of the expected values`,
		`{"count":1,"by":{"at":"yesterday"}}`:         `by: at: "yesterday" is not a time with a zone`,
		`{"count":"` + strings.Repeat("x", 99) + `"}`: strings.Repeat("x", 39) + "… is not a whole number",
		`{"count":`: "unexpected end of JSON input", `[]`: "cannot unmarshal array",
	} {
		err := Unmarshal([]byte(body), new(whole))
		require.ErrorContains(t, err, says, body)
	}
}

// An error of decoding does not quote a long value.
func TestUnmarshalErrorIsShort(t *testing.T) {
	err := Unmarshal([]byte(`{"ID":`+strings.Repeat("9", 1<<20)+`}`), new(row))
	require.Error(t, err)
	require.Less(t, len(err.Error()), 200)
}
