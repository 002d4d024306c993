// Package worktree lists the files that a commit of everything would hold.
package worktree

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Files returns the tracked files that are on disk and the new ones that are not ignored, relative to root, with slashes.
func Files(root string) ([]string, error) {
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	files := strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
	slices.Sort(files)
	files = slices.Compact(files) // a file in conflict is listed more than once
	return slices.DeleteFunc(files, func(f string) bool {
		_, err := os.Lstat(filepath.Join(root, f))
		return err != nil // deleted, not yet committed
	}), nil
}
