package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/hogapi/hogapi/internal/tools/worktree"
)

// bench is a folder in which copies of the work tree are made, one after the other at the same place, so that the
// build cache serves every package that a patch does not touch.
type bench struct {
	root, dir string
	healthy   map[string]error // runs that were tried on the untouched copy
	programs  programs         // of the untouched copy
}

// programs are the test programs of one state of the tree. Several runs of a folder share one.
type programs struct {
	dir  string
	made map[string]string
}

func newPrograms(within string) (programs, error) {
	dir, err := os.MkdirTemp(within, "programs-")
	return programs{dir, map[string]string{}}, err
}

func newBench(root string) (*bench, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sabotage-")
	if err != nil {
		return nil, err
	}
	healthy, err := newPrograms(dir)
	return &bench{root: root, dir: dir, healthy: map[string]error{}, programs: healthy}, err
}

func (b *bench) close() { _ = os.RemoveAll(b.dir) }

func (b *bench) tree() string { return filepath.Join(b.dir, "tree") }

// verdict is the result of one patch. Only a test that compiled, passed before and fails now counts as
// caught.
type verdict struct {
	caught             bool
	result, by, output string
}

func (b *bench) try(p patch) verdict {
	if err := b.copyTree(); err != nil {
		return verdict{result: "no copy", output: err.Error()}
	}
	for _, r := range p.Runs {
		if err := b.passes(p, r); err != nil {
			return verdict{result: "already failing", by: r.Expr, output: err.Error()}
		}
	}
	if out, err := b.apply(p); err != nil {
		return verdict{result: "does not apply", output: out}
	}
	broken, err := newPrograms(b.dir)
	if err != nil {
		return verdict{result: "no copy", output: err.Error()}
	}
	defer func() { _ = os.RemoveAll(broken.dir) }()
	var by []string
	for _, r := range p.Runs {
		bin, out, err := b.compile(broken, p, r)
		if err != nil {
			return verdict{result: "does not compile", by: r.Dir, output: out}
		}
		out, err = b.test(p, r, bin)
		if err == nil {
			return verdict{result: "NOT CAUGHT", by: r.Expr, output: out}
		}
		by = append(by, reason(out, err))
	}
	return verdict{caught: true, result: "caught", by: strings.Join(by, ", ")}
}

// passes checks that the tests pass without the patch. Otherwise their failure with it would prove nothing.
func (b *bench) passes(p patch, r run) error {
	key := fmt.Sprint(r, p.Flags, p.Env)
	if err, known := b.healthy[key]; known {
		return err
	}
	bin, out, err := b.compile(b.programs, p, r)
	if err == nil {
		out, err = b.test(p, r, bin)
		if err == nil && !strings.Contains(out, "=== RUN") {
			err = fmt.Errorf("no test of %s matches %s", r.Dir, r.Expr)
		}
	}
	if err != nil {
		err = fmt.Errorf("without the patch: %w\n%s", err, out)
	}
	b.healthy[key] = err
	return err
}

func (b *bench) copyTree() error {
	files, err := worktree.Files(b.root)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(b.tree()); err != nil {
		return err
	}
	for _, name := range files {
		if err := copyFile(filepath.Join(b.root, name), filepath.Join(b.tree(), name)); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if info.Mode()&os.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, info.Mode().Perm())
}

func (b *bench) apply(p patch) (string, error) {
	file, err := filepath.Abs(p.File)
	if err != nil {
		return "", err
	}
	cmd := exec.Command("git", "apply", "-C1", "--recount", file)
	cmd.Dir = b.tree()
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+b.dir) // no repository around the copy is meant
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// compile makes the test program of a folder, unless it is there already.
func (b *bench) compile(of programs, p patch, r run) (bin, output string, err error) {
	key := fmt.Sprint(r.Dir, p.Flags, p.Env)
	if bin := of.made[key]; bin != "" {
		return bin, "", nil
	}
	bin = filepath.Join(of.dir, fmt.Sprintf("%d.test", len(of.made)))
	args := append([]string{"test", "-c", "-o", bin}, p.Flags...)
	cmd := exec.Command("go", append(args, ".")...)
	cmd.Dir = filepath.Join(b.tree(), r.Dir)
	cmd.Env = append(os.Environ(), p.Env...)
	out, err := cmd.CombinedOutput()
	if err == nil {
		if _, missing := os.Stat(bin); missing != nil {
			err = fmt.Errorf("%s has no tests", r.Dir)
		}
	}
	if err == nil {
		of.made[key] = bin
	}
	return bin, string(out), err
}

func (b *bench) test(p patch, r run, bin string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), p.Timeout+30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "-test.run="+r.Expr, "-test.v", "-test.count=1", "-test.timeout="+p.Timeout.String())
	cmd.Dir = filepath.Join(b.tree(), r.Dir)
	cmd.Env = append(os.Environ(), p.Env...)
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

var failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// reason names the failed test, or the kind of the failure, for the table.
func reason(out string, err error) string {
	if m := failedTest.FindAllStringSubmatch(out, -1); len(m) == 1 {
		return m[0][1]
	} else if len(m) > 1 {
		return fmt.Sprintf("%s and %d more", m[0][1], len(m)-1)
	}
	for _, sign := range []string{"panic: test timed out", "panic:", "fatal error:", "DATA RACE", "goleak:"} {
		if strings.Contains(out, sign) {
			return strings.TrimSuffix(sign, ":")
		}
	}
	return err.Error()
}
