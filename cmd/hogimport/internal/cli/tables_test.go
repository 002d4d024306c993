package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The tables of vendors have flags of their own, which other formats refuse, and errors name them.
func TestTablesOfVendors(t *testing.T) {
	t.Parallel()
	row := `{"event_id":"2","user_id":1,"time":"2024-02-29T23:59:59Z","type":"click"}`
	convert := func(in input, row string) string {
		events, err := in.format().Convert([]byte(row))
		if err != nil {
			return err.Error()
		}
		return events[0].Name
	}
	assert.Contains(t, convert(input{Format: "heap"}, row), "set --table to it")
	assert.Equal(t, "Buy", convert(input{Format: "heap", Table: "Buy"}, row))
	call := `{"id":"i","user_id":"u","timestamp":"2024-02-29 22:28:55","name":"Cart"}`
	assert.Contains(t, convert(input{Format: "segment-warehouse"}, call), "set --table")
	assert.Equal(t, "$screen", convert(input{Format: "segment-warehouse", Table: "screens"}, call))
	for want, in := range map[string]input{
		"--table is for the formats heap and segment-warehouse": {Format: "csv", Table: "x"},
		"--numbers is for the formats of warehouses":            {Format: "heap", Numbers: []string{"x"}},
	} {
		assert.ErrorContains(t, in.checkFormat(t.Context()), want)
	}
}
