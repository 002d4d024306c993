package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/internal/durable"
)

// definition is a batch export as a file has it: without secrets. Create ignores the id and whether it is paused.
type definition struct {
	ID          string         `yaml:"id,omitempty"`
	Paused      bool           `yaml:"paused"`
	Name        string         `yaml:"name"`
	Model       string         `yaml:"model"`
	Interval    string         `yaml:"interval"`
	Timezone    string         `yaml:"timezone,omitempty"`
	OffsetDay   *int           `yaml:"offset_day,omitempty"`
	OffsetHour  *int           `yaml:"offset_hour,omitempty"`
	StartAt     string         `yaml:"start_at,omitempty"`
	EndAt       string         `yaml:"end_at,omitempty"`
	Filters     any            `yaml:"filters,omitempty"`
	HogQL       string         `yaml:"hogql_query,omitempty"`
	Modifiers   any            `yaml:"hogql_modifiers,omitempty"`
	PrimaryKey  []string       `yaml:"primary_key,omitempty,flow"`
	VersionKey  []string       `yaml:"version_key,omitempty,flow"`
	Incremental string         `yaml:"incremental_mode,omitempty"`
	Destination definitionType `yaml:"destination"`
}

type definitionType struct {
	Type        string            `yaml:"type"`
	Integration string            `yaml:"integration,omitempty"` // its name
	Config      map[string]any    `yaml:"config"`
	Credentials map[string]string `yaml:"credentials,omitempty"` // the environment variable of each secret, or a blank
}

const definitionHead = "# A PostHog batch export, written by hogexport pull, without secrets. hogexport create makes a new export from it.\n"

const blanksHead = "# hogexport create --secret KEY=VARIABLE fills a blank among the credentials: the name of an environment variable that has it.\n"

type pull struct {
	*app

	check, prune, dryRun bool
}

func newPullCommand(a *app) *cobra.Command {
	p := &pull{app: a}
	cmd := &cobra.Command{
		Use: "pull FOLDER", Short: "Write the exports of the project as YAML files, without secrets", Args: cobra.ExactArgs(1),
		Long: `pull writes each batch export of the project as a YAML file into a folder: for a
review, for git, or to make a copy with hogexport create. Secrets are left out;
the service never returns them. It replaces only files that it has written.

Files of deleted exports are kept and listed; --prune removes them.
--check compares and writes nothing: exit code 6 if a file differs.`,
		Example: "  hogexport pull exports\n  hogexport pull exports --check",
		RunE:    func(cmd *cobra.Command, args []string) error { return p.run(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	f.BoolVar(&p.check, "check", false, "write nothing; exit code 6 if a file differs from the project")
	f.BoolVar(&p.prune, "prune", false, "remove the files of exports that no longer exist")
	bindDryRun(cmd, &p.dryRun)
	cmd.MarkFlagsMutuallyExclusive("check", "prune")
	return cmd
}

func (p *pull) run(ctx context.Context, folder string) error {
	client, err := p.client()
	if err != nil {
		return err
	}
	exports, err := p.exports(ctx, client, nil)
	if err != nil {
		return err
	}
	names, err := p.integrations(ctx, client, exports)
	if err != nil {
		return err
	}
	paths, texts := []string{}, map[string][]byte{}
	for i := range exports {
		path := filepath.Join(folder, fileName(&exports[i], exports))
		if texts[path], err = yamlOf(&exports[i], names); err != nil {
			return err
		}
		paths = append(paths, path)
	}
	gone := leftovers(folder, texts)
	if p.check {
		return p.compare(paths, texts, gone)
	}
	if p.dryRun {
		return p.printOnly(paths, texts, gone)
	}
	const readable = 0o755
	if err := os.MkdirAll(folder, readable); err != nil {
		return shell.UsageError(fmt.Sprintf("%s: the folder cannot be made: %v", folder, shell.Cause(err)), "give another FOLDER")
	}
	for _, path := range paths {
		out := shell.Output{Flag: "pull", Path: path, Kind: "file of hogexport pull", IsOurs: func(begin []byte) bool {
			return bytes.HasPrefix(begin, []byte(definitionHead))
		}}
		if err := out.Check(nil); err != nil {
			return err
		}
		if err := durable.Replace(durable.OS{}, path, texts[path]); err != nil {
			return &shell.Fault{Code: shell.CodeOther, Text: fmt.Sprintf("%s: the file cannot be written: %v", path, shell.Cause(err)), Todo: "free some space, or give another FOLDER, and run the same command again", Err: err}
		}
	}
	for _, path := range gone {
		if !p.prune {
			p.Warn(path + " belongs to an export that no longer exists: --prune removes it")
		} else if err := os.Remove(path); err != nil {
			return &shell.Fault{Code: shell.CodeOther, Text: fmt.Sprintf("%s: the file cannot be removed: %v", path, shell.Cause(err)), Err: err}
		}
	}
	if p.JSON {
		return json.NewEncoder(p.Out).Encode(paths)
	}
	for _, path := range paths {
		fmt.Fprintln(p.Out, path)
	}
	fmt.Fprintln(p.Out, plural(len(paths), "export")+" written")
	return nil
}

// integrations returns the names of the integrations that exports use. A key that may not list them gets their numbers.
func (p *pull) integrations(ctx context.Context, client *hogapi.Client, exports []hogapi.BatchExport) (map[int64]string, error) {
	names := map[int64]string{}
	for i := range exports {
		if id, ok := exports[i].Destination.Integration.Get(); ok {
			names[id] = strconv.FormatInt(id, 10)
		}
		for _, id := range integrationsOfCopy(&exports[i]) {
			names[id] = strconv.FormatInt(id, 10)
		}
	}
	if len(names) == 0 {
		return names, nil
	}
	for x, err := range client.Integrations.All(ctx, nil) {
		if err != nil {
			if p.explain(err).Code == shell.CodeProject {
				return names, nil
			}
			return nil, err
		}
		if _, isUsed := names[x.ID]; isUsed && x.DisplayName != "" {
			names[x.ID] = x.DisplayName
		}
	}
	return names, nil
}

// fileName returns the name of an export's file. Exports of one name have their ids in it too.
func fileName(e *hogapi.BatchExport, all []hogapi.BatchExport) string {
	name := plainName(e.Name)
	isTwice := 0
	for i := range all {
		if strings.EqualFold(plainName(all[i].Name), name) {
			isTwice++
		}
	}
	if isTwice > 1 {
		name += "-" + e.ID.String()
	}
	return name + ".yaml"
}

func plainName(name string) string {
	const longest = 100
	return shell.FileName(name, longest, "export")
}

func yamlOf(e *hogapi.BatchExport, integrations map[int64]string) ([]byte, error) {
	d := definition{
		ID: e.ID.String(), Paused: e.Paused,
		Name: e.Name, Model: string(cmp.Or(e.Model, hogapi.ModelEvents)), Interval: string(e.Interval), Timezone: e.Timezone,
		OffsetDay: e.OffsetDay, OffsetHour: e.OffsetHour, StartAt: timeText(e.StartAt), EndAt: timeText(e.EndAt),
	}
	if e.HogQLQuery != nil {
		d.HogQL = *e.HogQLQuery
	}
	var err error
	if d.Filters, err = anyOf(e.Filters); err != nil {
		return nil, err
	}
	if e.Model == hogapi.ModelHogQL {
		d.PrimaryKey, d.VersionKey, d.Incremental = e.PrimaryKey, e.VersionKey, string(e.IncrementalMode)
		if d.Modifiers, err = anyOf(e.HogQLModifiers); err != nil {
			return nil, err
		}
	}
	d.Destination = definitionType{Type: string(e.Destination.Type), Config: map[string]any{}}
	if id, ok := e.Destination.Integration.Get(); ok {
		d.Destination.Integration = integrations[id]
	}
	printed, err := json.Marshal(e.Destination) // which leaves out secrets
	if err != nil {
		return nil, err
	}
	shown, err := anyOf(printed)
	if err != nil {
		return nil, err
	}
	config, _ := shown.(map[string]any)["config"].(map[string]any)
	dropRedacted(config)
	for key, value := range config {
		if value != nil && !(key == oldNames && value == false) { // which new exports have
			d.Destination.Config[key] = value
		}
	}
	d.Destination.nameIntegrations(integrations)
	d.Destination.addBlanks()
	var b bytes.Buffer
	b.WriteString(definitionHead)
	if len(d.Destination.Credentials) > 0 {
		b.WriteString(blanksHead)
	}
	encoder := yaml.NewEncoder(&b)
	const indent = 2
	encoder.SetIndent(indent)
	if err := encoder.Encode(d); err != nil {
		return nil, err
	}
	return b.Bytes(), encoder.Close()
}

// anyOf reads JSON, with numbers as YAML writes them.
func anyOf(text json.RawMessage) (v any, err error) {
	if len(text) == 0 {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil {
		return nil, err
	}
	return plainValue(v), nil
}

// plainValue returns numbers as YAML writes them.
func plainValue(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = plainValue(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = plainValue(v[key])
		}
	}
	return v
}

func timeText(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
