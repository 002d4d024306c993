package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const guarded = `package a

// Half refuses odd numbers.
func Half(n int) (int, bool) {
	if n%2 != 0 {
		return 0, false
	}
	return n / 2, true
}
`

const guardedTest = `package a

import "testing"

func TestHalfRefusesOdd(t *testing.T) {
	if _, ok := Half(3); ok {
		t.Fatal("odd number halved")
	}
}

func TestHalf(t *testing.T) {
	if n, _ := Half(4); n != 2 {
		t.Fatal(n)
	}
}

func TestBroken(t *testing.T) { t.Fatal("always") }
`

// diffTo is a patch that replaces the guard of Half by the given line.
func diffTo(header, line string) string {
	return header + `diff --git a/a.go b/a.go
--- a/a.go
+++ b/a.go
@@ -4,7 +4,7 @@
 func Half(n int) (int, bool) {
-	if n%2 != 0 {
+	` + line + `
 		return 0, false
 	}
 	return n / 2, true
 }
`
}

func repository(t *testing.T, patches map[string]string) string {
	t.Helper()
	root := t.TempDir()
	files := fstest.MapFS{
		"go.mod": {Data: []byte("module example.test/a\n\ngo 1.26.0\n")}, "a.go": {Data: []byte(guarded)}, "a_test.go": {Data: []byte(guardedTest)},
		".gitignore": {Data: []byte("ignored\n")}, "ignored": {Data: []byte("x")}, "sub/note.txt": {Data: []byte("new, not yet committed")},
	}
	for name, text := range patches {
		files["internal/sabotage/"+name+".patch"] = &fstest.MapFile{Data: []byte(text)}
	}
	require.NoError(t, os.CopyFS(root, files))
	for _, args := range [][]string{{"init", "-q"}, {"add", "a.go", "a_test.go", "go.mod"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = root
		require.NoError(t, cmd.Run())
	}
	return root
}

func TestVerdicts(t *testing.T) {
	const noticed = "# Breaks: the guard\n# Run: . ^TestHalfRefusesOdd$\n"
	tests := []struct{ name, patch, result, by string }{
		{"caught", diffTo(noticed, "if n < 0 {"), "caught", "TestHalfRefusesOdd"},
		{"panic", diffTo(noticed, `if panic("gone"); n < 0 {`), "caught", "TestHalfRefusesOdd"},
		{"blind", diffTo("# Breaks: the guard\n# Run: . ^TestHalf$\n", "if n < 0 {"), "NOT CAUGHT", "^TestHalf$"},
		{"one-blind", diffTo(noticed+"# Run: . ^TestHalf$\n", "if n < 0 {"), "NOT CAUGHT", "^TestHalf$"},
		{"compile", diffTo(noticed, "if m < 0 {"), "does not compile", "."},
		{"failing", diffTo("# Breaks: the guard\n# Run: . ^TestBroken$\n", "if n < 0 {"), "already failing", "^TestBroken$"},
		{"no-test", diffTo("# Breaks: the guard\n# Run: . ^TestGone$\n", "if n < 0 {"), "already failing", "^TestGone$"},
		{"stale", noticed + "--- a/a.go\n+++ b/a.go\n@@ -1,3 +1,3 @@\n package a\n-gone\n+here\n \n", "does not apply", ""},
	}
	patches := map[string]string{}
	for _, tt := range tests {
		patches[tt.name] = tt.patch
	}
	root := repository(t, patches)
	all, err := load(filepath.Join(root, "internal/sabotage"))
	require.NoError(t, err)
	b, err := newBench(root)
	require.NoError(t, err)
	t.Cleanup(b.close)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, ok := byName(all, tt.name)
			require.True(t, ok)
			v := b.try(p)
			assert.Equal(t, tt.result, v.result, v.output)
			assert.Equal(t, tt.by, v.by)
		})
	}

	ok, err := sabotageAll(io.Discard, root, []string{"caught"}, false, false)
	require.NoError(t, err)
	assert.True(t, ok)
	ok, err = sabotageAll(io.Discard, root, []string{"caught", "blind"}, false, false)
	require.NoError(t, err)
	assert.False(t, ok, "one that is not caught fails the whole run")
	text, err := os.ReadFile(filepath.Join(root, "a.go"))
	require.NoError(t, err)
	assert.Equal(t, guarded, string(text), "the work tree itself is never touched")
}

func TestParseRefusesABadHeader(t *testing.T) {
	tests := map[string]string{
		"no header":    "diff --git a/a b/a\n",
		"no run":       "# Breaks: x\n",
		"no breaks":    "# Run: . TestX\n",
		"run of one":   "# Breaks: x\n# Run: TestX\n",
		"unknown line": "# Breaks: x\n# Run: . TestX\n# Gates: yes\n",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "T01.patch")
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			_, err := parse(file)
			require.ErrorContains(t, err, "T01.patch")
		})
	}
}

func TestChoose(t *testing.T) {
	var all []patch
	for i := 1; i <= traps; i++ {
		all = append(all, patch{Name: fmt.Sprintf("T%02d", i), Gate: i == 3})
	}
	got, err := choose(all, nil, false)
	require.NoError(t, err)
	assert.Len(t, got, traps)
	got, err = choose(all, nil, true)
	require.NoError(t, err)
	assert.Equal(t, []patch{all[2]}, got)
	got, err = choose(all, []string{"t05"}, false)
	require.NoError(t, err)
	assert.Equal(t, []patch{all[4]}, got)

	_, err = choose(all, []string{"T99"}, false)
	require.ErrorContains(t, err, "T99")
	_, err = choose(all[:2], nil, true)
	require.ErrorContains(t, err, "Gate")
	_, err = choose(all[:13], nil, false)
	require.ErrorContains(t, err, "T14 T15")
	got, err = choose(nil, nil, true)
	require.NoError(t, err, "before the first patch is written")
	assert.Empty(t, got)
}
