// Command plain imports files as one process does, for comparison: plain CHECKPOINT FILE… Its settings come from the environment.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/hogapi/hogapi"
)

func main() {
	client, err := hogapi.NewClient(hogapi.FromEnv())
	if err == nil {
		_, err = client.Import(context.Background(), hogapi.JSONLinesFile(os.Args[2:]...), &hogapi.ImportOptions{
			ID: "plain", Rate: hogapi.Unpaced, Checkpoint: hogapi.FileCheckpoint(os.Args[1]),
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "plain:", err)
		os.Exit(1)
	}
}
