package httptry

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stretchr/testify/require"
)

type row struct{ ID int }

func checkRow(r *row) error {
	if r.ID == 0 {
		return errors.New("it has no id")
	}
	return nil
}

// The rows of an answer, and why one is refused.
func TestRows(t *testing.T) {
	for body, says := range map[string]string{
		`{"count":2,"results":[{"id":1},{"id":2}],"x":{}}`: "",
		`{"results":[],"count":2}`:                         "",
		`[]`:                                               "it is not a JSON object",
		`null`:                                             "it is not a JSON object",
		`{}`:                                               "it has no results",
		`{"results":null}`:                                 "it has no list of rows where one belongs",
		`{"results":{}}`:                                   "it has no list of rows where one belongs",
		`{"results":[],"results":[]}`:                      "it has results twice",
		`{"results":[{"id":1},{}]}`:                        "row 1: it has no id",
		`{"results":[{"id":1},null]}`:                      "row 1: it has no id",
		`{"results":[{"id":1} , {"id":"x"}]}`:              "row 1: json: cannot unmarshal string",
		`{"results":[]} x`:                                 "there is more after its end",
		`{"results":[]`:                                    "EOF",
	} {
		var count int
		rows, err := Rows(t.Context(), []byte(body), "results", map[string]any{"count": &count}, checkRow)
		if says == "" {
			require.NoError(t, err, body)
			require.NotNil(t, rows)
			require.Equal(t, 2, count)
			continue
		}
		require.ErrorContains(t, err, says, body)
	}
}

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
		_, err = List(t.Context(), []byte("[{}, "+body+"]"), func(*whole) error { return nil })
		require.ErrorContains(t, err, "row 1: ")
	}
}

func TestList(t *testing.T) {
	rows, err := List(t.Context(), []byte(` [{"id":1},{"id":2}] `), checkRow)
	require.NoError(t, err)
	require.Equal(t, []row{{1}, {2}}, rows)
	for body, says := range map[string]string{
		`{}`: "no list", `[{}]`: "row 0", `[{"id":1}] []`: "more after its end", `[{"id":1}`: "EOF",
	} {
		_, err := List(t.Context(), []byte(body), checkRow)
		require.ErrorContains(t, err, says, body)
	}
}

// A page ends at its limit and with the context.
func TestRowsEnd(t *testing.T) {
	many := func(n int) []byte { return []byte("[" + strings.Repeat(`{"id":1},`, n-1) + `{"id":1}]`) }
	rows, err := List(t.Context(), many(MaxRows), checkRow)
	require.NoError(t, err)
	require.Len(t, rows, MaxRows)
	_, err = List(t.Context(), many(MaxRows+1), checkRow)
	require.ErrorIs(t, err, ErrTooBig)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errCut)
	_, err = List(ctx, many(1), checkRow)
	require.ErrorIs(t, err, errCut)
}

// An error of decoding does not quote a long value.
func TestUnmarshalErrorIsShort(t *testing.T) {
	err := Unmarshal([]byte(`{"ID":`+strings.Repeat("9", 1<<20)+`}`), new(row))
	require.Error(t, err)
	require.Less(t, len(err.Error()), 200)
}

func TestParts(t *testing.T) {
	require.NoError(t, Has("id", 1))
	require.EqualError(t, Has("id", 0), "it has no id")
	require.NoError(t, IsAskedFor("id", 1, 1))
	require.EqualError(t, IsAskedFor("id", 1, 2), "it has the id 1, not 2, which was asked for")
}
