//go:build linux

package hogtemporal

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
)

// The query and the command of docs/scale.md make shards of a Postgres table: they have all events, oldest first, and every event is
// good.
func TestExportFromPostgres(t *testing.T) {
	page, err := os.ReadFile("../docs/scale.md")
	require.NoError(t, err)
	query := regexp.MustCompile("(?s)```sql\n(.*?)```").FindStringSubmatch(string(page))
	command := regexp.MustCompile("(?s)```sh\n(psql .*?)```").FindStringSubmatch(string(page))
	require.NotNil(t, query)
	require.NotNil(t, command)
	socket := startPostgres(t)

	const rows = 5000
	dir := t.TempDir()
	psql := func(sql string) {
		cmd := exec.Command("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", socket, "-U", "postgres", "-c", sql)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	psql(`CREATE TABLE events (id uuid PRIMARY KEY, name text, user_id text, created_at timestamptz, properties jsonb)`)
	psql(fmt.Sprintf(`INSERT INTO events SELECT gen_random_uuid(), 'page "viewed" \ ' || n %% 3, 'user-' || n %% 50,
		timestamptz '2024-01-01 00:00+02' + ((n * 7919) %% %d) / 2 * interval '61.5 seconds', jsonb_build_object('n', n, 'text', E'two\nlines \\ ü')
		FROM generate_series(1, %[1]d) n`, rows))
	psql(`INSERT INTO events VALUES (gen_random_uuid(), 'too new', 'x', '2024-07-01', '{}')`)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "export.sql"), []byte(query[1]), 0o600))
	cmd := exec.Command("bash", "-c", "set -euo pipefail\n"+strings.Replace(command[1], "--lines=2500000", "--lines=1500", 1))
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PGHOST="+socket, "PGUSER=postgres")
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
	report, err := hogapi.Check(t.Context(), hogapi.JSONLinesFile(shards...), &hogapi.ImportOptions{ID: "export"})
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

// startPostgres runs a server of its own, and returns the folder of its socket. Postgres refuses to run as root.
func startPostgres(t *testing.T) (socket string) {
	t.Helper()
	bin, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(bin) == 0 {
		t.Skip("needs Debian's postgresql")
	}
	dir, err := os.MkdirTemp("", "hogapi-pg-") //nolint:usetesting // a socket's path must be short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	attributes := &syscall.SysProcAttr{}
	if os.Geteuid() == 0 {
		u, err := user.Lookup("postgres")
		require.NoError(t, err)
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		require.NoError(t, err)
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		require.NoError(t, err)
		require.NoError(t, os.Chown(dir, int(uid), int(gid)))
		attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	run := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin[len(bin)-1], name), args...)
		cmd.SysProcAttr, cmd.Dir = attributes, dir
		return cmd
	}
	data := filepath.Join(dir, "data")
	out, err := run("initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8").CombinedOutput()
	require.NoError(t, err, string(out))
	server := run("postgres", "-D", data, "-k", dir, "-h", "", "-F")
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	})
	require.Eventually(t, func() bool {
		return exec.Command("psql", "-X", "-h", dir, "-U", "postgres", "-c", "SELECT 1").Run() == nil
	}, time.Minute, 50*time.Millisecond)
	return dir
}
