package main

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/hogapi/hogapi/internal/tools/worktree"
)

// outside is a module of somebody else, who reads our modules from a repository on this machine and all others from the usual places.
type outside struct {
	dir, bin, tree string
	env            []string
	imports        []string
	write          bool // the tidied go.mod and go.sum into the tree
}

func newOutside(dir, repository string) (*outside, error) {
	o := &outside{dir: filepath.Join(dir, "outside"), bin: filepath.Join(dir, "bin"), tree: filepath.Join(dir, "tree")}
	if err := worktree.Restore(repository, o.tree); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return nil, err
	}
	out, err := output(exec.Command("go", "env", "GOPROXY", "GOMODCACHE"))
	if err != nil {
		return nil, err
	}
	usual, cache, _ := strings.Cut(strings.TrimSpace(out), "\n")
	// Third-party modules come from the local download cache, if they can. The rehearsed version goes into
	// a cache of its own, since a version in the real one would never be read again. With -trimpath, the build cache serves them there.
	o.env = append(os.Environ(),
		"GOPROXY=file://"+filepath.ToSlash(cache)+"/cache/download,"+usual, "GOMODCACHE="+filepath.Join(dir, "cache"), "GOWORK=off", "GOBIN="+o.bin,
		"GOFLAGS=-mod=mod -modcacherw -trimpath", "GOPRIVATE="+rootModule, "GONOPROXY=", "GONOSUMDB=",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url.file://"+filepath.ToSlash(repository)+".insteadOf", "GIT_CONFIG_VALUE_0=https://"+rootModule)
	return o, os.WriteFile(filepath.Join(o.dir, "go.mod"), []byte("module example.test/outside\n\ngo 1.26.0\n"), 0o644)
}

// use gets a module, builds every package of it that can be imported, and installs and starts its commands.
func (o *outside) use(r release) error {
	if len(r.packages) > 0 {
		if err := o.build(r); err != nil {
			return err
		}
	}
	for _, command := range r.commands {
		if _, err := o.run("go", "install", command+"@"+version); err != nil {
			return err
		}
		if _, err := o.run(filepath.Join(o.bin, path.Base(command)), "--help"); err != nil {
			return err
		}
		fmt.Printf("go install %s@%s: installed, prints its help\n", command, version)
	}
	return nil
}

func (o *outside) build(r release) error {
	o.imports = append(o.imports, r.packages...)
	var program strings.Builder
	program.WriteString("package main\n\nimport (\n")
	for _, p := range o.imports {
		fmt.Fprintf(&program, "\t_ %q\n", p)
	}
	program.WriteString(")\n\nfunc main() {}\n")
	if err := os.WriteFile(filepath.Join(o.dir, "main.go"), []byte(program.String()), 0o644); err != nil {
		return err
	}
	for _, args := range [][]string{{"get", r.path() + "@" + version}, {"mod", "tidy"}, {"build", "-o", os.DevNull, "."}} {
		if _, err := o.run("go", args...); err != nil {
			return err
		}
	}
	fmt.Printf("go get %s@%s: builds %s\n", r.path(), version, strings.Join(r.packages, " "))
	return nil
}

// tidy builds a copy of a nested module, alone, and checks that go mod tidy leaves its go.mod and its sums of other projects as they are.
func (o *outside) tidy(root string, r release) error {
	alone := &outside{dir: filepath.Join(o.tree, r.dir), env: o.env}
	before, err := alone.sums()
	if err != nil {
		return err
	}
	for _, args := range [][]string{{"mod", "tidy"}, {"build", "./..."}} {
		if _, err := alone.run("go", args...); err != nil {
			return err
		}
	}
	after, err := alone.sums()
	if err != nil {
		return err
	}
	if before != after && !o.write {
		return fmt.Errorf("%s: go mod tidy changes go.mod or go.sum: run .ci/rehearse-release -nested -write", r.path())
	}
	if before != after {
		for i, text := range after {
			if err := os.WriteFile(filepath.Join(root, r.dir, sumFiles[i]), []byte(text), 0o644); err != nil {
				return err
			}
		}
	}
	fmt.Printf("%s: tidy, builds alone\n", r.path())
	return nil
}

// gorelease is the program with which .ci/api compares a module with its latest version.
const gorelease = "golang.org/x/exp/cmd/gorelease@v0.0.0-20261113113407-e3970619a1a4"

// compare compares a module with its release, as a later commit does.
func (o *outside) compare(r release) error {
	alone := &outside{dir: filepath.Join(o.tree, r.dir), env: append(o.env, "GOFLAGS=-modcacherw -trimpath")}
	out, err := alone.run("go", "run", gorelease, "-base="+version)
	if err != nil {
		return err
	}
	fmt.Printf("gorelease of %s: %s\n", r.path(), strings.Join(strings.Fields(out), " "))
	return nil
}

// sums returns go.mod and go.sum, without the sums of this project's own modules, which no commit can have.
func (o *outside) sums() (texts [2]string, err error) {
	for i, name := range sumFiles {
		data, err := os.ReadFile(filepath.Join(o.dir, name))
		if err != nil {
			return texts, err
		}
		for line := range strings.Lines(string(data)) {
			if name == "go.mod" || !strings.HasPrefix(line, rootModule) {
				texts[i] += line
			}
		}
	}
	return texts, nil
}

var sumFiles = [2]string{"go.mod", "go.sum"}

// runProgram builds and runs a real program in place of the list of imports.
func (o *outside) runProgram(source string) error {
	text, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.dir, "main.go"), text, 0o644); err != nil {
		return err
	}
	out, err := o.run("go", "run", ".")
	if err != nil {
		return err
	}
	fmt.Print("the program outside says: ", out)
	return nil
}

func (o *outside) run(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = o.dir, o.env
	return output(cmd)
}
