package cli

import (
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

// An import that ended early says how many records it has processed, of how many there are.
func TestHowFarAnImportGot(t *testing.T) {
	t.Parallel()
	receipt := hogapi.Receipt{Acknowledged: 1, Rejected: 2, Unconfirmed: 4, Skipped: 8}
	for want, tt := range map[string]struct {
		kept kept
		err  error
	}{
		"15 records are processed; the place is in D":                                                 {kept{}, errInterrupted},
		"15 records are processed; the place is in D ":                                                {kept{Total: 15, IsExact: true}, errInterrupted},
		"15 of 16 records are processed; the place is in D":                                           {kept{Total: 16, IsExact: true}, errInterrupted},
		"15 of about 16 records are processed; the place is in D":                                     {kept{Total: 15, Links: 1}, errInterrupted},
		"15 records are processed; the place is in D  ":                                               {kept{}, &hogapi.UnsettledError{}},
		"15 records are processed, and 3 under way will be sent again; the place is in D":             {kept{}, &hogapi.UnsettledError{Count: 3}},
		"15 of about 20 records are processed, and 1 under way will be sent again; the place is in D": {kept{Total: 20}, &hogapi.UnsettledError{Count: 1}},
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
		f := e.meaning()
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
