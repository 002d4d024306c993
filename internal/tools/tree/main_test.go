package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestInspect(t *testing.T) {
	const open = "TO" + "DO"
	home := "/" + "home/me/src"
	tests := map[string]struct{ file, text, want string }{
		"clean":              {"a.go", "package a // todos is a word\n", ""},
		"mark":               {"a.go", "package a\n// " + open + ": later\n", "a.go:2: work left open: " + open},
		"mark in a corpus":   {"testdata/a.txt", open, ""},
		"path":               {"run.sh", "cd " + home + "\n", "run.sh:1: path of one machine: " + home},
		"quoted path":        {"a.go", "x := \"" + home + "\"\n", "a.go:1: path of one machine: " + home},
		"path of a URL":      {"a.go", "https://example.test" + home + "\n", ""},
		"path below a name":  {"a.sh", "$HOME" + home + "\n", ""},
		"binary":             {"a.bin", open + "\x00", ""},
		"link":               {"a.md", "see [b](b.md) and [web](https://example.test/)\n", "a.md:1: link leads nowhere: b.md"},
		"link to a heading":  {"a.md", "see [up](#up) and [self](a.md#up)\n", ""},
		"no link in code":    {"a.md", "```go\nf[T](x)\n```\n[b](b.md)\n", "a.md:4: link leads nowhere: b.md"},
		"inline code":        {"a.md", "`f[T](x)` and [b](b.md)\n", "a.md:1: link leads nowhere: b.md"},
		"link in other text": {"a.go", "// [b](b.md)\n", ""},
		"word in a page":     {"docs/a.md", "It goes on.\n", `docs/a.md:1: "goes on": write continues or resumes`},
		"word in code":       {"docs/a.md", "`mend`\n```\nmend\n```\n", ""},
		"word of a comment":  {"a.go", "package a\n\n// A shall.\nvar A int\n", `a.go:3: "shall": write must or will`},
		"word of an error":   {"internal/x/a.go", "package x\n\nvar err = f(\"shall\")\n", `internal/x/a.go:3: "shall": write must or will`},
		"word of a test":     {"a_test.go", "package a\n\n// A shall.\nvar A int\n", ""},
		"wide line":          {"docs/a.md", strings.Repeat("x", 121), "docs/a.md:1: 121 columns: want at most 120"},
		"wide row":           {"docs/a.md", "|" + strings.Repeat("x", 121), ""},
		"wide address":       {"docs/a.md", "https://" + strings.Repeat("x", 121), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			path := filepath.Join(root, tt.file)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
			require.NoError(t, os.WriteFile(path, []byte(tt.text), 0o600))
			found, err := inspect(root, tt.file)
			require.NoError(t, err)
			if tt.want == "" {
				assert.Empty(t, found)
			} else {
				assert.Equal(t, []string{tt.want}, found)
			}
		})
	}
}

func TestMissingTests(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"a_test.go": "package a\n\nfunc TestOne(t *testing.T) {}\nfunc FuzzTwo(f *testing.F) {}\n",
		"a.md":      "`TestOne`, `sub: FuzzTwo`, `TestO…`, TestPlain, `TestOn`, `TestGone…`, `http: TestThree`\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	missing, err := missingTests(root, []string{"a_test.go", "a.md"})
	require.NoError(t, err)
	assert.Equal(t, []string{"a.md: there is no test TestOn", "a.md: there is no test TestGone", "a.md: there is no test TestThree"}, missing)
}

func TestMissingFiles(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "a.md"), []byte("`a.go`, `b/c.go`, `c.go`, `gone.go`, `x/c.go`, `go run ./a.go`\n"), 0o600))
	missing, err := missingFiles(root, []string{"a.md", "a.go", "b/c.go"})
	require.NoError(t, err)
	assert.Equal(t, []string{"a.md: there is no file gone.go", "a.md: there is no file x/c.go"}, missing)
}
