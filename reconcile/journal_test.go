package reconcile

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/durable"
)

const childFolder = "RECONCILE_TEST_FOLDER"

// killedWorld has differences of each kind, and sides for which some questions are too much.
func killedWorld() (*world, *Options) {
	w := newWorld(7)
	for range 4 {
		for _, name := range []string{"missing", "doubled", "altered", "deleted", "collapsed", "pending", "filtered", "delivered"} {
			fates[name](w)
		}
	}
	w.service.most, w.there.most = 30, 30
	return w, &Options{
		From: w.from.Truncate(time.Hour), To: w.to, Exports: w.exports, listDays: 3, listHours: 1, listRows: 20, lookUp: 4,
		now: func() time.Time { return modelEnd },
	}
}

// TestKilledChild is the process that TestKilledAnywhere kills. It writes a line before each question.
func TestKilledChild(t *testing.T) {
	dir := os.Getenv(childFolder)
	if dir == "" {
		return // it is a part of TestKilledAnywhere
	}
	w, o := killedWorld()
	o.Dir = dir
	o.OnProgress = func(p Progress) { fmt.Println("asks", p) }
	compare(t, w.service, w.there, o)
}

// A comparison that is killed again and again ends with the report of one that was not.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	w, o := killedWorld()
	want := compare(t, w.service, w.there, o)
	require.Equal(t, Incomplete, want.Verdict)
	random, kills := rand.New(rand.NewPCG(1, 1)), 8
	codes := []int{-1, 0}
	if runtime.GOOS == "windows" {
		codes = []int{1, 0}
	}
	if os.Getenv("HOGAPI_TEST") != "gate" {
		kills = 60
	}
	dir := filepath.Join(t.TempDir(), "folder")
	for killed := 0; killed < kills; {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledChild$", "-test.count=1")
		cmd.Env = append(os.Environ(), childFolder+"="+dir)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for n := 1 + random.IntN(3); n > 0 && lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "asks") {
				n--
			}
		}
		time.Sleep(time.Duration(random.IntN(1500)) * time.Microsecond)
		_ = cmd.Process.Kill() // it may have ended; then the next one begins again
		_ = cmd.Wait()
		require.Contains(t, codes, cmd.ProcessState.ExitCode())
		if cmd.ProcessState.ExitCode() == 0 {
			continue
		}
		killed++
		if text, err := os.ReadFile(filepath.Join(dir, journalName)); err == nil && len(text) > 0 && killed%3 == 0 {
			require.NoError(t, os.Truncate(filepath.Join(dir, journalName), int64(len(text)-random.IntN(9)))) // as a loss of power may leave it
		}
	}
	again, o := killedWorld()
	o.Dir = dir
	got := compare(t, again.service, again.there, o)
	require.Equal(t, asJSON(t, want), asJSON(t, got))
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	require.NoError(t, err)
	return string(text)
}

// A folder is of one comparison until it has ended, or a day has passed.
func TestFolders(t *testing.T) {
	t.Parallel()
	w, o := killedWorld()
	o.Dir = t.TempDir()
	stop := errors.New("a wrong password")
	w.there.lie = func(method string) error {
		if method == "look up" {
			return stop
		}
		return nil
	}
	_, err := Compare(t.Context(), w.service, w.there, o)
	require.ErrorIs(t, err, stop)
	require.ErrorContains(t, err, "table events: a wrong password")
	asked := len(w.service.asked)
	require.Contains(t, w.service.asked, "digest by day")

	other := *o
	other.Margin = 2 * time.Hour
	_, err = Compare(t.Context(), w.service, w.there, &other)
	require.ErrorContains(t, err, "it has another comparison that is not finished")

	lock, err := durable.OS{}.Lock(filepath.Join(o.Dir, journalName+".lock"))
	require.NoError(t, err)
	_, err = Compare(t.Context(), w.service, w.there, o)
	require.ErrorContains(t, err, "in use by another comparison")
	require.NoError(t, lock.Close())

	w.there.lie, w.service.asked = nil, nil
	r := compare(t, w.service, w.there, o)
	assert.Equal(t, Incomplete, r.Verdict)
	assert.NotContains(t, w.service.asked, "digest by day", "it continues")
	assert.NotContains(t, w.service.asked, "list")

	w.service.asked = nil
	compare(t, w.service, w.there, &other)
	assert.GreaterOrEqual(t, len(w.service.asked), asked, "it begins again")
	assert.Contains(t, w.service.asked, "digest by day")

	w.there.lie = func(string) error { return stop }
	_, err = Compare(t.Context(), w.service, w.there, o)
	require.ErrorIs(t, err, stop)
	other.now = func() time.Time { return modelEnd.Add(freshFor) }
	w.there.lie = nil
	compare(t, w.service, w.there, &other)
}

// What ends a comparison: its context, and input that cannot be compared.
func TestWhatEndsAComparison(t *testing.T) {
	t.Parallel()
	w, o := killedWorld()
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	o.OnProgress = func(p Progress) {
		if p.Step == "list" {
			cancel(reason)
		}
	}
	w.there.lie = func(string) error { return context.Cause(ctx) }
	w.service.lie = w.there.lie
	_, err := Compare(ctx, w.service, w.there, o)
	require.ErrorIs(t, err, reason)

	for want, o := range map[string]*Options{
		"Options.From is missing": nil,
		"give whole hours":        {From: modelEnd.Add(-time.Minute)},
		"To is not after From":    {From: modelEnd, To: modelEnd},
		"not before the newest":   {From: modelEnd.Add(time.Hour), now: func() time.Time { return modelEnd }},
		"is negative":             {From: modelEnd, MaxQueries: -1},
	} {
		_, err := Compare(t.Context(), w.service, w.there, o)
		require.ErrorContains(t, err, want)
	}
	_, err = Compare(t.Context(), nil, w.there, &Options{From: modelEnd.Add(-time.Hour)})
	require.ErrorContains(t, err, "a side is nil")
}
