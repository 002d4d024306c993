// Package proof tests github.com/hogapi/hogapi/temporal on a real Temporal server. Its first build takes some minutes.
package proof

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var engineProgram, workerProgram, plainProgram string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "hogapi-temporal-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	engineProgram, workerProgram, plainProgram = filepath.Join(dir, "demo"), filepath.Join(dir, "hogworker"), filepath.Join(dir, "plain")
	// The engine is built with the settings of go vet, so that it is compiled only once. A worker is static.
	for _, build := range []struct{ module, pkg, to, cgo string }{
		{".", "./cmd/demo", engineProgram, ""},
		{"../../temporal", "./cmd/hogworker", workerProgram, "CGO_ENABLED=0"},
		{".", "./cmd/plain", plainProgram, "CGO_ENABLED=0"},
	} {
		cmd := exec.Command("go", "build", "-C", build.module, "-o", build.to, build.pkg)
		cmd.Env = append(os.Environ(), build.cgo)
		if build.module == "../../temporal" {
			cmd.Env = append(cmd.Env, "GOWORK=")
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n%s", build.pkg, err, out)
			return 1
		}
	}
	return m.Run()
}
