// Command fuzz finds every fuzz target of the repository, nested modules included, and gives each the same share of a time budget.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// minTime is the least that a target is worth: below it the engine has hardly read its corpus.
const minTime = 2 * time.Second

type target struct{ dir, name string }

func main() {
	each := flag.Duration("each", 10*time.Second, "the most time for one target")
	total := flag.Duration("total", 3*time.Minute, "the time for all targets together, building left out")
	only := flag.String("only", "", "regular expression over target names")
	list := flag.Bool("list", false, "print the targets and stop")
	flag.Parse()
	if err := run(os.Stdout, *each, *total, *only, *list); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, each, total time.Duration, only string, list bool) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	targets, err := find(".")
	if err != nil {
		return err
	}
	targets = slices.DeleteFunc(targets, func(t target) bool { return !pattern.MatchString(t.name) })
	share := share(each, total, len(targets))
	fmt.Fprintf(w, "%d fuzz targets, %v each\n", len(targets), share)
	var failed []error
	for _, t := range targets {
		fmt.Fprintf(w, "%s in %s\n", t.name, t.dir)
		if list {
			continue
		}
		if err := t.fuzz(w, share); err != nil {
			failed = append(failed, fmt.Errorf("%s in %s: %w", t.name, t.dir, err))
		}
	}
	return errors.Join(failed...)
}

// share is what one of n targets gets of the total: at most each, at least minTime.
func share(each, total time.Duration, n int) time.Duration {
	return max(min(each, total/time.Duration(max(n, 1))), minTime).Round(100 * time.Millisecond)
}

// find reads the test files below root for declarations of fuzz targets.
func find(root string) ([]target, error) {
	var targets []target
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		names, err := declared(path)
		for _, name := range names {
			targets = append(targets, target{filepath.Dir(path), name})
		}
		return err
	})
	return targets, err
}

// declared lists the fuzz targets of one test file.
func declared(path string) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
			names = append(names, f.Name.Name)
		}
	}
	return names, nil
}

func (t target) fuzz(w io.Writer, d time.Duration) error {
	for try := 1; ; try++ {
		out, err := t.run(w, d)
		if err == nil {
			return nil
		}
		if try == 1 && engineOverran(out) {
			fmt.Fprintln(w, "  the engine overran its own time limit without a failing input; once more")
			continue
		}
		return err
	}
}

func (t target) run(w io.Writer, d time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d+5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+t.name+"$",
		"-fuzztime", d.String(), "-fuzzminimizetime", "5s", ".")
	cmd.Dir = t.dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	text := out.String()
	if err == nil && !strings.Contains(text, "fuzz: elapsed") {
		err = errors.New("nothing was fuzzed")
	}
	if err != nil {
		fmt.Fprint(w, text)
	} else {
		fmt.Fprintln(w, "  "+lastProgress(text))
	}
	return text, err
}

// engineOverran tells the engine's known habit of reporting its own deadline as a failure of the target.
func engineOverran(out string) bool {
	return strings.Contains(out, "context deadline exceeded") && !strings.Contains(out, "Failing input written") && !strings.Contains(out, "panic:")
}

func lastProgress(out string) string {
	last := ""
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "fuzz: elapsed") {
			last = strings.TrimSpace(line)
		}
	}
	return last
}
