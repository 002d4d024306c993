package realdb

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// process is the one ClickHouse of the tests, and the way to it.
type process struct {
	mu  sync.Mutex
	in  *json.Encoder
	out *json.Decoder
}

// startEngine builds and starts the engine. It ends with its input, which ends with this process.
var startEngine = sync.OnceValues(func() (*process, error) {
	dir, err := os.MkdirTemp("", "hogapi-engine-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "engine")
	if out, err := exec.Command("go", "build", "-o", program, "./engine").CombinedOutput(); err != nil {
		return nil, errors.New(string(out))
	}
	cmd := exec.Command(program)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &process{in: json.NewEncoder(in), out: json.NewDecoder(out)}, cmd.Start()
})

// engine asks the ClickHouse for a test.
type engine struct {
	t *testing.T
	*process
}

func newEngine(t *testing.T) *engine {
	t.Helper()
	if os.Getenv("CHDB_LIB_PATH") == "" {
		t.Skip("needs CHDB_LIB_PATH, the library of npm's chdb")
	}
	started, err := startEngine()
	require.NoError(t, err)
	return &engine{t, started}
}

// ask returns the rows of a query.
func (e *engine) ask(sql string) (rows [][]any, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.in.Encode(sql); err != nil {
		return nil, err
	}
	var answer struct {
		Error string
		Rows  [][]any
	}
	if err := e.out.Decode(&answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, errors.New(answer.Error)
	}
	return answer.Rows, nil
}

func (e *engine) run(sql string) [][]any {
	e.t.Helper()
	rows, err := e.ask(sql)
	require.NoError(e.t, err, sql)
	return rows
}
