package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/examples/internal/demo"
	"github.com/hogapi/hogapi/examples/internal/demotest"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

func TestWithoutKeys(t *testing.T) {
	t.Chdir(t.TempDir())
	out := demotest.Run(t, nil, run)
	for _, want := range []string{
		"good 10000 + rejected 0", " of 10000, acknowledged ", "read 10000 = acknowledged 10000 + rejected 0 + pending 0",
		"The fake holds 10000 events, and ends now", `import "invented": complete`,
	} {
		assert.Contains(t, out, want)
	}
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	assert.Empty(t, left, "no files are left behind")
}

// Events that only the fake has are not imported: no later run may continue after them.
func TestTheFakeLeavesNoCheckpoint(t *testing.T) {
	t.Chdir(t.TempDir())
	out := demotest.Run(t, nil, run, "-id", "shop", write(t, "a.jsonl", 40))
	assert.Contains(t, out, "The fake holds 40 events, and ends now")
	assert.NoFileExists(t, "shop.checkpoint")
	assert.NoFileExists(t, "shop.receipt.json")
}

func write(t *testing.T, path string, n int) string {
	t.Helper()
	var lines strings.Builder
	for i := range n {
		at := time.Date(2024, 5, 1, 0, 0, i, 0, time.UTC).Format(time.RFC3339)
		const line = `{"event":"ordered","distinct_id":"%s-%d","timestamp":"%s","properties":{"n":%d}}` + "\n"
		fmt.Fprintf(&lines, line, filepath.Base(path), i%7, at, i)
	}
	require.NoError(t, os.WriteFile(path, []byte(lines.String()), 0o600))
	return path
}

func add(t *testing.T, path, line string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = file.WriteString(line + "\n")
	require.NoError(t, err)
	require.NoError(t, file.Close())
}

func TestThreeFilesWithProgressRejectsAndReceipt(t *testing.T) {
	t.Chdir(t.TempDir())
	files := []string{write(t, "a.jsonl", 80), write(t, "b.jsonl", 30), write(t, "c.jsonl", 20)}
	add(t, "b.jsonl", "no JSON")

	server := hogapitest.New()
	out := demotest.Run(t, server, run, append([]string{"-id", "shop"}, files...)...)
	assert.Contains(t, out, "Keys found: working with ")
	assert.Contains(t, out, "read 131 = good 130 + rejected 1")
	assert.Regexp(t, `(?m)^read \d+ of 131, acknowledged \d+, rejected \d, pending`, out, "progress")
	assert.Contains(t, out, "import -id shop-rejects -rejected shop.rejects.jsonl")
	assert.Contains(t, out, "the same command with -verify says whether all 130 events are there")
	assert.Equal(t, 130, server.Ledger().Unique())

	var receipt hogapi.Receipt
	raw, err := os.ReadFile("shop.receipt.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &receipt))
	assert.EqualValues(t, 131, receipt.Read)
	assert.EqualValues(t, 130, receipt.Acknowledged)
	assert.EqualValues(t, 1, receipt.Rejected)
	rejects, err := os.ReadFile("shop.rejects.jsonl")
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(string(rejects), "\n"))
	assert.Contains(t, string(rejects), "no JSON")
	assert.FileExists(t, "shop.checkpoint")

	_, err = demotest.RunAt(t, server, run, append([]string{"-id", "shop"}, files...)...)
	require.ErrorContains(t, err, "add -resume to continue it")
	out = demotest.Run(t, server, run, append([]string{"-id", "shop", "-resume"}, files...)...)
	assert.Contains(t, out, "read 131 = acknowledged 130 + rejected 1 + pending 0")
	assert.Equal(t, 130, server.Ledger().Len(), "nothing is sent again")

	calls := len(server.Calls(ops.Capture))
	out = demotest.Run(t, server, run, append([]string{"-id", "shop", "-verify"}, files...)...)
	assert.Contains(t, out, `import "shop": complete`)
	assert.Len(t, server.Calls(ops.Capture), calls, "nothing is sent")

	const line = `{"event":"ordered","distinct_id":"ann","timestamp":"2024-05-01T00:00:00Z","uuid":%q}`
	corrected := fmt.Sprintf(line, uuidOf(t, rejects))
	require.NoError(t, os.WriteFile("shop.rejects.jsonl", []byte(corrected+"\n"), 0o600))
	out = demotest.Run(t, server, run, "-id", "shop-rejects", "-rejected", "shop.rejects.jsonl")
	assert.Contains(t, out, "read 1 = acknowledged 1 + rejected 0 + pending 0")
	assert.Equal(t, 131, server.Ledger().Unique())
}

func uuidOf(t *testing.T, line []byte) string {
	t.Helper()
	var of struct{ UUID string }
	require.NoError(t, json.Unmarshal(line, &of))
	require.NotEmpty(t, of.UUID)
	return of.UUID
}

// If too many events would be refused, the program ends before it sends anything, unless the user
// accepts that.
func TestAnotherFormatIsNotImported(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "a.jsonl", 40)
	for i := range 10 {
		const line = `{"event":"Items sold","properties":{"time":%d,"distinct_id":"ann","$insert_id":"x%d"}}`
		add(t, "a.jsonl", fmt.Sprintf(line, 1652423938+i, i))
	}
	server := hogapitest.New()
	out, err := demotest.RunAt(t, server, run, "-id", "shop", "a.jsonl")
	require.ErrorContains(t, err, "too_many_rejects: 10 of 50 records were rejected, more than MaxRejectShare (0.01)")
	require.ErrorContains(t, err, "Nothing was sent")
	assert.Contains(t, out, "(a.jsonl:41, byte offset")
	assert.Empty(t, server.Calls())
	assert.NoFileExists(t, "shop.checkpoint")

	_, err = demotest.RunAt(t, server, run, "-id", "shop", "-check", "a.jsonl")
	require.ErrorContains(t, err, "check: too_many_rejects")

	out = demotest.Run(t, server, run, "-id", "shop", "-max-reject-share", "0.2", "a.jsonl")
	assert.Contains(t, out, "read 50 = acknowledged 40 + rejected 10 + pending 0")
}

// Refusals by the service show during the import only. They are an error too, with the receipt and the
// way back.
func TestTooManyRejectsOfTheServiceAreAnError(t *testing.T) {
	t.Chdir(t.TempDir())
	server := hogapitest.New()
	// The first batch is accepted; each event of the second is refused, since it is halved until it is alone.
	server.Script(ops.Capture, hogapitest.Slow(0), hogapitest.Repeat(3, hogapitest.Status(400)))
	out, err := demotest.RunAt(t, server, run, "-id", "shop", "-rate", "4", write(t, "a.jsonl", 3))
	var stop *hogapi.StopError
	require.ErrorAs(t, err, &stop)
	assert.Equal(t, hogapi.StopTooManyRejects, stop.Reason)
	assert.Contains(t, out, "read 3 = acknowledged 1 + rejected 2 + pending 0")
	assert.Contains(t, out, "import -id shop-rejects -rejected shop.rejects.jsonl")
	assert.FileExists(t, "shop.receipt.json")
}

// A host that is out of reach is named each second, with the cause; nothing counts as sent.
func TestAHostOutOfReachIsShown(t *testing.T) {
	t.Chdir(t.TempDir())
	var out strings.Builder
	show := demo.EachSecond(&out)
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	show(hogapi.Stats{Read: 10, Pending: 10, Total: 20, FailingSince: since, LastError: errors.New("connection refused")})
	show(hogapi.Stats{Read: 11})
	const want = "read 10 of 20, acknowledged 0, rejected 0, pending 10, resent 0; " +
		"failing since 03:04:05 UTC: connection refused\n"
	assert.Equal(t, want, out.String())
}

func TestCheckSendsNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	server := hogapitest.New()
	out := demotest.Run(t, server, run, "-id", "shop", "-check", write(t, "a.jsonl", 40))
	assert.Contains(t, out, "read 40 = good 40 + rejected 0")
	assert.Empty(t, server.Calls())
	assert.NoFileExists(t, "shop.checkpoint")
}

func TestWhatIsNotClearIsRefused(t *testing.T) {
	server := hogapitest.New()
	_, err := demotest.RunAt(t, server, run, "a.jsonl")
	require.ErrorContains(t, err, "with -id")
	_, err = demotest.RunAt(t, server, run)
	require.ErrorContains(t, err, "name the files to import")
	t.Setenv("POSTHOG_PROJECT_API_KEY", "")
	err = run(t.Context(), t.Output(), []string{"-id", "shop", "a.jsonl"})
	assert.Contains(t, err.Error(), "POSTHOG_PROJECT_API_KEY")
	_, err = demotest.RunAt(t, server, run, "-id", "shop", filepath.Join(t.TempDir(), "missing.jsonl"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = demotest.RunAt(t, server, run, "-id", "shop", "-rejected", "a.jsonl", "b.jsonl")
	require.ErrorContains(t, err, "not both")
	assert.Empty(t, server.Calls())
}

// Only a complete import is a success.
func TestVerifyTooMany(t *testing.T) {
	t.Chdir(t.TempDir())
	server := hogapitest.New()
	file := write(t, "a.jsonl", 20)
	_, err := demotest.RunAt(t, server, run, "-id", "shop", "-verify", file)
	require.ErrorContains(t, err, "an import has to have ended")
	demotest.Run(t, server, run, "-id", "shop", file)
	server.Project(hogapitest.DefaultProject).AddEvent(hogapitest.StoredEvent{
		Event: "ordered", DistinctID: "stranger", Time: time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC),
		Properties: json.RawMessage(`{"$import_job_id":"shop"}`),
	})
	out, err := demotest.RunAt(t, server, run, "-id", "shop", "-verify", file)
	require.ErrorContains(t, err, "the import is not complete")
	assert.Contains(t, out, "foreign: 1")
}

// Events without an answer are not a success of -verify while they are not there; the reject file has
// them.
func TestVerifyUnconfirmed(t *testing.T) {
	t.Chdir(t.TempDir())
	server := hogapitest.New()
	server.Script(ops.Capture, hogapitest.Results(func(i int, _ hogapitest.StoredEvent) hogapitest.Result {
		if i < 2 {
			return hogapitest.Result{Result: "word of a newer service"}
		}
		return hogapitest.Result{}
	}))
	file := write(t, "a.jsonl", 20)
	out := demotest.Run(t, server, run, "-id", "shop", "-max-reject-share", "0.5", file)
	assert.Contains(t, out, "2 events are unconfirmed")
	assert.NotContains(t, out, "correct them there")
	assert.Contains(t, out, "import -id shop-rejects -rejected shop.rejects.jsonl")

	var receipt hogapi.Receipt
	raw, err := os.ReadFile("shop.receipt.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &receipt))
	require.EqualValues(t, 2, receipt.Unconfirmed)
	var text strings.Builder
	s := settings{id: "shop", receipt: "shop.receipt.json", rejects: "shop.rejects.jsonl"}
	err = s.report(&text, receipt, history.Verification{State: history.VerificationCompleteUnconfirmed}, nil)
	require.ErrorContains(t, err, "the import is not complete: complete with unconfirmed")
	assert.Contains(t, text.String(), "2 events are unconfirmed")

	demotest.Run(t, server, run, "-id", "shop-rejects", "-rejected", "shop.rejects.jsonl")
	out = demotest.Run(t, server, run, "-id", "shop", "-verify", file)
	assert.Contains(t, out, `import "shop": complete`)
}
