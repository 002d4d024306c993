package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
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
	store, tree     string
	healthy, broken string        // folders of test programs, of the untouched copy and of the patched one
	passed          map[run]error // runs that were tried on the untouched copy
}

func newBench(root string) (*bench, error) {
	dir, err := os.MkdirTemp("", "sabotage-")
	if err != nil {
		return nil, err
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	b := &bench{in("store"), in("tree"), in("healthy"), in("broken"), map[run]error{}}
	return b, errors.Join(os.Mkdir(b.healthy, 0o755), worktree.Store(root, b.store))
}

func (b *bench) close() { _ = os.RemoveAll(filepath.Dir(b.store)) }

// verdict is the result of one patch. Only a test that compiled, passed before and fails now counts as
// caught.
type verdict struct{ result, by, output string }

const caught = "caught"

func (b *bench) try(p patch) verdict {
	if err := errors.Join(worktree.Restore(b.store, b.tree), os.RemoveAll(b.broken), os.Mkdir(b.broken, 0o755)); err != nil {
		return verdict{result: "no copy", output: err.Error()}
	}
	for _, r := range p.Runs {
		if err := b.passes(r); err != nil {
			return verdict{result: "already failing", by: r.Expr, output: err.Error()}
		}
	}
	if out, err := b.apply(p); err != nil {
		return verdict{result: "does not apply", output: out}
	}
	var by []string
	for _, r := range p.Runs {
		bin, out, err := b.compile(b.broken, r)
		if err != nil {
			return verdict{result: "does not compile", by: r.Dir, output: out}
		}
		out, err = b.test(r, bin)
		if err == nil {
			return verdict{result: "NOT CAUGHT", by: r.Expr, output: out}
		}
		by = append(by, reason(out, err))
	}
	return verdict{result: caught, by: strings.Join(by, ", ")}
}

// passes checks that the tests pass without the patch. Otherwise their failure with it would prove nothing.
func (b *bench) passes(r run) error {
	if err, known := b.passed[r]; known {
		return err
	}
	bin, out, err := b.compile(b.healthy, r)
	if err == nil {
		out, err = b.test(r, bin)
		if err == nil && !strings.Contains(out, "=== RUN") {
			err = fmt.Errorf("no test of %s matches %s", r.Dir, r.Expr)
		}
	}
	if err != nil {
		err = fmt.Errorf("without the patch: %w\n%s", err, out)
	}
	b.passed[r] = err
	return err
}

func (b *bench) apply(p patch) (string, error) {
	file, err := filepath.Abs(p.File)
	if err != nil {
		return "", err
	}
	cmd := exec.Command("git", "apply", "-C1", "--recount", file)
	cmd.Dir = b.tree
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(b.tree)) // no repository around the copy is meant
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// compile makes the test program of a run's folder, unless it is there already.
func (b *bench) compile(programs string, r run) (bin, output string, err error) {
	bin = filepath.Join(programs, url.PathEscape(r.Dir)+".test")
	if _, err := os.Stat(bin); err == nil {
		return bin, "", nil
	}
	cmd := exec.Command("go", "test", "-c", "-trimpath", "-o", bin, ".")
	cmd.Dir = filepath.Join(b.tree, r.Dir)
	out, err := cmd.CombinedOutput()
	if _, missing := os.Stat(bin); err == nil && missing != nil {
		err = fmt.Errorf("%s has no tests", r.Dir)
	}
	return bin, string(out), err
}

const timeout = time.Minute // for one run of the tests

func (b *bench) test(r run, bin string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout+30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "-test.run="+r.Expr, "-test.v", "-test.count=1", "-test.timeout="+timeout.String())
	cmd.Dir = filepath.Join(b.tree, r.Dir)
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
	for _, sign := range []string{"panic: test timed out", "panic:", "fatal error:", "goleak:"} {
		if strings.Contains(out, sign) {
			return strings.TrimSuffix(sign, ":")
		}
	}
	return err.Error()
}
