// Package worktree lists and copies the files that a commit of everything would hold.
package worktree

import (
	"errors"
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

// Store adds the files to a new repository. Git keeps their modes and links.
func Store(root, repository string) error {
	if err := git("init", "-q", "--bare", repository); err != nil {
		return err
	}
	return git("-C", root, "--git-dir", repository, "--work-tree", ".", "add", "--all")
}

// Restore writes the files of a repository into a folder, which it empties first.
func Restore(repository, dir string) error {
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return err
	}
	return git("-C", dir, "--git-dir", repository, "--work-tree", ".", "checkout-index", "--all")
}

func git(args ...string) error {
	if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}
