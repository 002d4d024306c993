// Command plain imports files as one process does, for comparison: plain CHECKPOINT FILE… Its settings come from the environment.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
)

func main() {
	client, err := hogapi.NewClient(hogapi.FromEnv())
	if err == nil {
		_, err = history.Import(context.Background(), client, history.JSONLines(os.Args[2:]...), &history.Options{
			ID: "plain", Rate: hogapi.RateUnlimited, Checkpoint: history.CheckpointFile(os.Args[1]),
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "plain:", err)
		os.Exit(1)
	}
}
