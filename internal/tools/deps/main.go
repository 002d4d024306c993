// Command deps checks which third-party modules a user of the root package and of hogapitest links, on every platform
// the package is built for, and how many modules the graph holds. Each module is one that its users must trust.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

const (
	thisModule = "github.com/hogapi/hogapi"
	maxGraph   = 25
)

// linked may be compiled into a user's program. Why each is there stands in docs/decisions.md.
var linked = []string{
	"github.com/google/uuid",
	"github.com/hashicorp/go-cleanhttp",
	"github.com/hashicorp/go-retryablehttp",
	"github.com/klauspost/compress",
	"golang.org/x/time",
}

// fakeImports are the packages that hogapitest may import itself, in addition to the standard library and
// this module.
var fakeImports = []string{"github.com/google/uuid", "github.com/klauspost/compress/zstd"}

var platforms = []string{"linux", "darwin", "windows"}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "deps:", err)
		os.Exit(1)
	}
}

func run() error {
	var problems []error
	for _, pkg := range []string{".", "./hogapitest"} {
		for _, goos := range platforms {
			mods, err := list(goos, "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", pkg)
			if err != nil {
				return err
			}
			fmt.Printf("%s on %s links %d: %s\n", pkg, goos, len(mods), strings.Join(mods, " "))
			problems = append(problems, refuse(pkg+" on "+goos+" links", mods, linked))
		}
	}
	imports, err := list("", "-f", `{{join .Imports "\n"}}`, "./hogapitest")
	if err != nil {
		return err
	}
	imports = slices.DeleteFunc(imports, func(p string) bool { return isStd(p) || isOurs(p) })
	problems = append(problems, refuse("hogapitest imports", imports, fakeImports))
	graph, err := list("", "-m", "all")
	if err != nil {
		return err
	}
	fmt.Printf("module graph: %d of at most %d\n", len(graph)-1, maxGraph)
	if len(graph)-1 > maxGraph {
		problems = append(problems, fmt.Errorf("the module graph holds %d modules, allowed are %d", len(graph)-1, maxGraph))
	}
	return errors.Join(problems...)
}

// refuse returns an error that names the entries of got that are not allowed. Fewer than allowed is fine.
func refuse(what string, got, allowed []string) error {
	var bad []string
	for _, g := range got {
		if !slices.Contains(allowed, g) {
			bad = append(bad, g)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return fmt.Errorf("%s %s; allowed: %s (a new one needs a reason in docs/decisions.md and a line in internal/tools/deps)",
		what, strings.Join(bad, ", "), strings.Join(allowed, ", "))
}

func isStd(path string) bool  { return !strings.Contains(strings.SplitN(path, "/", 2)[0], ".") }
func isOurs(path string) bool { return path == thisModule || strings.HasPrefix(path, thisModule+"/") }

func list(goos string, args ...string) ([]string, error) {
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Env = append(os.Environ(), "GOWORK=off") // as a user has it
	if goos != "" {
		cmd.Env = append(cmd.Env, "GOOS="+goos, "CGO_ENABLED=0")
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", strings.Join(args, " "), err)
	}
	lines := strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' })
	slices.Sort(lines)
	return slices.Compact(lines), nil
}
