// Command hogworker runs imports on Temporal: it works for them, starts them and shows how far they are.
//
//	hogworker worker --store /mnt/shared/imports
//	hogworker start --id mixpanel-2024 --format mixpanel /mnt/shared/2024-*.json.gz
//	hogworker follow mixpanel-2024
//
// Workers read the keys of PostHog from their environment (POSTHOG_PROJECT_API_KEY and others). All commands read the
// address of Temporal from the variables of Temporal's own tools, or from --address and --namespace.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	hogtemporal "github.com/hogapi/hogapi/temporal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(os.Stdout).ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "hogworker:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

type tool struct {
	out                io.Writer
	address, namespace string
}

func command(out io.Writer) *cobra.Command {
	t := &tool{out: out}
	root := &cobra.Command{
		Use:           "hogworker",
		Short:         "Import past events into PostHog with Temporal",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetOut(out)
	flags := root.PersistentFlags()
	flags.StringVar(&t.address, "address", cmp.Or(os.Getenv("TEMPORAL_ADDRESS"), client.DefaultHostPort), "host and port of Temporal")
	flags.StringVar(&t.namespace, "namespace", cmp.Or(os.Getenv("TEMPORAL_NAMESPACE"), client.DefaultNamespace), "of Temporal")
	root.AddCommand(t.worker(), t.start(), t.follow(), t.rate(), t.status(),
		t.ask("pause", "Send nothing more until resume", hogtemporal.Pause, "import %q: pauses within seconds. Continue with: hogworker resume %[1]s\n"),
		t.ask("resume", "Continue an import that is paused or stopped", hogtemporal.Resume, "import %q: resumes\n"),
		t.ask("cancel", "End an import; what was sent stays", hogtemporal.Cancel,
			"import %q: ends; what was sent stays, and a start with the same ID sends it with the same uuids\n"))
	return root
}

func (t *tool) dial(ctx context.Context, identity string) (client.Client, error) {
	options := client.Options{
		HostPort: t.address, Namespace: t.namespace, Identity: identity,
		Logger: log.NewStructuredLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))), //nolint:forbidigo // the SDK's
	}
	if key := os.Getenv("TEMPORAL_API_KEY"); key != "" {
		options.Credentials = client.NewAPIKeyStaticCredentials(key)
	}
	c, err := client.DialContext(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("no Temporal answers at %s (--address and --namespace say where it is): %w", t.address, err)
	}
	return c, nil
}

func (t *tool) call(cmd *cobra.Command, do func(ctx context.Context, c client.Client) error) error {
	c, err := t.dial(cmd.Context(), "")
	if err != nil {
		return err
	}
	defer c.Close()
	return do(cmd.Context(), c)
}
