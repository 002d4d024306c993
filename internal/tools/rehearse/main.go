// Command rehearse rehearses a release on this machine: it commits the work tree to a repository of its own, with
// the tags of a release, and shows that another program can `go get`, build and run it, and that its commands can be
// installed. With -nested it does the same for the nested modules that hold an importable package or a command.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hogapi/hogapi/internal/tools/worktree"
)

const rootModule = "github.com/hogapi/hogapi"

// version is the next release's: the one that the modules require of each other, as go.work says.
var version = "v0.0.0"

var required = regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(rootModule) + ` (v\S+) => \./$`)

func main() {
	nested := flag.Bool("nested", false, "also the nested modules with an importable package or a command")
	write := flag.Bool("write", false, "tidy the nested modules, instead of failing when one is not tidy")
	flag.Parse()
	if err := rehearse(".", *nested, *write); err != nil {
		fmt.Fprintln(os.Stderr, "rehearse:", err)
		os.Exit(1)
	}
}

func rehearse(root string, nested, write bool) error {
	dir, err := os.MkdirTemp("", "rehearse-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	work, err := os.ReadFile(filepath.Join(root, "go.work"))
	if err != nil {
		return err
	}
	found := required.FindSubmatch(work)
	if found == nil {
		return fmt.Errorf("go.work has no line \"%s vX.Y.Z => ./\"", rootModule)
	}
	version = string(found[1])
	files, err := worktree.Files(root)
	if err != nil {
		return err
	}
	released, err := releasedOf(root, files, nested)
	if err != nil {
		return err
	}
	repository := filepath.Join(dir, "repository")
	if err := publish(repository, root, released); err != nil {
		return err
	}
	o, err := newOutside(dir, repository)
	if err != nil {
		return err
	}
	o.write = write
	for _, r := range released {
		if err := o.use(r); err != nil {
			return err
		}
		if r.dir != "." {
			if err := o.tidy(root, r); err != nil {
				return err
			}
		}
		if nested && len(r.packages) > 0 {
			if err := o.compare(r); err != nil {
				return err
			}
		}
	}
	return o.runProgram(filepath.Join(root, "internal/tools/rehearse/testdata/outside.go.txt"))
}

// publish commits the work tree to a new repository, and tags a version of each module.
func publish(repository, root string, released []release) error {
	if err := worktree.Store(root, repository); err != nil {
		return err
	}
	git := func(args ...string) error {
		_, err := output(exec.Command("git", append([]string{
			"-C", root, "--git-dir", repository, "--work-tree", ".", "-c", "user.name=rehearse", "-c", "user.email=rehearse@example.test",
			"-c", "commit.gpgSign=false", "-c", "core.hooksPath=" + os.DevNull,
		}, args...)...))
		return err
	}
	if err := git("commit", "-q", "-m", "The release"); err != nil {
		return err
	}
	for _, r := range released {
		if err := git("tag", path.Join(r.dir, version)); err != nil {
			return err
		}
	}
	return nil
}

// release is a module, by its folder, with its packages and commands that others can use.
type release struct {
	dir                string   // "." is the root
	packages, commands []string // import paths
}

func (r release) path() string { return path.Join(rootModule, r.dir) }

// releasedOf chooses the modules of a release: the root and, where they are asked for, the nested ones that others can use.
func releasedOf(root string, files []string, nested bool) (released []release, err error) {
	for _, f := range files {
		dir := path.Dir(f)
		if path.Base(f) != "go.mod" || strings.Contains(f, "testdata/") || dir != "." && (!nested || slices.Contains(own, path.Base(dir))) {
			continue
		}
		r := release{dir: dir}
		if err := r.list(root); err != nil {
			return nil, err
		}
		if dir == "." || len(r.packages)+len(r.commands) > 0 {
			released = append(released, r)
		}
	}
	slices.SortFunc(released, func(a, b release) int { return strings.Compare(a.dir, b.dir) }) // "." first
	return released, nil
}

// own are the names of modules that hold tests, measurements or programs to copy: nobody imports them.
var own = []string{"benchmarks", "browser", "conformance", "examples", "faults", "peer", "proof", "queue", "realdb", "recipes"}

// list finds the packages of the module that other modules can import, and its commands: programs in a folder cmd.
func (r *release) list(root string) error {
	cmd := exec.Command("go", "list", "-f", `{{if .GoFiles}}{{.Name}} {{.ImportPath}}{{end}}`, "./...")
	cmd.Dir = filepath.Join(root, r.dir)
	out, err := output(cmd)
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		name, importPath, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case importPath == "" || strings.Contains(importPath+"/", "/internal/"):
		case name != "main":
			r.packages = append(r.packages, importPath)
		case strings.Contains(importPath, "/cmd/"):
			r.commands = append(r.commands, importPath)
		}
	}
	return nil
}

// output runs a command and returns its standard output. An error has all that the command printed.
func output(cmd *exec.Cmd) (string, error) {
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return string(out), errors.Join(fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err), errors.New(errs.String()+string(out)))
	}
	return string(out), nil
}
