// Command engine is a ClickHouse for the tests, in a process of its own: its library ends a program that is started
// without it. It answers each SQL text, a JSON string of its input, with a JSON object.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/chdb-io/chdb-go/chdb"
)

// answer is the answer to one text.
type answer struct {
	Error string          `json:"error"`
	Rows  json.RawMessage `json:"rows"` // null for a statement
}

func main() {
	session, err := chdb.NewSession()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer session.Cleanup()
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var sql string
		if in.Decode(&sql) != nil {
			return
		}
		rows, err := ask(session, sql)
		a := answer{Rows: rows}
		if err != nil {
			a.Error = err.Error()
		}
		if err := out.Encode(a); err != nil {
			return
		}
	}
}

func ask(session *chdb.Session, sql string) (json.RawMessage, error) {
	result, err := session.Query(sql, "JSONCompact")
	if err != nil {
		return nil, err
	}
	defer result.Free()
	if err := result.Error(); err != nil || result.Len() == 0 {
		return nil, err
	}
	var table struct{ Data json.RawMessage }
	err = json.Unmarshal(result.Buf(), &table)
	return table.Data, err
}
