package realdb

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/history"
)

// The query and the command of docs/scale.md make shards of a Postgres table: they have all events, oldest first, and every event is
// good.
func TestExportFromPostgres(t *testing.T) {
	page, err := os.ReadFile("../../docs/scale.md")
	require.NoError(t, err)
	query := regexp.MustCompile("(?s)```sql\n(.*?)```").FindStringSubmatch(string(page))
	command := regexp.MustCompile("(?s)```sh\n(psql .*?)```").FindStringSubmatch(string(page))
	require.NotNil(t, query)
	require.NotNil(t, command)
	server := startPostgres(t)

	const rows = 5000
	dir := t.TempDir()
	server.run(`CREATE TABLE events (id uuid PRIMARY KEY, name text, user_id text, created_at timestamptz, properties jsonb)`)
	server.run(fmt.Sprintf(`INSERT INTO events SELECT gen_random_uuid(), 'page "viewed" \ ' || n %% 3, 'user-' || n %% 50,
		timestamptz '2024-01-01 00:00+02' + ((n * 7919) %% %d) / 2 * interval '61.5 seconds', jsonb_build_object('n', n, 'text', E'two\nlines \\ ü')
		FROM generate_series(1, %[1]d) n`, rows))
	server.run(`INSERT INTO events VALUES (gen_random_uuid(), 'too new', 'x', '2024-07-01', '{}')`)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "export.sql"), []byte(query[1]), 0o600))
	cmd := exec.Command("bash", "-c", "set -euo pipefail\n"+strings.Replace(command[1], "--lines=2500000", "--lines=1500", 1))
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PGHOST="+server.dir, "PGUSER=postgres")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))

	shards, err := filepath.Glob(filepath.Join(dir, "events-*.jsonl.gz"))
	require.NoError(t, err)
	require.Len(t, shards, 4)
	seen, newest := map[uuid.UUID]bool{}, time.Time{}
	for _, shard := range shards {
		for _, line := range linesOf(t, shard) {
			var e struct {
				UUID      uuid.UUID
				Timestamp time.Time
			}
			require.NoError(t, json.Unmarshal([]byte(line), &e), line)
			require.False(t, e.Timestamp.Before(newest), "in the order of time")
			newest = e.Timestamp
			seen[e.UUID] = true
		}
	}
	assert.Len(t, seen, rows)
	report, err := history.Check(t.Context(), history.JSONLines(shards...), &history.Options{ID: "export"})
	require.NoError(t, err)
	assert.EqualValues(t, rows, report.Good)
	assert.Zero(t, report.Rejected+report.Backwards.Count)
}

func linesOf(t *testing.T, file string) []string {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}
