// Command rehearse rehearses a release on this machine: it packs the work tree as module versions into a
// file-system module proxy, and shows that another program can `go get`, build and run it, and that its
// commands can be installed. With -nested it does the same for the nested modules that hold an importable
// package or a command.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
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
	modules := modulesOf(files)
	o, err := newOutside(dir)
	if err != nil {
		return err
	}
	o.write = write
	released, err := releasedOf(root, modules, nested)
	if err != nil {
		return err
	}
	for _, r := range released { // all first: one may need another
		size, err := publish(o.proxy, root, r.module, files, modules)
		if err != nil {
			return fmt.Errorf("%s: %w", r.path(), err)
		}
		fmt.Printf("%s@%s packed, %d KiB\n", r.path(), version, size/1024)
	}
	for _, r := range released {
		if err := o.use(r); err != nil {
			return err
		}
		if r.dir != "." {
			if err := o.tidy(root, r.module, files, modules); err != nil {
				return err
			}
		}
	}
	return o.runProgram(filepath.Join(root, "internal/tools/rehearse/testdata/outside.go.txt"))
}

// module is a folder with a go.mod; "." is the root.
type module struct{ dir string }

func (m module) path() string {
	if m.dir == "." {
		return rootModule
	}
	return rootModule + "/" + m.dir
}

// release is a module with its packages and commands that others can use.
type release struct {
	module

	packages, commands []string // import paths
}

// releasedOf chooses the modules of a release: the root and, where they are asked for, the nested ones that others can use.
func releasedOf(root string, modules []module, nested bool) (released []release, err error) {
	for _, m := range modules {
		if m.dir != "." && (!nested || slices.Contains(own, filepath.Base(m.dir))) {
			continue
		}
		r, err := m.release(root)
		if err != nil {
			return nil, err
		}
		if m.dir == "." || len(r.packages)+len(r.commands) > 0 {
			released = append(released, r)
		}
	}
	return released, nil
}

// own are the names of modules that hold tests, measurements or programs to copy: nobody imports them.
var own = []string{"benchmarks", "browser", "conformance", "examples", "faults", "peer", "proof", "recipes"}

// release lists the packages of the module that other modules can import, and its commands: programs in a folder cmd.
func (m module) release(root string) (release, error) {
	r := release{module: m}
	cmd := exec.Command("go", "list", "-f", `{{if .GoFiles}}{{.Name}} {{.ImportPath}}{{end}}`, "./...")
	cmd.Dir = filepath.Join(root, m.dir)
	out, err := output(cmd)
	if err != nil {
		return r, err
	}
	for line := range strings.Lines(out) {
		name, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case path == "" || strings.Contains(path+"/", "/internal/"):
		case name != "main":
			r.packages = append(r.packages, path)
		case strings.Contains(path, "/cmd/"):
			r.commands = append(r.commands, path)
		}
	}
	return r, nil
}

func modulesOf(files []string) []module {
	var modules []module
	for _, f := range files {
		if filepath.Base(f) == "go.mod" && !strings.Contains(f, "testdata/") {
			modules = append(modules, module{filepath.ToSlash(filepath.Dir(f))})
		}
	}
	slices.SortFunc(modules, func(a, b module) int { return strings.Compare(a.dir, b.dir) }) // "." first
	return modules
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
