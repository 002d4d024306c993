package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/destination"
)

type create struct {
	*app

	changes

	from, name, integration string
	secrets                 []string
}

func newCreateCommand(a *app) *cobra.Command {
	c := &create{app: a}
	cmd := &cobra.Command{
		Use: "create", Short: "Create a paused export from a YAML file", Args: cobra.NoArgs,
		Long: `create makes a batch export from a file written by hogexport pull, also in
another project or region. The export is paused: check it, then run hogexport
unpause. create never changes an existing export.

The service never returns secrets, so the file names an integration of the
project, or has a blank for each secret. --secret fills a blank with the value of
an environment variable. The file can also name the variable:

  destination:
    type: HTTP
    credentials:
      token: PROJECT_KEY`,
		Example: "  hogexport create --from exports/events-to-the-lake.yaml --project-id 2\n  hogexport create --from exports/to-eu.yaml --secret token=PROJECT_KEY",
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&c.from, "from", "", "the `FILE` with the export")
	f.StringVar(&c.name, "name", "", "another `NAME` for the export")
	f.StringVar(&c.integration, "integration", "", "the `INTEGRATION` of the project with the credentials, by name or number")
	f.StringArrayVar(&c.secrets, "secret", nil, "`KEY=VARIABLE`: the environment variable that has a secret of the destination; can be repeated")
	c.bind(cmd)
	_ = cmd.MarkFlagRequired("from") // there is such a flag
	shell.WithoutVariable(cmd, "from")
	return cmd
}

func (c *create) run(ctx context.Context) error {
	d, err := readDefinition(c.from)
	if err != nil {
		return err
	}
	if c.name != "" {
		d.Name = c.name
	}
	if c.integration != "" {
		d.Destination.Integration = c.integration
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	request, err := c.request(ctx, client, d)
	if err != nil {
		return err
	}
	if err := c.checkOthers(ctx, client, &hogapi.BatchExport{Name: d.Name, Destination: request.Destination}); err != nil {
		return err
	}
	deed := fmt.Sprintf("create the paused export %s (%s of %s to %s) %s", term.Line(d.Name), d.Interval, d.Model, d.Destination.Type, c.inProject())
	if isAgreed, err := c.agreed(ctx, c.changes, deed); !isAgreed {
		return err
	}
	made, err := client.BatchExports.Create(ctx, request)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(c.Out).Encode(made)
	}
	fmt.Fprintf(c.Out, "created %s, paused: %s\n", made.ID, term.Line(made.Name))
	return nil
}

// checkOthers refuses a name that the project has, and warns of another export that writes to the same place.
func (c *create) checkOthers(ctx context.Context, client *hogapi.Client, made *hogapi.BatchExport) error {
	all, err := c.exports(ctx, client, nil)
	if err != nil {
		return err
	}
	for i := range all {
		if all[i].Name == made.Name {
			return shell.UsageError(fmt.Sprintf("the project has an export %q already, which create does not change", made.Name), "give --name NAME, or change the export in PostHog")
		}
		if to := target(&all[i]); to == target(made) && strings.Contains(to, " ") {
			c.Warn(fullName(&all[i]) + " writes to the same place: two exports replace each other's objects there, or write rows twice. Change the file before you unpause the new one")
		}
	}
	return nil
}

func readDefinition(path string) (d definition, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return d, shell.UsageError(fmt.Sprintf("%s: the file cannot be read: %v", path, shell.Cause(err)), "give a file written by hogexport pull")
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&d); err != nil {
		return d, shell.UsageError(fmt.Sprintf("%s: %v", path, err), "give a file written by hogexport pull")
	}
	if d.Name == "" || d.Interval == "" || d.Destination.Type == "" {
		return d, shell.UsageError(path+": name, interval or destination.type is missing", "give a file written by hogexport pull")
	}
	return d, nil
}

const oldNames = "legacy_parquet_extension"

// request returns the request for an export, with its credentials.
func (c *create) request(ctx context.Context, client *hogapi.Client, d definition) (r hogapi.BatchExportRequest, err error) {
	r = hogapi.BatchExportRequest{
		Name: d.Name, Model: hogapi.Model(d.Model), Interval: hogapi.Interval(d.Interval), Paused: true, HogQLQuery: d.HogQL,
		Timezone: d.Timezone, OffsetDay: d.OffsetDay, OffsetHour: d.OffsetHour,
		PrimaryKey: d.PrimaryKey, VersionKey: d.VersionKey, IncrementalMode: hogapi.IncrementalMode(d.Incremental),
	}
	for _, bound := range []struct {
		text string
		to   *time.Time
	}{{d.StartAt, &r.StartAt}, {d.EndAt, &r.EndAt}} {
		if bound.text == "" {
			continue
		}
		if *bound.to, err = time.Parse(time.RFC3339, bound.text); err != nil {
			return r, shell.UsageError(fmt.Sprintf("%s: the time %q cannot be read", c.from, bound.text), "write it as 2026-11-01T00:00:00Z")
		}
	}
	if filters, isList := d.Filters.([]any); d.Filters != nil && (!isList || len(filters) > 0) { // an empty list is refused for other models than events
		if r.Filters, err = json.Marshal(d.Filters); err != nil {
			return r, shell.UsageError(fmt.Sprintf("%s: filters: %v", c.from, err), "give a file written by hogexport pull")
		}
	}
	if d.Modifiers != nil {
		if r.HogQLModifiers, err = json.Marshal(d.Modifiers); err != nil {
			return r, shell.UsageError(fmt.Sprintf("%s: hogql_modifiers: %v", c.from, err), "give a file written by hogexport pull")
		}
	}
	if d.Destination.Config == nil {
		d.Destination.Config = map[string]any{}
	}
	if err := cmp.Or(fillIntegrations(ctx, client, &d.Destination), c.fillSecrets(&d.Destination)); err != nil {
		return r, err
	}
	config := d.Destination.Config
	if config[oldNames] == true {
		delete(config, oldNames)
		c.Warn(c.from + ": " + oldNames + " is left out: only existing exports can keep the codec in the names of Parquet files; files of a new export end in .parquet")
	}
	raw, err := json.Marshal(config)
	if err != nil {
		return r, shell.UsageError(fmt.Sprintf("%s: destination.config: %v", c.from, err), "give a file written by hogexport pull")
	}
	r.Destination = hogapi.Destination{Type: destination.Type(d.Destination.Type), Config: destination.Raw(raw)}
	if d.Destination.Integration != "" {
		id, err := integrationID(ctx, client, d.Destination.Integration)
		if err != nil {
			return r, err
		}
		r.Destination.Integration = hogapi.Set(id)
	}
	return r, nil
}

// integrationID returns the number of the project's integration of a name.
func integrationID(ctx context.Context, client *hogapi.Client, name string) (int64, error) {
	if id, err := strconv.ParseInt(name, 10, 64); err == nil {
		return id, nil
	}
	var found []int64
	for x, err := range client.Integrations.All(ctx, nil) {
		if err != nil {
			return 0, err
		}
		if x.DisplayName == name {
			found = append(found, x.ID)
		}
	}
	if len(found) != 1 {
		return 0, shell.UsageError(fmt.Sprintf("the project has %s %q", plural(len(found), "integration"), name),
			"give --integration NUMBER, or create one in PostHog: the file does not contain credentials")
	}
	return found[0], nil
}
