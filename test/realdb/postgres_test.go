package realdb

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// postgres is a server of its own, at a socket in a folder.
type postgres struct {
	t   *testing.T
	dir string
}

// startPostgres starts a server. Postgres refuses to run as root.
func startPostgres(t *testing.T) *postgres {
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
	p := &postgres{t, dir}
	require.Eventually(t, func() bool { return p.psql("SELECT 1", "").Run() == nil }, time.Minute, 50*time.Millisecond)
	return p
}

func (p *postgres) psql(sql, input string) *exec.Cmd {
	cmd := exec.Command("psql", "-XAt", "-v", "ON_ERROR_STOP=1", "-h", p.dir, "-U", "postgres", "-c", sql)
	cmd.Stdin, cmd.Stderr = strings.NewReader(input), os.Stderr
	return cmd
}

// run carries out a statement, with the lines for a COPY, and returns the lines of its answer.
func (p *postgres) run(sql string, rows ...string) []string {
	p.t.Helper()
	out, err := p.psql(sql, strings.Join(rows, "\n")+"\n").Output()
	require.NoError(p.t, err, sql)
	return strings.Fields(string(out))
}
