package configs

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/hogapi/hogapi/integration"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// form says how a request becomes an integration: its kind, the fields that must not be blank, and a further check.
type form struct {
	kind  integration.Kind
	need  []string
	check func(*filling)
}

var forms = map[reflect.Type]form{
	reflect.TypeFor[integration.AwsS3](): {integration.KindAwsS3, []string{"Name"}, (*filling).aws},
	reflect.TypeFor[integration.S3Compatible](): {
		integration.KindS3Compatible, []string{"Name", "EndpointURL", "AWSAccessKeyID", "AWSSecretAccessKey"}, nil,
	},
	reflect.TypeFor[integration.Snowflake]():      {integration.KindSnowflake, []string{"Name", "Account", "User"}, (*filling).snowflake},
	reflect.TypeFor[integration.Postgres]():       {integration.KindPostgres, []string{"Host", "User", "Password"}, (*filling).server},
	reflect.TypeFor[integration.RedshiftServer](): {integration.KindRedshift, []string{"Host", "User", "Password"}, (*filling).server},
	reflect.TypeFor[integration.Redshift]():       {integration.KindRedshift, []string{"Name", "User"}, (*filling).aws},
	reflect.TypeFor[integration.BigQuery]():       {integration.KindBigQuery, []string{"ServiceAccountEmail", "ProjectID"}, (*filling).keyFile},
	reflect.TypeFor[integration.Databricks](): {
		integration.KindDatabricks, []string{"ServerHostname", "ClientID", "ClientSecret"}, func(c *filling) { c.host("ServerHostname") },
	},
	reflect.TypeFor[integration.AzureBlob](): {integration.KindAzureBlob, []string{"ConnectionString"}, nil},
}

// Integration returns a new integration as sent, with its credentials.
func Integration(r integration.Request) (kind integration.Kind, keys map[string]any, refusal *ops.InputError) {
	request := reflect.Indirect(reflect.ValueOf(r))
	if !request.IsValid() {
		return "", nil, outgoing.Refuse("integration", "nil", "a request such as integration.AwsS3{…}")
	}
	form := forms[request.Type()]
	c := filling{request: request, keys: map[string]any{}}
	for field, value := range request.Fields() {
		switch text := textOf(value); {
		case field.Tag.Get("json") == "-": // for the client
		case text != "":
			c.keys[keyOf(field.Name)] = text
		case value.Kind() == reflect.Slice && value.Len() > 0, value.CanInt() && !value.IsZero(), value.Kind() == reflect.Bool && value.Bool():
			c.keys[keyOf(field.Name)] = value.Interface()
		}
	}
	c.need(form.need...)
	if form.check != nil {
		form.check(&c)
	}
	return form.kind, c.keys, c.problem
}

func textOf(field reflect.Value) string {
	if secret, ok := reflect.TypeAssert[interface{ Reveal() string }](field); ok {
		return secret.Reveal()
	}
	if field.Kind() == reflect.String {
		return field.String()
	}
	return ""
}

var wordStart = regexp.MustCompile(`([a-z])([A-Z])|([A-Z])([A-Z][a-z])`)

// keyOf returns the key of a field: aws_role_arn of AWSRoleARN.
func keyOf(field string) string {
	return strings.ToLower(wordStart.ReplaceAllString(field, "$1${3}_$2$4"))
}

type filling struct {
	request reflect.Value
	keys    map[string]any
	problem *ops.InputError // the first
}

// refuse notes the first problem of a field. It never quotes the value, which may be secret.
func (c *filling) refuse(field, want string) {
	if c.problem == nil {
		c.problem = &ops.InputError{Field: field, Want: want}
	}
}

func (c *filling) text(field string) string { return textOf(c.request.FieldByName(field)) }

func (c *filling) has(field string) bool { return c.text(field) != "" }

func (c *filling) need(fields ...string) {
	for _, field := range fields {
		if strings.TrimSpace(c.text(field)) == "" {
			c.refuse(field, "a value, not an empty text")
		}
	}
}

func (c *filling) host(field string) {
	if strings.Contains(c.text(field), "/") {
		c.refuse(field, "a host name without a scheme and a path")
	}
}

func (c *filling) aws() {
	hasKey := c.has("AWSAccessKeyID") || c.has("AWSSecretAccessKey")
	switch {
	case c.has("AWSRoleARN") == hasKey:
		c.refuse("AWSRoleARN", "either AWSRoleARN, or AWSAccessKeyID with AWSSecretAccessKey")
	case hasKey:
		c.need("AWSAccessKeyID", "AWSSecretAccessKey")
	default:
		c.need("AWSRoleARN")
	}
}

// snowflake demands a password or a private key. Only a key has a passphrase.
func (c *filling) snowflake() {
	switch {
	case c.has("Password") == c.has("PrivateKey"):
		c.refuse("Password", "either Password or PrivateKey")
	case c.has("PrivateKey"):
		c.need("PrivateKey")
		c.keys["authentication_type"] = "keypair"
	default:
		c.need("Password")
		c.keys["authentication_type"] = "password"
		delete(c.keys, "private_key_passphrase")
	}
}

// server checks the address of a server, and how its certificate is checked.
func (c *filling) server() {
	c.host("Host")
	if port := c.request.FieldByName("Port").Int(); port < 1 || port > 65535 {
		c.refuse("Port", "a port, from 1 to 65535")
	}
	switch integration.SSLMode(c.text("SSLMode")) {
	case "", integration.SSLModeRequire:
	case integration.SSLModeVerifyCA, integration.SSLModeVerifyFull:
		c.need("SSLRootCert")
	default:
		c.refuse("SSLMode", "require, verify-ca or verify-full")
	}
}

// keyFile demands all of a key file, or nothing of it.
func (c *filling) keyFile() {
	file := []string{c.text("PrivateKey"), c.text("PrivateKeyID"), c.text("TokenURI")}
	if slices.Contains(file, "") && strings.Join(file, "") != "" {
		c.refuse("PrivateKey", "PrivateKey, PrivateKeyID and TokenURI together, or none of them")
	}
}
