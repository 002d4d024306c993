// Command hogexport looks after PostHog's batch exports from a shell: it lists them, shows which intervals are not
// exported, repairs gaps without harm, watches for Prometheus, and downloads rows.
//
// Install it with
//
//	go install github.com/hogapi/hogapi/cmd/hogexport@latest
//
// and see hogexport --help.
package main

import (
	"context"
	"os"
	_ "time/tzdata" // for daily and weekly exports where the system has no time zones, as in an image without files

	"github.com/hogapi/hogapi/cmd/hogexport/internal/cli"
)

func main() {
	os.Exit(cli.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}
