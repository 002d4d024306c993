// Command rehearse plays a release on this machine: it packs the work tree as module versions into a file-system module
// proxy and shows that a program outside can `go get`, build and run it. With -nested it does the same for the nested
// modules that hold an importable package.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hogapi/hogapi/internal/tools/worktree"
)

const (
	rootModule = "github.com/hogapi/hogapi"
	version    = "v0.1.0-rehearsal"
)

func main() {
	nested := flag.Bool("nested", false, "also the nested modules with an importable package")
	flag.Parse()
	if err := rehearse(".", *nested); err != nil {
		fmt.Fprintln(os.Stderr, "rehearse:", err)
		os.Exit(1)
	}
}

func rehearse(root string, nested bool) error {
	dir, err := os.MkdirTemp("", "rehearse-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	files, err := worktree.Files(root)
	if err != nil {
		return err
	}
	modules := modulesOf(files)
	o, err := newOutside(dir)
	if err != nil {
		return err
	}
	for _, m := range modules {
		importable, err := m.importable(root)
		if err != nil {
			return err
		}
		if m.dir != "." && (!nested || len(importable) == 0) {
			continue
		}
		size, err := publish(o.proxy, root, m, files, modules)
		if err != nil {
			return fmt.Errorf("%s: %w", m.path(), err)
		}
		fmt.Printf("%s@%s packed, %d KiB\n", m.path(), version, size/1024)
		if err := o.use(m, importable); err != nil {
			return err
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

// importable lists the packages of the module that other modules can import.
func (m module) importable(root string) ([]string, error) {
	cmd := exec.Command("go", "list", "-f", `{{if ne .Name "main"}}{{if .GoFiles}}{{.ImportPath}}{{end}}{{end}}`, "./...")
	cmd.Dir = filepath.Join(root, m.dir)
	out, err := output(cmd)
	if err != nil {
		return nil, err
	}
	paths := strings.Fields(out)
	return slices.DeleteFunc(paths, func(p string) bool {
		return strings.Contains(p+"/", "/internal/")
	}), nil
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

// output runs a command and returns what it prints, with its complaints in the error.
func output(cmd *exec.Cmd) (string, error) {
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return string(out), errors.Join(fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err), errors.New(errs.String()+string(out)))
	}
	return string(out), nil
}
