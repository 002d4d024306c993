package queries

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Query is a query with values for its placeholders, such as {job_id}.
type Query struct {
	HogQL  string
	Values map[string]any
}

// MarshalJSON encodes the query for the service.
func (q Query) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Kind   string         `json:"kind"`
		Query  string         `json:"query"`
		Values map[string]any `json:"values"`
	}{"HogQLQuery", q.HogQL, q.Values})
}

// String returns the query with its values inserted, quoted.
func (q Query) String() string {
	quoted := strings.NewReplacer(`\`, `\\`, "'", `\'`)
	var pairs []string
	for name, value := range q.Values {
		pairs = append(pairs, "{"+name+"}", "'"+quoted.Replace(fmt.Sprint(value))+"'")
	}
	return strings.NewReplacer(pairs...).Replace(q.HogQL)
}
