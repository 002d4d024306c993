package destination

import (
	"strings"

	"github.com/hogapi/hogapi/internal/outgoing"
)

// Config is the config of an integration, with its credentials, while it is filled.
type Config struct {
	Keys    map[string]any
	Problem *outgoing.Refusal // the first
}

// NewConfig is an empty Config.
func NewConfig() *Config { return &Config{Keys: map[string]any{}} }

// Refuse notes what is wrong with a field.
func (c *Config) Refuse(field, want string) {
	if c.Problem == nil {
		c.Problem = &outgoing.Refusal{Field: field, Want: want}
	}
}

// Text sends a value that is not empty.
func (c *Config) Text(key, value string) {
	if value != "" {
		c.Keys[key] = value
	}
}

// Need sends a value that may not be blank. The field's value is not quoted: it may be secret.
func (c *Config) Need(field, key, value string) {
	if strings.TrimSpace(value) == "" {
		c.Refuse(field, "a value, not an empty text")
	}
	c.Text(key, value)
}

// Host sends the name of a host.
func (c *Config) Host(field, key, name string) {
	c.Need(field, key, name)
	if strings.Contains(name, "/") {
		c.Refuse(field, "a host name without a scheme and a path")
	}
}

// AWS sends a role or a key.
func (c *Config) AWS(role string, id, key string) {
	hasKey := id != "" || key != ""
	if (role != "") == hasKey {
		c.Refuse("AWSRoleARN", "either AWSRoleARN, or AWSAccessKeyID with AWSSecretAccessKey")
	}
	if hasKey {
		c.Need("AWSAccessKeyID", "aws_access_key_id", id)
		c.Need("AWSSecretAccessKey", "aws_secret_access_key", key)
	}
	if role != "" {
		c.Need("AWSRoleARN", "aws_role_arn", role)
	}
}
