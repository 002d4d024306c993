package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	hogtemporal "github.com/hogapi/hogapi/temporal"
)

func (t *tool) start() *cobra.Command {
	p := hogtemporal.ImportParams{}
	var format, options string
	cmd := &cobra.Command{
		Use:   "start --id ID FILE…",
		Short: "Start an import of files, in the order given: oldest events first",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			for _, file := range files {
				path, err := where(file)
				if err != nil {
					return err
				}
				p.Shards = append(p.Shards, hogtemporal.Shard{Path: path, Format: format, Options: json.RawMessage(options)})
			}
			return t.call(cmd, func(ctx context.Context, c client.Client) error {
				if err := hogtemporal.Start(ctx, c, p); err != nil {
					return err
				}
				fmt.Fprintf(t.out, "import %q: started, %d shards; follow it with: hogworker follow %[1]s\n", p.ID, len(p.Shards))
				return nil
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.ID, "id", "", "names the import for good (required)")
	f.StringVar(&format, "format", "jsonlines", fmt.Sprintf("of the files: %v", hogtemporal.Formats()))
	f.StringVar(&options, "format-options", "", "of the format, as JSON")
	f.IntVar(&p.Rate, "rate", 1000, "most events a second; -1 for no limit")
	f.Float64Var(&p.MaxRejectShare, "max-reject-share", 0.01, "largest share of rejects in a shard; -1 for no limit")
	f.BoolVar(&p.NoCheck, "no-check", false, "do not read all shards before the first event is sent")
	f.BoolVar(&p.NoVerify, "no-verify", false, "do not compare with the project at the end")
	f.DurationVar(&p.Heartbeat, "heartbeat", 30*time.Second, "how long a worker may be silent before another one takes over")
	_ = cmd.MarkFlagRequired("id")
	return cmd
}

// where returns the name of a file for all workers: an absolute path, or an unchanged URL.
func where(file string) (string, error) {
	if (hogtemporal.Shard{Path: file}).IsURL() {
		return file, nil
	}
	return filepath.Abs(file)
}
