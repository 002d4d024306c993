package httptry

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNoNulls(t *testing.T) {
	type row struct {
		ID    int               `json:"id"`
		Runs  []struct{ A int } `json:"latest_runs,omitzero"`
		Any   json.RawMessage   `json:"any"`
		Maybe []*int            `json:"maybe"`
	}
	type page struct {
		Results []row `json:"results"`
	}
	for body, want := range map[string]string{
		`{"results":[{"id":1,"latest_runs":[{"A":1}, null]}]}`: "latest_runs: row 1 is null",
		`{"results":[ null]}`: "results: row 0 is null",
		`{"results":[{"id":1,"any":[null,{"b":[null]}],"maybe":[1,null],"latest_runs":null}]}`: "",
		`{"results":[{"id":1,"any":",null"}]}`:                                                 "",
		`{"results":[{"id":1}],"next":null}`:                                                   "",
		`{"results":7,"x":[null]}`:                                                             "",
	} {
		err := NoNulls([]byte(body), new(page))
		if want == "" {
			assert.NoError(t, err, body)
		} else {
			assert.ErrorContains(t, err, want, body)
		}
	}
	assert.ErrorContains(t, NoNulls([]byte(`[1,null]`), new([]int64)), "the answer: row 1 is null")
}
