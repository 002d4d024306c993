package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
)

// An import is verified if the receipt that was verified is still its last one.
func TestIsVerified(t *testing.T) {
	t.Parallel()
	s := &state{dir: t.TempDir()}
	isVerified := func(want bool) {
		t.Helper()
		got, err := s.isVerified()
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	isVerified(false)
	require.NoError(t, s.saveReceipt(hogapi.Receipt{}))
	isVerified(false)
	require.NoError(t, s.saveReceipt(hogapi.Receipt{Digest: "1"}))
	isVerified(false)
	require.NoError(t, s.saveVerified(hogapi.Receipt{Digest: "1"}))
	isVerified(true)
	require.NoError(t, s.saveReceipt(hogapi.Receipt{Digest: "2"}))
	isVerified(false)
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "verified.json"), []byte(`{"digest":"2`), 0o600))
	_, err := s.isVerified()
	require.Error(t, err)
}

// A state folder has the name of its file, or of the folder of its files, of characters that every file
// system takes.
func TestStateNames(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/x/events.jsonl.gz": "events", "/x/2024-01.csv": "2024-01", "/x/a b/ü.json": "import", "/x/aZ09_.-z.json": "aZ09_.-z", "/x/a:b@c[d`e{f/.json": "import",
		"/x/a:b@c[d`e{f": "a-b-c-d-e-f", "/x/..jsonl": "import", "....gz": "import", "my file.zip": "my-file", "/x/" + strings.Repeat("n", 61): strings.Repeat("n", 60), "/x/" + strings.Repeat("n", 60): strings.Repeat("n", 60),
	} {
		assert.Equal(t, want, stateName([]string{path}), path)
	}
	assert.Equal(t, "events", stateName([]string{"/x/events/1.json", "/x/events/2.json"}))
	dir := t.TempDir()
	for name, text := range map[string]string{"1/e.jsonl": "a", "2/e.jsonl": "b", "3/e.jsonl": "a"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	id := func(n string) string { return importID([]string{filepath.Join(dir, n, "e.jsonl")}) }
	assert.Equal(t, id("1"), id("3"), "the same files are the same import")
	assert.NotEqual(t, id("1"), id("2"), "others of the same name are another one")
}

// An import that was killed before its first event, while it sorted, has sent nothing: it has no checkpoint yet.
func TestAnImportWithoutACheckpointHasSentNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("e.jsonl", nil, 0o600))
	s := &state{dir: filepath.Join(stateRoot, "e"), kept: kept{ID: "x", Input: input{Files: []string{absolute("e.jsonl")}}}}
	require.NoError(t, makeFolder(s.dir))
	require.NoError(t, s.save())
	require.NoError(t, s.saveProgress(snapshot{}))
	c := &check{app: &app{env: func(string) string { return "" }}}
	begun := func(path string) []*state {
		found, err := c.importsOf(t.Context(), []string{path})
		require.NoError(t, err)
		return found.begun
	}
	assert.Empty(t, begun("e.jsonl"))
	require.NoError(t, os.WriteFile(s.checkpoint(), nil, 0o600))
	assert.Len(t, begun("e.jsonl"), 1)
	assert.Empty(t, begun("other.jsonl"))
}

// countdown is a context that is interrupted after a number of looks at it.
type countdown struct {
	context.Context
	looks *int
}

// Err implements context.Context.
func (c countdown) Err() error {
	if *c.looks--; *c.looks < 0 {
		return errInterrupted
	}
	return nil
}

// A run of many files looks at its context before it reads each of them, and reads each of them once.
func TestManyFilesAreReadOnceAndUntilCtrlC(t *testing.T) {
	t.Parallel()
	const n = 30_000
	paths := make([]string, n)
	for i := range paths {
		paths[i] = fmt.Sprintf("/nowhere/%d.jsonl", i)
	}
	looks := n
	files, err := known(countdown{t.Context(), &looks}, paths)
	require.NoError(t, err)
	assert.Zero(t, looks)
	looks = 5
	_, err = known(countdown{t.Context(), &looks}, paths)
	require.ErrorIs(t, err, errInterrupted)
	assert.GreaterOrEqual(t, looks, -2, "it stops at once, and looks once more for the cause")
	s := &state{kept: kept{Files: files}}
	assert.Empty(t, settledOf(paths, files, []*state{s}).fresh)
}

// A file is found by its path, or moved by its name and content, and the first of several is meant.
func TestFilesAreFoundInAnImport(t *testing.T) {
	t.Parallel()
	s := &state{kept: kept{Files: []knownFile{{"/a/x", 1, "1"}, {"/b/x", 2, "2"}, {"/c/x", 1, "1"}}}}
	find := s.finder()
	for file, want := range map[knownFile][]any{
		{"/b/x", 2, "2"}: {1, false}, {"/b/x", 3, "3"}: {1, true}, {"/d/x", 2, "2"}: {1, false}, {"/c/x", 1, "1"}: {0, false},
		{"/c/x", 4, "4"}: {2, true}, {"/d/y", 2, "2"}: {-1, false}, {"/d/x", 5, "5"}: {-1, false}, {"/b/x", 1, "1"}: {0, false},
	} {
		at, isChanged := find(file)
		assert.Equal(t, want, []any{at, isChanged}, file)
	}
	old := (&state{kept: kept{Input: input{Files: []string{"/a/x"}}}}).finder() // of an older release, without contents
	at, isChanged := old(knownFile{"/a/x", 1, "1"})
	assert.Equal(t, []any{0, false}, []any{at, isChanged})
	at, _ = old(knownFile{"/b/x", 0, ""})
	assert.Equal(t, -1, at)
}

// An import that ended early says how many records it has processed, of how many there are.
func TestHowFarAnImportGot(t *testing.T) {
	t.Parallel()
	receipt := hogapi.Receipt{Acknowledged: 1, Rejected: 2, Unconfirmed: 4, Skipped: 8}
	for want, tt := range map[string]struct {
		kept kept
		err  error
	}{
		"15 records are processed; the position is in D":                                                 {kept{}, errInterrupted},
		"15 records are processed; the position is in D ":                                                {kept{Total: 15, IsExact: true}, errInterrupted},
		"15 of 16 records are processed; the position is in D":                                           {kept{Total: 16, IsExact: true}, errInterrupted},
		"15 of about 16 records are processed; the position is in D":                                     {kept{Total: 15, Links: 1}, errInterrupted},
		"15 records are processed; the position is in D  ":                                               {kept{}, &hogapi.UnsettledError{}},
		"15 records are processed, and 3 under way will be sent again; the position is in D":             {kept{}, &hogapi.UnsettledError{Count: 3}},
		"15 of about 20 records are processed, and 1 under way will be sent again; the position is in D": {kept{Total: 20}, &hogapi.UnsettledError{Count: 1}},
	} {
		e := &importError{err: tt.err, state: &state{dir: "D", kept: tt.kept}, receipt: receipt}
		assert.Equal(t, strings.TrimSpace(want), e.soFar())
	}
}

// A stop names the status and how long the service asks to wait, if the answer has them. Once an import has
// begun or can be resumed, the stop says how far it is.
func TestTextsOfStops(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		stop    hogapi.StopError
		receipt hogapi.Receipt
		text    string
		more    int
	}{
		"not begun":      {hogapi.StopError{Reason: hogapi.StopUnauthorized, Status: 401}, hogapi.Receipt{}, "the service refuses the project API key (status 401)", 0},
		"without status": {hogapi.StopError{Reason: hogapi.StopUnauthorized}, hogapi.Receipt{}, "the service refuses the project API key", 0},
		"begun": {
			hogapi.StopError{Reason: hogapi.StopUnauthorized}, hogapi.Receipt{Acknowledged: 1, Unconfirmed: 1}, "the service refuses the project API key", 1,
		},
		"unconfirmed events": {hogapi.StopError{Reason: hogapi.StopUnauthorized}, hogapi.Receipt{Unconfirmed: 1}, "the service refuses the project API key", 1},
		"can be resumed":     {hogapi.StopError{Reason: hogapi.StopNoProgress}, hogapi.Receipt{}, "nothing gets through to the service", 1},
		"asks to wait": {
			hogapi.StopError{Reason: hogapi.StopNoProgress, Status: 503, RetryAfter: 7 * time.Second}, hogapi.Receipt{},
			"nothing gets through to the service (status 503); the service asks to wait 7 s", 1,
		},
	} {
		e := &importError{err: &tt.stop, state: &state{dir: "D"}, receipt: tt.receipt}
		f := e.explained()
		assert.Equal(t, tt.text, f.text, name)
		assert.Len(t, f.more, tt.more, name)
	}
	for err, want := range map[error]bool{syscall.ENOSPC: true, syscall.EDQUOT: true, syscall.EFBIG: true, syscall.EIO: false} {
		assert.Equal(t, want, isDiskFull(fmt.Errorf("write: %w", err)), err)
	}
}

// The command to run again is given for an import that has a state and is no trial.
func TestTheSameCommandIsGiven(t *testing.T) {
	t.Parallel()
	canResume, cannot := error(&hogapi.StopError{Reason: hogapi.StopNoProgress}), errors.New("no")
	for name, tt := range map[string]struct {
		id    string
		saved bool
		err   error
		next  int
	}{
		"an import":         {"x", true, canResume, 1},
		"not begun":         {"x", false, canResume, 0},
		"a trial":           {trialPrefix + "x", true, canResume, 0},
		"of no use":         {"x", true, cannot, 0},
		"a trial of no use": {trialPrefix + "x", false, cannot, 0},
	} {
		s := &state{dir: t.TempDir(), kept: kept{ID: tt.id}}
		if tt.saved {
			require.NoError(t, s.save(), name)
		}
		assert.Len(t, (&importError{err: tt.err, state: s}).fault().next, tt.next, name)
	}
}

// Imports of another project, trials and folders that cannot be read do not belong to a project.
func TestImportsOfAProject(t *testing.T) {
	t.Chdir(t.TempDir())
	for i, k := range []kept{{ID: "of a", target: target{Key: "a"}}, {ID: "of b", target: target{Key: "b"}}, {ID: "older"}, {ID: trialPrefix + "x", target: target{Key: "a"}}} {
		k.Begun = time.Unix(int64(9-i), 0)
		s := &state{dir: filepath.Join(stateRoot, fmt.Sprint(i)), kept: k}
		require.NoError(t, makeFolder(s.dir))
		require.NoError(t, s.save())
	}
	for _, name := range []string{"empty", "torn"} {
		require.NoError(t, makeFolder(filepath.Join(stateRoot, name)))
	}
	require.NoError(t, os.WriteFile(filepath.Join(stateRoot, "torn", "import.json"), []byte(`{"id":"torn"`), 0o600))
	for project, want := range map[string][]string{"a": {"older", "of a"}, "b": {"older", "of b"}, "": {"older", "of b", "of a"}} {
		var ids []string
		for _, s := range importsBelow(project) {
			ids = append(ids, s.kept.ID)
		}
		assert.Equal(t, want, ids, project)
	}
}

// Only the last file of an import can grow. Another content of the same size, or of a file before, has
// changed.
func TestFilesThatGrow(t *testing.T) {
	t.Parallel()
	s := &state{kept: kept{Files: []knownFile{{"/a", 1, "1"}, {"/b", 2, "2"}}}}
	assert.Equal(t, []string{"/d/a", "/b"}, s.filesAt([]knownFile{{"/d/a", 1, "1"}, {"/c", 1, "1"}}), "files that were moved")
	for want, file := range map[string]knownFile{
		"same": {"/b", 2, "2"}, "changed": {"/b", 2, "3"}, "changed ": {"/b", 1, "3"}, "grown": {"/b", 3, "3"}, "changed  ": {"/a", 7, "3"}, "fresh": {"/c", 2, "3"},
	} {
		got := settledOf([]string{file.Path}, []knownFile{file}, []*state{s})
		is := map[string]int{"changed": len(got.changed), "grown": len(got.grown), "fresh": len(got.fresh)}
		for kind, n := range is {
			assert.Equal(t, kind == strings.TrimSpace(want), n == 1, "%v is %s", file, kind)
		}
	}
}
