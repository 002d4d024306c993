// Command hogimport moves the history of another analytics tool to PostHog, without a program of your own: it
// downloads the history, checks the files, imports them resumably, and verifies that all events have arrived.
//
// Install it with
//
//	go install github.com/hogapi/hogapi/cmd/hogimport@latest
//
// and see hogimport --help.
package main

import (
	"context"
	"os"
	_ "time/tzdata" // for --zone where the system has no time zones, as in an image without files

	"github.com/hogapi/hogapi/cmd/hogimport/internal/cli"
)

func main() {
	os.Exit(cli.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}
