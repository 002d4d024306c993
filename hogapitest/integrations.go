package hogapitest

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hogapi/hogapi/integration"
)

// Integration describes an integration, to add it or to read it. By default its kind is aws-s3.
type Integration struct {
	ID      int // the next free one, where it is 0
	Kind    integration.Kind
	Config  map[string]any // secrets included
	Created time.Time      // now, where it is zero
}

// AddIntegration adds an integration and returns its id.
func (p *Project) AddIntegration(x Integration) int {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	return p.addIntegration(x).ID
}

func (p *Project) addIntegration(x Integration) *Integration {
	for x.ID == 0 || p.integration(x.ID) != nil {
		p.lastIntegration++
		x.ID = p.lastIntegration
	}
	x.Kind, x.Created = or(x.Kind, integration.KindAwsS3), or(x.Created, p.server.now())
	x.Config = asSent(x.Config)
	p.integrations = append(p.integrations, &x)
	return &x
}

// Integrations returns the project's integrations with their secrets, in the order of their creation.
func (p *Project) Integrations() []Integration {
	return seen(p, func() []*Integration { return p.integrations }, func(x *Integration) Integration { return *x })
}

func (p *Project) integration(id int) *Integration {
	for _, x := range p.integrations {
		if x.ID == id {
			return x
		}
	}
	return nil
}

// usedBy names the exports that use an integration. Ids inside copy_inputs are not counted.
func (p *Project) usedBy(x *Integration) (names []string) {
	for _, e := range p.exports {
		if !e.Deleted && e.integration == x.ID {
			names = append(names, e.Name)
		}
	}
	return names
}

// kindOfIntegration describes one kind: which keys it needs, and which of them it shows and stores it under.
type kindOfIntegration struct {
	needs  string
	shows  string
	under  string // where it begins with "name", the same again is refused; else it is overwritten
	titled string // in the refusal of a wrong kind
	lacks  string // the refusal where a needed key is missing, if it does not name the key
}

var integrationKinds = map[integration.Kind]kindOfIntegration{
	"aws-s3":                       {needs: "name", shows: "name aws_role_arn", under: "name", titled: "an AWS S3"},
	"s3-compatible":                {needs: "name aws_access_key_id aws_secret_access_key endpoint_url", shows: "name endpoint_url", under: "name", titled: "an AWS S3"},
	"snowflake":                    {needs: "name account user", shows: "name account user authentication_type", under: "name", titled: "a Snowflake", lacks: "Name, account, and user must be provided"},
	"aws-redshift":                 {needs: "user", shows: "name aws_role_arn user groups auto_create workgroup_arn host port ssl_mode ssl_root_cert", under: "name host port user", titled: "a Redshift"},
	"postgresql":                   {needs: "host port user password", shows: "host port user ssl_mode ssl_root_cert", under: "host port user", titled: "a PostgreSQL"},
	"databricks":                   {needs: "server_hostname client_id client_secret", shows: "server_hostname", under: "server_hostname", titled: "a Databricks", lacks: "Server hostname, client ID, and client secret must be provided"},
	"azure-blob":                   {needs: "connection_string", under: "account", titled: "an Azure Blob", lacks: "Connection string must be provided"},
	"google-cloud-service-account": {needs: "service_account_email project_id", shows: "project_id service_account_email", under: "service_account_email variant", titled: "a Google Cloud service account", lacks: "Service account email and project ID must be provided"},
}

// friendly are the names of keys in the service's refusals.
var friendly = map[string]string{
	"name": "A name", "aws_access_key_id": "Access key ID", "aws_secret_access_key": "Secret access key", "aws_role_arn": "A valid role ARN",
	"user": "Username", "endpoint_url": "Endpoint URL", "host": "Host", "password": "A password",
}

func (x *Integration) json() object {
	config := object{}
	for key := range strings.FieldsSeq(integrationKinds[x.Kind].shows) {
		if value, ok := x.Config[key]; ok {
			config[key] = value
		}
	}
	if x.Config["aws_access_key_id"] != nil && strings.HasPrefix(string(x.Kind), "aws-") {
		config["aws_account_id"] = "123456789012"
	}
	name, _ := config["name"].(string)
	return object{
		"id": x.ID, "kind": x.Kind, "config": config, "created_at": stamp(x.Created), "created_by": defaultUser(), "errors": "",
		"display_name": or(name, string(x.Kind)),
	}
}

func (s *Server) listIntegrations(r *request) answer {
	var listed []*Integration
	for _, x := range r.project.integrations {
		if kind := r.query.Get("kind"); kind == "" || kind == string(x.Kind) {
			listed = append(listed, x)
		}
	}
	slices.SortStableFunc(listed, func(a, b *Integration) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return offsetPage(s, r, listed, (*Integration).json)
}

func (r *request) integration() *Integration {
	id, _ := strconv.Atoi(r.params["id"])
	x := r.project.integration(id)
	if x == nil {
		refuse(notFound("No Integration matches the given query."))
	}
	return x
}

func (s *Server) getIntegration(r *request) answer { return success(r.integration().json()) }

func (s *Server) deleteIntegration(r *request) answer {
	x := r.integration()
	if s.member {
		return forbidden("You don't have sufficient permissions in the project.")
	}
	if names := r.project.usedBy(x); len(names) > 0 {
		return invalid("", "invalid_input", "This integration is used by batch exports: "+strings.Join(names, ", ")+
			". Update them to use a different integration before disconnecting it.")
	}
	r.project.integrations = slices.DeleteFunc(r.project.integrations, func(y *Integration) bool { return x == y })
	return noContent
}

func (s *Server) createIntegration(r *request) answer {
	c := readFields(r.body)
	c.require("kind")
	var kind string
	c.text("kind", &kind)
	config := map[string]any{}
	if c.has("config") {
		config = c.dictionary("config")
	}
	x := Integration{Kind: integration.Kind(kind), Config: config, Created: r.now}
	if problem := x.problem(); problem != "" {
		return invalid("", "invalid_input", problem)
	}
	for _, before := range r.project.integrations {
		if before.Kind != x.Kind || before.key() != x.key() {
			continue
		}
		if name, ok := config["name"].(string); ok && strings.HasPrefix(integrationKinds[x.Kind].under, "name") {
			return invalid("", "invalid_input", fmt.Sprintf("An integration named '%s' already exists", name))
		}
		if s.member {
			return forbidden("Editing an existing integration requires project admin access.")
		}
		before.Config = config
		return reply(http.StatusCreated, before.json())
	}
	return reply(http.StatusCreated, r.project.addIntegration(x).json())
}

// key is the name that an integration is stored under.
func (x *Integration) key() string {
	var parts []string
	for name := range strings.FieldsSeq(integrationKinds[x.Kind].under) {
		switch name {
		case "account":
			parts = append(parts, x.account())
		case "variant": // a key file, or impersonation
			parts = append(parts, strconv.FormatBool(x.withFile()))
		default:
			parts = append(parts, fmt.Sprint(x.Config[name]))
		}
		if name == "name" && x.Config[name] != nil {
			break
		}
	}
	return strings.Join(parts, "\n")
}

// account is the name of the account in a connection string of Azure.
func (x *Integration) account() string {
	text, _ := x.Config["connection_string"].(string)
	for part := range strings.SplitSeq(text, ";") {
		if name, ok := strings.CutPrefix(strings.TrimSpace(part), "AccountName="); ok {
			return name
		}
	}
	return ""
}

// problem is why the service refuses the config of a new integration; empty if it does not.
func (x *Integration) problem() string {
	kind, ok := integrationKinds[x.Kind]
	if !ok {
		return "Kind not supported"
	}
	needs := strings.Fields(kind.needs)
	has := func(name string) bool { v, ok := x.Config[name]; return ok && v != "" && v != nil }
	switch string(x.Kind) {
	case "aws-s3", "aws-redshift":
		switch {
		case has("aws_role_arn"):
			needs = append(needs, "name")
		case has("aws_access_key_id") || has("aws_secret_access_key"):
			needs = append(needs, "name", "aws_access_key_id", "aws_secret_access_key")
		case x.Kind == "aws-s3":
			needs = append(needs, "aws_access_key_id", "aws_secret_access_key")
		case has("host") || has("port") || has("user") || has("password"):
			needs = append(needs, "host", "port", "password")
		default:
			return "Missing required inputs"
		}
	case "snowflake":
		mode := fmt.Sprint(or(x.Config["authentication_type"], any("password")))
		switch {
		case mode != "password" && mode != "keypair":
			return "Invalid authentication type: " + mode
		case mode == "password" && !has("password"):
			return "Password is required for password authentication"
		case mode == "keypair" && !has("private_key"):
			return "Private key is required for key-pair authentication"
		}
	}
	for _, name := range needs {
		if !has(name) {
			return or(kind.lacks, fmt.Sprintf("%s is required for %s integration", or(friendly[name], name), x.Kind))
		}
	}
	if x.Kind == "azure-blob" && x.account() == "" {
		return "Could not extract AccountName from connection string. Ensure it contains 'AccountName=<your-account-name>;'"
	}
	return x.serverProblem(has)
}

// serverProblem is about the kinds that connect to a server.
func (x *Integration) serverProblem(has func(string) bool) string {
	if !has("host") || x.Kind != "postgresql" && x.Kind != "aws-redshift" {
		return ""
	}
	if _, err := strconv.Atoi(fmt.Sprint(x.Config["port"])); err != nil {
		return "Port must be an integer"
	}
	switch mode := or(x.Config["ssl_mode"], any("require")); {
	case !slices.Contains([]any{"require", "verify-ca", "verify-full"}, mode):
		return "SSL mode must be one of: require, verify-ca, verify-full"
	case mode != "require" && !has("ssl_root_cert"):
		return "SSL root certificate must be provided when verifying server certificates"
	}
	return ""
}

// withKeys reports whether the integration holds keys of AWS, and not a role.
func (x *Integration) withKeys() bool { return x != nil && x.Config["aws_role_arn"] == nil }

// withFile reports whether the integration holds a key file of Google Cloud.
func (x *Integration) withFile() bool {
	return x != nil && x.Config["private_key"] != nil && x.Config["private_key_id"] != nil && x.Config["token_uri"] != nil
}
