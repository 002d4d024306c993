package main

import (
	"encoding/json"
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
	"github.com/hogapi/hogapi/hogapitest"
)

func TestWithoutKeys(t *testing.T) {
	t.Chdir(t.TempDir())
	out := demotest.Run(t, run)
	for _, want := range []string{
		"good 11576 + refused 0", "11576 of 11576 acknowledged, 0 rejected", "read 11576 = acknowledged 11576 + rejected 0 + pending 0",
		"The fake holds 11576 events.",
	} {
		assert.Contains(t, out, want)
	}
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	assert.Empty(t, left, "no files are left behind")
}

// write makes a file of n events whose persons have the file's name.
func write(t *testing.T, path string, n int) string {
	t.Helper()
	var lines strings.Builder
	for i := range n {
		at := time.Date(2024, 5, 1, 0, 0, i, 0, time.UTC).Format(time.RFC3339)
		fmt.Fprintf(&lines, `{"event":"ordered","distinct_id":"%s-%d","timestamp":"%s","properties":{"n":%d}}`+"\n", filepath.Base(path), i%7, at, i)
	}
	require.NoError(t, os.WriteFile(path, []byte(lines.String()), 0o600))
	return path
}

func TestThreeFilesWithProgressRejectsAndReceipt(t *testing.T) {
	t.Chdir(t.TempDir())
	files := []string{write(t, "a.jsonl", 40), write(t, "b.jsonl", 30), write(t, "c.jsonl", 20)}
	bad, err := os.OpenFile("b.jsonl", os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = bad.WriteString("no JSON\n")
	require.NoError(t, err)
	require.NoError(t, bad.Close())

	server := hogapitest.New()
	out, err := demotest.RunAt(t, server, nil, run, append([]string{"-id", "shop"}, files...)...)
	require.NoError(t, err)
	assert.Contains(t, out, "working with the real service")
	assert.Contains(t, out, "read 91 = good 90 + refused 1")
	assert.Contains(t, out, "90 of 91 acknowledged, 1 rejected\n", "progress, as plain lines")
	assert.Contains(t, out, "WHERE properties.$import_job_id = 'shop'")
	assert.Equal(t, 90, server.Ledger().Unique())

	var receipt hogapi.Receipt
	raw, err := os.ReadFile("shop.receipt.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &receipt))
	assert.EqualValues(t, 91, receipt.Read)
	assert.EqualValues(t, 90, receipt.Acknowledged)
	assert.EqualValues(t, 1, receipt.Rejected)
	rejects, err := os.ReadFile("shop.rejects.jsonl")
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(string(rejects), "\n"))
	assert.Contains(t, string(rejects), "no JSON")
	assert.FileExists(t, "shop.checkpoint")

	_, err = demotest.RunAt(t, server, nil, run, append([]string{"-id", "shop"}, files...)...)
	require.ErrorContains(t, err, "say -resume to go on")
	out, err = demotest.RunAt(t, server, nil, run, append([]string{"-id", "shop", "-resume"}, files...)...)
	require.NoError(t, err)
	assert.Contains(t, out, "read 91 = acknowledged 90 + rejected 1 + pending 0")
	assert.Equal(t, 90, server.Ledger().Len(), "nothing is sent again")
}

func TestCheckSendsNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	server := hogapitest.New()
	out, err := demotest.RunAt(t, server, nil, run, "-id", "shop", "-check", write(t, "a.jsonl", 40))
	require.NoError(t, err)
	assert.Contains(t, out, "read 40 = good 40 + refused 0")
	assert.Empty(t, server.Calls())
	assert.NoFileExists(t, "shop.checkpoint")
}

func TestWhatIsNotClearIsRefused(t *testing.T) {
	server := hogapitest.New()
	_, err := demotest.RunAt(t, server, nil, run, "a.jsonl")
	require.ErrorContains(t, err, "say -id")
	_, err = demotest.RunAt(t, server, nil, run)
	require.ErrorContains(t, err, "name the files to import")
	_, err = demotest.RunAt(t, server, map[string]string{demo.ProjectKey: ""}, run, "-id", "shop", "a.jsonl")
	assert.Contains(t, demo.Explain(err), demo.ProjectKey)
	_, err = demotest.RunAt(t, server, nil, run, "-id", "shop", filepath.Join(t.TempDir(), "missing.jsonl"))
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.Empty(t, server.Calls())
}

func TestProgressCountsFromWhereTheRunBegan(t *testing.T) {
	var out strings.Builder
	p := newProgress(&out, 1000)
	p.show(hogapi.Stats{Acknowledged: 400, Rejected: 1, Total: 1000}) // of an earlier run
	p.begin = p.begin.Add(-10 * time.Second)
	p.printed = time.Time{}
	p.show(hogapi.Stats{Acknowledged: 500, Rejected: 1, Total: 1000, FailingSince: time.Now().Add(-time.Minute)})
	p.show(hogapi.Stats{Acknowledged: 999, Rejected: 1, Total: 1000})
	p.end()
	assert.Equal(t, "400 of 1000 acknowledged, 1 rejected\n"+
		"500 of 1000 acknowledged, 1 rejected, 10/s, 50s left, no good answer for 1m0s\n"+
		"999 of 1000 acknowledged, 1 rejected\n", out.String())
}
