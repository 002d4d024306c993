package cli

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/destination"
)

// withheld are the keys of a config that the service needs without an integration, and never returns.
var withheld = map[destination.Type][]string{
	destination.TypeS3: {"aws_access_key_id", "aws_secret_access_key"}, destination.TypeBigQuery: {"private_key", "private_key_id", "client_email", "token_uri"},
	destination.TypeSnowflake: {"user", "password"}, destination.TypePostgres: {"user", "password"}, destination.TypeRedshift: {"user", "password"}, destination.TypeHTTP: {"token"},
}

// isVariable matches the usual names of environment variables.
var isVariable = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)

const copyInputs = "copy_inputs" // of Redshift

// accessOfCopy are the keys of copyInputs with the number of an integration, a role, or the keys of withheld for S3.
var accessOfCopy = []string{"authorization", "bucket_credentials"}

// integrationsOfCopy returns the integrations by which a Redshift export reaches its bucket.
func integrationsOfCopy(e *hogapi.BatchExport) (ids []int64) {
	config, _ := e.Destination.Config.(destination.Redshift)
	inputs, _ := config.CopyInputs.Get()
	reads, _ := inputs.Authorization.Get()
	writes, _ := inputs.BucketCredentials.Get()
	return slices.DeleteFunc([]int64{reads.Integration, writes.Integration}, func(id int64) bool { return id == 0 })
}

// nameIntegrations replaces the numbers of integrations among the inputs of COPY by their names.
func (d *definitionType) nameIntegrations(names map[int64]string) {
	inputs, _ := d.Config[copyInputs].(map[string]any)
	for _, key := range accessOfCopy {
		if id, isNumber := inputs[key].(int64); isNumber {
			inputs[key] = map[string]any{"integration": names[id]}
		}
	}
}

// addBlanks adds a blank for each secret that a new export needs.
func (d *definitionType) addBlanks() {
	kind, blanks := destination.Type(d.Type), map[string]string{}
	if d.Integration == "" {
		for _, key := range withheld[kind] {
			if key == "password" && d.Config["authentication_type"] == "keypair" {
				key = "private_key"
			}
			if d.Config[key] == nil {
				blanks[key] = ""
			}
		}
	}
	inputs, _ := d.Config[copyInputs].(map[string]any)
	for _, access := range accessOfCopy {
		if keys, isMap := inputs[access].(map[string]any); isMap && keys["integration"] == nil {
			for _, key := range withheld[destination.TypeS3] {
				blanks[copyInputs+"."+access+"."+key] = ""
			}
		}
	}
	if len(blanks) > 0 {
		d.Credentials = blanks
	}
}

// fillIntegrations replaces the names of integrations among the inputs of COPY by their numbers.
func fillIntegrations(ctx context.Context, client *hogapi.Client, d *definitionType) error {
	inputs, _ := d.Config[copyInputs].(map[string]any)
	for _, key := range accessOfCopy {
		access, _ := inputs[key].(map[string]any)
		if access["integration"] == nil {
			continue
		}
		id, err := integrationID(ctx, client, fmt.Sprint(access["integration"]))
		if err != nil {
			return err
		}
		inputs[key] = id
	}
	return nil
}

// fillSecrets puts the secrets of variables into the config of a destination.
func (c *create) fillSecrets(d *definitionType) error {
	variables := maps.Clone(d.Credentials)
	if variables == nil {
		variables = map[string]string{}
	}
	for _, text := range c.secrets {
		key, name, isPair := strings.Cut(text, "=")
		if !isPair || key == "" || name == "" {
			return shell.UsageError("--secret wants KEY=VARIABLE", "give a key of credentials and the name of an environment variable, such as --secret password=WAREHOUSE_PASSWORD")
		}
		variables[key] = name
	}
	var blanks []string
	for _, key := range slices.Sorted(maps.Keys(variables)) {
		isOfServer := d.Integration != "" && !strings.Contains(key, ".")
		switch value := c.Env(variables[key]); {
		case variables[key] == "" && isOfServer: // the integration has it
		case variables[key] == "":
			blanks = append(blanks, key)
		case value == "":
			name := "the variable " + variables[key]
			if !isVariable.MatchString(variables[key]) { // it may be the secret itself
				name = "the variable that is named"
			}
			return shell.UsageError(fmt.Sprintf("%s: %s for destination.credentials.%s is not set", c.from, name, key), "give the name of an environment variable that is set, not the secret itself; or --integration")
		default:
			setAt(d.Config, strings.Split(key, "."), value)
		}
	}
	if len(blanks) == 0 {
		return nil
	}
	todo := "give --secret " + strings.Join(blanks, "=VARIABLE --secret ") + "=VARIABLE, each with the name of an environment variable that has it"
	if len(withheld[destination.Type(d.Type)]) > 0 && d.Type != string(destination.TypeHTTP) {
		todo += "; or --integration, which newer servers need"
	}
	return shell.UsageError(fmt.Sprintf("%s: blank among destination.credentials: %s", c.from, strings.Join(blanks, ", ")), todo)
}

// setAt sets a value at a path of keys.
func setAt(config map[string]any, path []string, value string) {
	for _, key := range path[:len(path)-1] {
		below, isMap := config[key].(map[string]any)
		if !isMap {
			below = map[string]any{}
			config[key] = below
		}
		config = below
	}
	config[path[len(path)-1]] = value
}

// dropRedacted removes the secrets that an older server has returned.
func dropRedacted(config map[string]any) {
	for key, value := range config {
		if below, isMap := value.(map[string]any); isMap {
			dropRedacted(below)
		} else if value == "[redacted]" {
			delete(config, key)
		}
	}
}
