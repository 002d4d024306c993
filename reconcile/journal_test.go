package reconcile

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
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
	require.ErrorContains(t, err, "the folder has another unfinished comparison")

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

// A comparison that continues hours later keeps the range and the clock of its beginning: missing rows were pending
// then, and rows that arrived meanwhile belong to the next comparison.
func TestAComparisonThatContinuesLater(t *testing.T) {
	t.Parallel()
	w, o := killedWorld()
	o.To = time.Time{} // the newest time that can be compared
	want := compare(t, w.service, w.there, o)
	require.NotEmpty(t, byDay(want, Pending))
	for _, method := range []string{"digest by day", "list", "look up"} {
		w, o := killedWorld()
		o.To, o.Dir = time.Time{}, t.TempDir()
		w.there.lie = func(now string) error {
			if now == method {
				return errors.New("a wrong password")
			}
			return nil
		}
		_, err := Compare(t.Context(), w.service, w.there, o)
		require.Error(t, err, method)
		w.there.lie = nil
		o.now = func() time.Time { return modelEnd.Add(20 * time.Hour) }
		meanwhile := w.newRow("e")
		meanwhile.at, meanwhile.created = modelEnd.Add(time.Hour), modelEnd.Add(time.Hour)
		w.service.rows = append(w.service.rows, meanwhile)
		require.Equal(t, asJSON(t, want), asJSON(t, compare(t, w.service, w.there, o)), method)
	}
}

// No hour has more questions to a side than it allows: not over errors and kills, and not over comparisons that follow
// each other in one folder or with one project. A clock that was set back costs no more than an hour.
func TestPace(t *testing.T) {
	t.Parallel()
	stop := errors.New("a wrong password")
	for name, tt := range map[string]struct {
		second    func(times []time.Time, o *Options) error // what the second comparison meets at each question
		setBack   time.Duration
		isProject bool
		perHour   int
	}{
		"one after the other": {},
		"several in an hour":  {perHour: 130},
		"of one project":      {isProject: true},
		"errors and answers of no": {second: func(times []time.Time, _ *Options) error {
			switch {
			case len(times)%50 == 0:
				return stop // as a kill, it ends the comparison
			case len(times)%3 == 0:
				return ErrCannotTell
			}
			return nil
		}},
		"a clock set back": {setBack: 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, o := killedWorld()
				start, perHour := time.Now(), cmp.Or(tt.perHour, 30)
				clock := func(ahead time.Duration) func() time.Time {
					return func() time.Time { return modelEnd.Add(ahead + time.Since(start)) }
				}
				o.Dir, o.now = t.TempDir(), clock(0)
				var times []time.Time
				ask := func(string) error {
					times = append(times, time.Now())
					if tt.second != nil {
						return tt.second(times, o)
					}
					return nil
				}
				w.service.perHour, w.service.lie = perHour, ask
				var service Service = w.service
				if tt.isProject {
					o.Dir = ""
					side := project(t, w.service.rows, func(next http.RoundTripper) http.RoundTripper {
						return transport(func(r *http.Request) (*http.Response, error) {
							_ = ask("")
							return next.RoundTrip(r)
						})
					})
					side.perHour = perHour
					service = side
				}
				for i := range 4 {
					o.now = clock(-time.Duration(i) * tt.setBack)
					before, begin := len(times), time.Now()
					_, err := Compare(t.Context(), service, w.there, o)
					if tt.second == nil {
						require.NoError(t, err)
						require.Greater(t, 3*(len(times)-before), perHour, "there are enough questions")
						require.Less(t, time.Since(begin), time.Duration(2+(len(times)-before)/perHour)*time.Hour)
					}
				}
				for i := perHour; i < len(times); i++ {
					require.GreaterOrEqual(t, times[i].Sub(times[i-perHour]), time.Hour, i)
				}
			})
		})
	}
}

// A question is in the journal before it is asked, so that a kill does not make it free.
func TestQuestionsAreNotedFirst(t *testing.T) {
	t.Parallel()
	w, o := killedWorld()
	o.Dir = t.TempDir()
	for side, of := range []*memory{w.service, w.there} {
		of.lie = func(string) error {
			j := &journal{path: filepath.Join(o.Dir, journalName), where: map[string]line{}}
			_, err := j.read()
			require.NoError(t, err)
			require.Len(t, j.asked[side], len(of.asked))
			return nil
		}
	}
	compare(t, w.service, w.there, o)
}

// A second reading queries the service again, and does not use the journal.
func TestListsAreReadAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(1)
	w.service.rows, w.there.rows, w.exports = nil, nil, nil
	for r := w.newRow("e"); len(w.there.rows) < 3; r.id = w.id() {
		w.deliver(r, 1)
	}
	all := w.there.rows
	w.there.lie = func(string) error { // a row more shows before each question but the first two
		w.there.rows = all[:min(max(1, len(w.there.asked)-1), len(all))]
		return nil
	}
	r := compare(t, w.service, w.there, &Options{From: w.from.Truncate(time.Hour), To: w.to, Dir: t.TempDir(), now: func() time.Time { return modelEnd }})
	assert.Equal(t, []string{"count", "digest by day", "list", "digest by day", "list"}, w.there.asked)
	assert.Equal(t, Complete, r.Verdict)
}

// A comparison ends with its context, and with input that cannot be compared.
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
