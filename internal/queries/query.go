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

// Add adds values, and returns their placeholders, joined by commas.
func (q Query) Add(kind string, values ...string) string {
	names := make([]string, len(values))
	for i, value := range values {
		name := fmt.Sprintf("%s_%d", kind, len(q.Values))
		q.Values[name] = value
		names[i] = "{" + name + "}"
	}
	return strings.Join(names, ", ")
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
