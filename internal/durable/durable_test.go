package durable_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/durable/simdisk"
)

// The workload is an import in small: lines go to a log, the log is synced, and a state that says how many replaces the one before.
const (
	statePath = "folder/state"
	logPath   = "another/log" // in a folder that Replace of the state does not sync
)

// line is a long one, so that it can be torn.
func line(i int) []byte { return fmt.Appendf(nil, "[%d,%q]", i, bytes.Repeat([]byte{'x'}, i%50)) }

// state is i lines in the log, with padding that can be torn.
func state(i int) []byte { return fmt.Appendf(nil, "%d %s end", i, bytes.Repeat([]byte{'s'}, 200)) }

func parseState(raw []byte) (i int, err error) {
	if raw == nil {
		return 0, nil
	}
	if _, err := fmt.Sscanf(string(raw), "%d", &i); err != nil {
		return 0, err
	}
	if !bytes.Equal(raw, state(i)) {
		return 0, errors.New("the state is torn")
	}
	return i, nil
}

func read(d durable.FS, path string) ([]byte, error) {
	raw, err := durable.Read(d, path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return raw, err
}

// work continues from the state on disk by a few lines, and returns how many lines its last saved state has, or 0.
func work(d durable.FS, random *rand.Rand) (saved int, err error) {
	raw, err := read(d, statePath)
	if err != nil {
		return 0, err
	}
	i, err := parseState(raw)
	if err != nil {
		return 0, err
	}
	log, err := durable.OpenLog(d, logPath)
	if err != nil {
		return 0, err
	}
	for range 4 {
		for range random.IntN(4) {
			i++
			if err := log.Append(line(i)); err != nil {
				return saved, err
			}
		}
		if err := log.Sync(); err != nil {
			return saved, err
		}
		if err := durable.Replace(d, statePath, state(i)); err != nil {
			return saved, err
		}
		saved = i
	}
	return saved, log.Close()
}

// checkDisk returns an error if a crash has torn or lost the state, which had at least saved lines, or lines of its
// log.
func checkDisk(d durable.FS, saved int) error {
	raw, err := read(d, statePath)
	if err != nil {
		return err
	}
	i, err := parseState(raw)
	if err != nil {
		return err
	}
	if i < saved {
		return fmt.Errorf("state %d is older than the saved one, %d", i, saved)
	}
	log, err := durable.OpenLog(d, logPath)
	if err != nil {
		return err
	}
	if err := log.Close(); err != nil {
		return err
	}
	text, err := durable.Read(d, logPath)
	if err != nil {
		return err
	}
	return checkLog(text, i)
}

// checkLog demands the first n lines. It also allows lines that were not saved, repeated lines, and the remains of a
// crash: the beginning of a line, or zeros.
func checkLog(text []byte, n int) error {
	if len(text) > 0 && text[len(text)-1] != '\n' {
		return errors.New("the last line is not whole")
	}
	have := map[int]bool{}
	for raw := range bytes.Lines(text) {
		raw = bytes.TrimSuffix(raw, []byte{'\n'})
		var i int
		if _, err := fmt.Sscanf(string(raw), "[%d,", &i); err == nil && bytes.Equal(raw, line(i)) {
			have[i] = true
		} else if bytes.IndexByte(raw, 0) < 0 && !isTorn(raw, n) {
			return fmt.Errorf("a line that nobody wrote: %q", raw)
		}
	}
	for i := range n {
		if !have[i+1] {
			return fmt.Errorf("line %d of %d is lost", i+1, n)
		}
	}
	return nil
}

// isTorn reports the beginning of one of the first lines, or of a line that a run after a state of n has written.
func isTorn(raw []byte, n int) bool {
	for i := range n + 12 {
		if bytes.HasPrefix(line(i+1), raw) {
			return true
		}
	}
	return false
}

// power cuts the power at random moments, several times in a row, or only kills the process, and returns the first thing that is wrong.
func power(seed uint64, sabotage func(*simdisk.Disk)) error {
	random := rand.New(rand.NewPCG(seed, 1))
	d := new(simdisk.Disk)
	least := 0
	for round := range 3 {
		sabotage(d)
		d.CrashAt(1 + random.IntN(36))
		saved, err := work(d, random)
		least = max(least, saved)
		if err != nil && !errors.Is(err, simdisk.ErrCrashed) {
			return fmt.Errorf("round %d: %w", round, err)
		}
		if random.IntN(4) == 0 {
			d = d.Killed()
			continue
		}
		d = d.Crashed(random.Uint64())
		if err := checkDisk(d, least); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	return nil
}

func TestPowerLoss(t *testing.T) {
	t.Parallel()
	seeds := cmp.Or(map[string]uint64{"nightly": 30_000, "deep": 100_000}[os.Getenv("HOGAPI_TEST")], 10_000) // three crashes each
	for seed := range seeds {
		require.NoError(t, power(seed, func(*simdisk.Disk) {}), "seed %d", seed)
	}
}

// The simulated disk must lose data if a sync does nothing; otherwise the test above proves nothing.
func TestPowerLossIsNoticedWithoutSyncs(t *testing.T) {
	t.Parallel()
	for name, sabotage := range map[string]func(*simdisk.Disk){
		"files":  func(d *simdisk.Disk) { d.IgnoreSync = true },
		"folder": func(d *simdisk.Disk) { d.IgnoreSyncFolder = true },
	} {
		t.Run(name, func(t *testing.T) {
			failed := 0
			for seed := range uint64(100) {
				if power(seed, sabotage) != nil {
					failed++
				}
			}
			assert.Greater(t, failed, 50)
		})
	}
}

// Every operation fails once. The work ends with that error, saved lines are still there after a loss of power, and
// the log can be opened again once the disk works.
func TestEveryOperationFailsOnce(t *testing.T) {
	t.Parallel()
	broken := errors.New("no space left")
	for n := 1; ; n++ {
		d := new(simdisk.Disk)
		random := rand.New(rand.NewPCG(7, 7))
		_, err := work(d, random)
		require.NoError(t, err)
		before, err := parseState(d.Content(statePath))
		require.NoError(t, err)

		end := d.Operations()
		d.FailAt(n, broken)
		saved, err := work(d, random)
		if d.Operations()-end < n {
			require.Greater(t, n, 20, "the failure was never met")
			return
		}
		require.ErrorIs(t, err, broken, "operation %d", n)
		saved = max(saved, before)
		require.NoError(t, checkDisk(d, saved), "operation %d, without a crash", n)
		for seed := range uint64(20) {
			require.NoError(t, checkDisk(d.Crashed(seed), saved), "operation %d, seed %d", n, seed)
		}
	}
}

// After a failed sync a later one succeeds on Linux although the data are lost. A failed append leaves no half line.
func TestALogTakesNothingAfterAFailure(t *testing.T) {
	t.Parallel()
	broken := errors.New("no space left")
	for _, first := range []func(*durable.Log) error{(*durable.Log).Sync, func(log *durable.Log) error { return log.Append([]byte("two")) }} {
		d := new(simdisk.Disk)
		log, err := durable.OpenLog(d, logPath)
		require.NoError(t, err)
		require.NoError(t, log.Append([]byte("one")))
		d.FailAt(1, broken)
		require.ErrorIs(t, first(log), broken)
		require.ErrorIs(t, log.Sync(), broken)
		require.ErrorIs(t, log.Append([]byte("three")), broken)
		require.ErrorIs(t, log.Close(), broken)
		assert.Equal(t, "one\n", string(d.Content(logPath)))
	}
}

func TestOpenLog(t *testing.T) {
	t.Parallel()
	zeros := strings.Repeat("\x00", 200_000)
	for name, c := range map[string]struct{ content, want string }{
		"new":                          {"", "3\n"},
		"whole lines":                  {"1\n2\n", "1\n2\n3\n"},
		"a last line without its end":  {"1\n{\"a\":2}", "1\n{\"a\":2}\n3\n"},
		"an only line without its end": {"1", "1\n3\n"},
		"torn or edited":               {"1\n{\"a\":", "1\n{\"a\":\n3\n"},
		"zeros":                        {"1\n\x00\x00", "1\n3\n"},
		"zeros in a line":              {"1\n{\x00\"a\x00", "1\n{\x00\"a\n3\n"},
		"many zeros":                   {"1\n{" + zeros, "1\n{\n3\n"},
		"zeros only":                   {zeros, "3\n"},
		"what others wrote":            {"1\nnotes of mine\n", "1\nnotes of mine\n3\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "log")
			if c.content != "" {
				require.NoError(t, os.WriteFile(path, []byte(c.content), 0o644))
			}
			log, err := durable.OpenLog(durable.OS{}, path)
			require.NoError(t, err)
			require.NoError(t, log.Append([]byte("3")))
			require.Error(t, log.Append([]byte("two\nlines")))
			require.NoError(t, log.Close())
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, c.want, string(content))
			assertMode(t, path, 0o600)
		})
	}
}

func TestReplaceOnTheMachine(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "a", "b")
	require.NoError(t, durable.OS{}.MakeFolder(folder))
	require.NoError(t, durable.OS{}.MakeFolder(folder), "it is there already")
	assertMode(t, folder, 0o700)

	path := filepath.Join(folder, "state")
	// Replace does not write through a temporary file that a crash has left, even if it is a link to elsewhere.
	victim := filepath.Join(folder, "victim")
	require.NoError(t, os.WriteFile(victim, []byte("mine"), 0o600))
	require.NoError(t, os.Symlink(victim, path+durable.TempEnding))
	for i := range 3 {
		require.NoError(t, durable.Replace(durable.OS{}, path, []byte(strconv.Itoa(i))))
		content, err := durable.Read(durable.OS{}, path)
		require.NoError(t, err)
		assert.Equal(t, strconv.Itoa(i), string(content))
	}
	content, err := os.ReadFile(victim)
	require.NoError(t, err)
	assert.Equal(t, "mine", string(content))
	assertMode(t, path, 0o600)
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Len(t, entries, 2, "no second file is left")

	require.Error(t, durable.Replace(durable.OS{}, filepath.Join(folder, "missing", "state"), nil))
	require.NoError(t, os.Mkdir(path+"2", 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(path+"2", "x"), nil, 0o600))
	require.Error(t, durable.Replace(durable.OS{}, path+"2", []byte("new")), "a folder is not replaced")
	_, err = os.Stat(path + "2" + durable.TempEnding)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestMakeFolderFails(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.Error(t, durable.OS{}.MakeFolder(file))
	require.Error(t, durable.OS{}.MakeFolder(filepath.Join(file, "below")))
	loop := filepath.Join(t.TempDir(), "loop")
	require.NoError(t, os.Symlink(loop, loop))
	require.ErrorIs(t, durable.OS{}.MakeFolder(loop), syscall.ELOOP, "the cause, not that something is there")
}

// Imports that begin at the same moment may share a folder that does not exist yet.
func TestMakeFolderWithOthers(t *testing.T) {
	t.Parallel()
	for range 50 {
		folder := filepath.Join(t.TempDir(), "a", "b")
		made := make(chan error)
		for range 8 {
			go func() { made <- durable.OS{}.MakeFolder(folder) }()
		}
		for range 8 {
			assert.NoError(t, <-made)
		}
	}
}

// Links are followed as the system does: ".." after a linked folder is above the folder that the link leads to.
func TestFollow(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	in := func(parts ...string) string {
		return root + string(filepath.Separator) + strings.Join(parts, string(filepath.Separator))
	}
	require.NoError(t, os.MkdirAll(in("there", "deep"), 0o700))
	require.NoError(t, os.Mkdir(in("here"), 0o700))
	require.NoError(t, os.Symlink(in("there", "deep"), in("here", "folder")))
	require.NoError(t, os.Symlink(filepath.Join("..", "b"), in("there", "deep", "link")))
	require.NoError(t, os.Symlink("c", in("there", "b")))
	require.NoError(t, os.WriteFile(in("there", "c"), []byte("state"), 0o600))
	for name, want := range map[string]string{
		in("there", "c"):                             in("there", "c"),
		in("here", "folder", "link"):                 in("there", "c"),
		in("here", "folder", "..", "c"):              in("there", "c"),
		in("here", "folder", "..", "new"):            in("there", "new"),
		in("here", "folder", "..", "x", "y", "new"):  in("there", "x", "y", "new"),
		in("here", ".", "new"):                       in("here", "new"),
		in("missing", "folder", "new"):               in("missing", "folder", "new"),
		in("there", "c", "new"):                      in("there", "c", "new"), // in no folder
		in("here", "folder") + "/":                   in("here", "folder") + "/",
		"new":                                        "new",
		filepath.Join("missing", "new"):              filepath.Join("missing", "new"),
		"." + string(filepath.Separator) + "new":     "new",
		in("here", "folder", "link", "..", "folder"): in("here", "folder", "link", "..", "folder"), // through a file
	} {
		got, err := durable.OS{}.Follow(name)
		if err == nil {
			assert.Equal(t, want, got, name)
		}
		one, errOne := os.ReadFile(name)
		other, errOther := os.ReadFile(got)
		assert.Equal(t, one, other, name)
		assert.Equal(t, errOne == nil, errOther == nil, name)
	}
}

// assertMode checks the rights of a file or folder. Windows has no such rights.
func assertMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	if runtime.GOOS != "windows" {
		assert.Equal(t, want, info.Mode().Perm())
	}
}
