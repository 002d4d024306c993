package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	hogtemporal "github.com/hogapi/hogapi/temporal"
)

func (t *tool) worker() *cobra.Command {
	var store, identity string
	var imports int
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Work for imports until Ctrl-C or SIGTERM, which puts the work away for another worker",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := t.dial(cmd.Context(), identity)
			if err != nil {
				return err
			}
			defer c.Close()
			options := &hogtemporal.WorkerOptions{Identity: identity, Imports: imports}
			if store != "" {
				options.Store = hogtemporal.FolderStore(store)
			}
			w, err := hogtemporal.NewWorker(c, options)
			if err != nil {
				return fmt.Errorf("%w\nkeys, project and region come from the environment: POSTHOG_PROJECT_API_KEY, POSTHOG_REGION or POSTHOG_HOST, "+
					"and to verify POSTHOG_PERSONAL_API_KEY and POSTHOG_PROJECT_ID", err)
			}
			fmt.Fprintf(t.out, "hogworker: %s works for imports of %s, namespace %s\n", identity, t.address, t.namespace)
			return w.Run(cmd.Context())
		},
	}
	host, _ := os.Hostname() // empty if the system knows no name
	cmd.Flags().StringVar(&store, "store", "", "a folder that all workers share, for states and rejects; without it the first reject stops an import")
	cmd.Flags().StringVar(&identity, "identity", fmt.Sprintf("hogworker-%s-%d", host, os.Getpid()), "name of this worker")
	cmd.Flags().IntVar(&imports, "imports", 2, "how many imports it works for at the same time")
	return cmd
}
