// Command engine runs a real Temporal server with its data in one SQLite file, for the tests and the demo.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/hogapi/hogapi/temporal/proof/internal/engine"
)

func main() {
	port := flag.Int("port", 7233, "port on 127.0.0.1")
	database := flag.String("db", "temporal.sqlite", "file of the database")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := engine.Run(ctx, *port, *database); err != nil {
		fmt.Fprintln(os.Stderr, "engine:", err)
		os.Exit(1)
	}
}
