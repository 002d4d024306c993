package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFindReadsEveryModule(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("a_test.go", "package a\n\nfunc FuzzA(f *testing.F) {}\n\nfunc fuzzB(f *testing.F) {}\nfunc TestFuzz(t *testing.T) {}\n")
	write("text_test.go", "package a\n\nconst text = `\nfunc FuzzInText(f *testing.F) {}\n`\n")
	write("a.go", "package a\n\nfunc FuzzNoTest(f *testing.F) {}\n")
	write("nested/go.mod", "module nested\n")
	write("nested/b_test.go", "package b\nfunc FuzzC(fz *testing.F) {}\n")
	write("testdata/c_test.go", "package c\nfunc FuzzD(f *testing.F) {}\n")
	write(".hidden/c_test.go", "package c\nfunc FuzzE(f *testing.F) {}\n")

	got, err := find(root)
	require.NoError(t, err)
	assert.Equal(t, []target{{root, "FuzzA"}, {filepath.Join(root, "nested"), "FuzzC"}}, got)
}

func TestShare(t *testing.T) {
	assert.Equal(t, 10*time.Second, share(10*time.Second, time.Minute, 3), "enough for all")
	assert.Equal(t, 5*time.Second, share(10*time.Second, time.Minute, 12), "the budget is shared")
	assert.Equal(t, minTime, share(10*time.Second, time.Minute, 600), "never less than the least")
	assert.Equal(t, 10*time.Second, share(10*time.Second, time.Minute, 0))
}

func TestEngineOverran(t *testing.T) {
	assert.True(t, engineOverran("--- FAIL: FuzzA (5.02s)\n    context deadline exceeded\nFAIL\n"))
	assert.False(t, engineOverran("--- FAIL: FuzzA (5.02s)\n    context deadline exceeded\n    Failing input written to testdata/fuzz/FuzzA/1\n"))
	assert.False(t, engineOverran("--- FAIL: FuzzA (0.02s)\n    a_test.go:3: not equal\n"))
}

// A target that fails must be reported as failed, with what the engine says.
func TestFuzzReportsAFailure(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.test/a\n\ngo 1.26.0\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a_test.go"), []byte(`package a

import "testing"

func FuzzGood(f *testing.F) { f.Fuzz(func(t *testing.T, n int) {}) }
func FuzzBad(f *testing.F)  { f.Add(1); f.Fuzz(func(t *testing.T, n int) { t.Fatal("bad") }) }
`), 0o600))
	require.NoError(t, target{dir, "FuzzGood"}.fuzz(io.Discard, minTime))
	require.Error(t, target{dir, "FuzzBad"}.fuzz(io.Discard, minTime))
	require.Error(t, target{dir, "FuzzGone"}.fuzz(io.Discard, minTime), "no such target")
}
