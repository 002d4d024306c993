package hogapi

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/integration"
	"github.com/hogapi/hogapi/internal/configs"
)

func TestCreateIntegrationSendsItsSecretsOnce(t *testing.T) {
	for want, r := range map[string]integration.Request{
		`{"kind":"aws-s3","config":{"name":"n","aws_access_key_id":"AKIA1","aws_secret_access_key":"sec1"}}`: integration.AwsS3{
			Name: "n", AWSAccessKeyID: NewSecret("AKIA1"), AWSSecretAccessKey: NewSecret("sec1"),
		},
		`{"kind":"databricks","config":{"server_hostname":"h","client_id":"sec2","client_secret":"sec1"}}`: integration.Databricks{
			ServerHostname: "h", ClientID: NewSecret("sec2"), ClientSecret: NewSecret("sec1"),
		},
	} {
		client, mock := newTestClient(t)
		kind, _, refusal := configs.Integration(r)
		require.Nil(t, refusal)
		mock.RegisterResponder("POST", testBase+"/integrations/", func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			assert.JSONEq(t, want, string(body))
			return httpmock.NewStringResponse(201, `{"id":3,"kind":"`+string(kind)+`","config":{"name":"n"},"created_by":null,"errors":""}`), nil
		})
		made, err := client.Integrations.Create(t.Context(), r)
		require.NoError(t, err, want)
		require.Equal(t, int64(3), made.ID)
		require.Equal(t, kind, made.Kind)
		require.JSONEq(t, `{"name":"n"}`, string(made.Config))

		kind = "github"
		_, err = client.Integrations.Create(t.Context(), r)
		require.ErrorAs(t, err, new(*DecodeError), "an answer of another kind")
		require.ErrorIs(t, err, ErrOutcomeUnknown)

		// An error that quotes the request shows no secret of it.
		mock.RegisterResponder("POST", testBase+"/integrations/", func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			quoted, err := json.Marshal("cannot use " + string(body))
			require.NoError(t, err)
			return httpmock.NewStringResponse(400, `{"code":"invalid_input","detail":`+string(quoted)+`}`), nil
		})
		_, err = client.Integrations.Create(t.Context(), r)
		require.ErrorIs(t, err, ErrInvalid)
		for _, secret := range []string{"sec1", "sec2", "AKIA1"} {
			require.NotContains(t, err.Error(), secret, want)
		}
	}
}

func TestIntegrationsRefuseBadInput(t *testing.T) {
	client, mock := newTestClient(t)
	for field, r := range map[string]integration.Request{"integration": nil, "Name": integration.AwsS3{AWSRoleARN: "r"}} {
		_, err := client.Integrations.Create(t.Context(), r)
		requireInputError(t, err, field)
	}
	for _, id := range []int64{0, -1} {
		_, err := client.Integrations.Get(t.Context(), id)
		requireInputError(t, err, "{id}")
		requireInputError(t, client.Integrations.Delete(t.Context(), id), "{id}")
	}
	_, err := client.Integrations.List(t.Context(), &IntegrationListOptions{Kind: "AWS_S3"})
	requireInputError(t, err, "Kind")
	require.Zero(t, mock.GetTotalCallCount())
}

// PostHog keeps an integration of BigQuery by its e-mail, so another project would replace the one that exports use.
func TestCreateKeepsTheProjectOfAnIntegration(t *testing.T) {
	client, mock := newTestClient(t)
	mock.RegisterResponder("GET", testBase+"/integrations/", httpmock.NewStringResponder(200, `{"count":2,"next":null,"previous":null,"results":[
		{"id":6,"kind":"google-cloud-service-account","config":{"project_id":"q","service_account_email":"b@x"},"created_by":null,"errors":""},
		{"id":7,"kind":"google-cloud-service-account","config":{"project_id":"p","service_account_email":"a@x"},"created_by":null,"errors":""}]}`))
	posts := 0
	mock.RegisterResponder("POST", testBase+"/integrations/", func(r *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(r.Body)
		assert.NotContains(t, string(body), "eplace")
		posts++
		return httpmock.NewStringResponse(201, `{"id":7,"kind":"google-cloud-service-account","config":{},"created_by":null,"errors":""}`), nil
	})
	other := integration.BigQuery{ServiceAccountEmail: "a@x", ProjectID: "another"}
	for _, r := range []integration.Request{other, &other} {
		_, err := client.Integrations.Create(t.Context(), r)
		requireInputError(t, err, "ProjectID")
		require.ErrorContains(t, err, "the project of integration 7, p: PostHog keeps one integration per e-mail")
	}
	assert.Zero(t, posts)
	for _, r := range []integration.BigQuery{
		{ServiceAccountEmail: "a@x", ProjectID: "p"},
		{ServiceAccountEmail: "c@x", ProjectID: "p"},
		{ServiceAccountEmail: "a@x", ProjectID: "another", ReplaceProject: true},
	} {
		_, err := client.Integrations.Create(t.Context(), r)
		require.NoError(t, err)
	}
	assert.Equal(t, 3, posts)
}

// If the answer to a create is lost, the service may have stored the credentials.
func TestLostAnswerOfAnIntegration(t *testing.T) {
	s := newScript(fails(errCut), answers(201, `{"id":1}`))
	_, err := newFakeClient(t, s).Integrations.Create(t.Context(), integration.AwsS3{Name: "n", AWSRoleARN: "r"})
	require.ErrorIs(t, err, ErrOutcomeUnknown)
	require.ErrorContains(t, err, "Integrations.List")
	require.EqualValues(t, 1, s.tries.Load())
}
