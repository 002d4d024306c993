package hogapi

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/integration"
)

// A server that echoes a part of a composite secret, such as the key in a connection string, shows
// none of it in errors and kept answers.
func TestEchoedPartsOfASecret(t *testing.T) {
	const (
		key = "c2VjcmV0LWFjY291bnQta2V5LW9mLWF6dXJl=="
		sig = "q7Zk/9d+Uw1fXh3mE0s="
		sas = "sv=2022-11-02&ss=b&sig=q7Zk%2F9d%2BUw1fXh3mE0s%3D&se=2030-01-01"
		row = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw"
		end = "Zm9vYmFyYmF6cXV4"
	)
	byKey := "DefaultEndpointsProtocol=https;AccountName=ann;AccountKey=" + key + ";EndpointSuffix=core.windows.net"
	bySAS := "BlobEndpoint=https://ann.blob.core.windows.net;SharedAccessSignature=" + sas
	azure := func(connection string) func(*Client, ...CallOption) error {
		return func(c *Client, options ...CallOption) error {
			_, err := c.Integrations.Create(t.Context(), integration.AzureBlob{ConnectionString: NewSecret(connection)}, options...)
			return err
		}
	}
	inline := func(config destination.Config) func(*Client, ...CallOption) error {
		return func(c *Client, options ...CallOption) error {
			update := BatchExportUpdateRequest{Destination: Set(Destination{Type: destination.TypeAzureBlob, Config: config, Integration: Set(int64(3))})}
			_, err := c.BatchExports.Update(t.Context(), fileA, update, options...)
			return err
		}
	}
	pem := func(text string) func(*Client, ...CallOption) error {
		return func(c *Client, options ...CallOption) error {
			r := integration.Snowflake{Name: "n", Account: "a", User: "u", PrivateKey: NewSecret(text)}
			_, err := c.Integrations.Create(t.Context(), r, options...)
			return err
		}
	}
	connection, err := json.Marshal(byKey)
	require.NoError(t, err)
	for name, tt := range map[string]struct {
		send func(*Client, ...CallOption) error
		echo []string
		hide []string
	}{
		"account key": {azure(byKey), []string{"bad AccountKey: " + key, "AccountName=ann;AccountKey=" + key, byKey}, []string{key}},
		"signature": {
			azure(bySAS), []string{"bad SAS: " + sas, "sig=q7Zk%2F9d%2BUw1fXh3mE0s%3D&sv=2022-11-02", "sig " + sig + " differs", bySAS},
			[]string{sig, "q7Zk%2F9d%2BUw1fXh3mE0s%3D"},
		},
		"raw destination":   {inline(destination.Raw(`{"connection_string":` + string(connection) + `}`)), []string{"bad key " + key}, []string{key}},
		"extra destination": {inline(destination.AzureBlob{Extra: destination.Extra{"connection_string": connection}}), []string{"bad key " + key}, []string{key}},
		"PEM": {
			pem("-----BEGIN PRIVATE KEY-----\n" + row + "\n" + end + "\n-----END PRIVATE KEY-----\n"), []string{"line 2: " + row, "line 3: " + end, row + end},
			[]string{row, end},
		},
		"PEM in one line": {
			pem(`-----BEGIN PRIVATE KEY-----\n` + row + `\n` + end + `\n-----END PRIVATE KEY-----\n`), []string{"line 2: " + row, "line 3: " + end, row + `\n` + end},
			[]string{row, end},
		},
	} {
		for _, echo := range tt.echo {
			client, mock := newTestClient(t)
			detail, err := json.Marshal(echo)
			require.NoError(t, err)
			mock.RegisterNoResponder(func(*http.Request) (*http.Response, error) {
				return httpmock.NewStringResponse(400, `{"type":"validation_error","code":"invalid_input","detail":`+string(detail)+`}`), nil
			})
			var reply Reply
			err = tt.send(client, WithReply(&reply))
			require.ErrorIs(t, err, ErrInvalid, name)
			require.NotEmpty(t, reply.Body, name)
			for _, secret := range tt.hide {
				require.NotContains(t, err.Error(), secret, "%s: %s", name, echo)
				require.NotContains(t, string(reply.Body), secret, "%s: %s", name, echo)
			}
		}
	}
}
