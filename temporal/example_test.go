package hogtemporal_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	"go.temporal.io/sdk/client"

	hogtemporal "github.com/hogapi/hogapi/temporal"
)

// A worker. Any number of them can run, on any number of machines. The keys of PostHog are in its environment.
func ExampleNewWorker() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	c, err := client.Dial(client.Options{HostPort: "temporal.internal:7233"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	w, err := hogtemporal.NewWorker(c, &hogtemporal.WorkerOptions{Store: hogtemporal.FolderStore("/mnt/imports/store")})
	if err != nil {
		log.Fatal(err)
	}
	if err := w.Run(ctx); err != nil {
		log.Fatal(err)
	}
}

// An import of two files, oldest events first.
func ExampleStart() {
	ctx := context.Background()
	c, err := client.Dial(client.Options{HostPort: "temporal.internal:7233"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	err = hogtemporal.Start(ctx, c, hogtemporal.ImportParams{
		ID:   "mixpanel-2024",
		Rate: 3000,
		Shards: []hogtemporal.Shard{
			{Path: "/mnt/imports/2024-01.json.gz", Format: "mixpanel"},
			{Path: "/mnt/imports/2024-02.json.gz", Format: "mixpanel"},
		},
	})
	if err != nil {
		log.Fatal(err) // hogtemporal.ErrStarted: it is running or complete
	}
	status, err := hogtemporal.GetStatus(ctx, c, "mixpanel-2024")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(status)
}
