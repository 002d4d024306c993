package realdb

import (
	"encoding/json"
	"os"
	"sync"
	"testing"

	"github.com/chdb-io/chdb-go/chdb"
	"github.com/stretchr/testify/require"
)

// openEngine opens the one ClickHouse of this process.
var openEngine = sync.OnceValues(func() (*chdb.Session, error) { return chdb.NewSession() })

// engine is a ClickHouse in this process.
type engine struct {
	t       *testing.T
	session *chdb.Session
}

func newEngine(t *testing.T) *engine {
	t.Helper()
	if os.Getenv("CHDB_LIB_PATH") == "" {
		t.Skip("needs CHDB_LIB_PATH, the library of npm's chdb")
	}
	session, err := openEngine()
	require.NoError(t, err)
	return &engine{t, session}
}

// ask returns the rows of a query.
func (e *engine) ask(sql string) (rows [][]any, err error) {
	result, err := e.session.Query(sql, "JSONCompact")
	if err != nil {
		return nil, err
	}
	defer result.Free()
	if err := result.Error(); err != nil {
		return nil, err
	}
	var answer struct{ Data [][]any }
	if result.Len() == 0 {
		return nil, nil
	}
	err = json.Unmarshal(result.Buf(), &answer)
	return answer.Data, err
}

func (e *engine) run(sql string) [][]any {
	e.t.Helper()
	rows, err := e.ask(sql)
	require.NoError(e.t, err, sql)
	return rows
}
