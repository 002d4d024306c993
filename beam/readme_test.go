package hogbeam_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// The README's program compiles. It is not linked, which would take a minute: [Example] runs the like of it.
func TestTheProgramOfTheREADMECompiles(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	programs := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindAllSubmatch(readme, -1)
	require.Len(t, programs, 1)
	source := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(source, programs[0][1], 0o600))
	out, err := exec.CommandContext(t.Context(), "go", "list", "-export", source).CombinedOutput()
	require.NoError(t, err, "%s", out)
}
