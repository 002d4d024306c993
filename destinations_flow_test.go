package hogapi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

func secret(s string) hogapi.Opt[hogapi.Secret] { return hogapi.Set(hogapi.NewSecret(s)) }

// change reads an export's destination and changes it.
func change(t *testing.T, s *hogapitest.Server, x hogapitest.Export, configs ...destination.Config) error {
	t.Helper()
	client, export := s.Client(t), defaultProject(s).AddExport(x)
	read, err := client.BatchExports.Get(t.Context(), export)
	require.NoError(t, err)
	for _, config := range configs {
		read.Destination = read.Destination.With(config)
	}
	_, err = client.BatchExports.Update(t.Context(), export, hogapi.BatchExportUpdateRequest{Destination: hogapi.Set(read.Destination)})
	return err
}

// Old servers replace the whole config, newer ones merge. Nothing that was stored is lost on either.
func TestWithLosesNoKey(t *testing.T) {
	stored := hogapitest.Export{DestinationType: "Postgres", Config: map[string]any{
		"user": "u", "password": "hidden", "host": "h", "port": 5433, "database": "d", "schema": "old", "table_name": "t", "include_events": []string{"a"},
	}}
	flow(t, func(t *testing.T, s *hogapitest.Server, era hogapitest.Era) {
		toSchema := destination.Postgres{Schema: hogapi.Set("new")}
		err := change(t, s, stored, toSchema)
		if era == hogapitest.E1 {
			require.ErrorIs(t, err, hogapi.ErrInvalid)
			require.ErrorContains(t, err, "password, user")
			require.Empty(t, s.Calls(ops.BatchExportsUpdate), "nothing was sent")
			err = change(t, s, stored, destination.Postgres{User: hogapi.Set("u"), Password: secret("hidden")}, toSchema)
		}
		require.NoError(t, err)
		exports := defaultProject(s).Exports()
		config := exports[len(exports)-1].Config
		require.Equal(t, "new", config["schema"])
		for key, value := range map[string]any{"user": "u", "password": "hidden", "host": "h", "database": "d", "table_name": "t", "include_events": []any{"a"}} {
			require.Equal(t, value, config[key], key)
		}
		require.EqualValues(t, "5433", config["port"])
		require.NotContains(t, config, "has_self_signed_cert")
		if era != hogapitest.E1 {
			require.JSONEq(t, `{"destination":{"type":"Postgres","config":{"schema":"new"}}}`, string(s.Calls(ops.BatchExportsUpdate)[0].Body), "and only the change is sent")
		}
	})
}

// Some servers merge the keys of a config, but not what is inside them.
func TestWithLosesNothingInsideAKey(t *testing.T) {
	flow(t, func(t *testing.T, s *hogapitest.Server, era hogapitest.Era) {
		stored := hogapitest.Export{DestinationType: "Redshift", Config: map[string]any{
			"user": "u", "password": "hidden", "host": "h", "database": "d", "mode": "COPY",
			"copy_inputs": map[string]any{"s3_bucket": "b", "region_name": "r", "s3_key_prefix": "old/", "authorization": "arn:aws:iam::1:role/r",
				"bucket_credentials": map[string]any{"aws_access_key_id": "i", "aws_secret_access_key": "k"}},
		}}
		inputs := destination.RedshiftCopyInputs{S3KeyPrefix: hogapi.Set("new/")}
		config := destination.Redshift{CopyInputs: hogapi.Set(inputs)}
		if era == hogapitest.E1 {
			config.User, config.Password = hogapi.Set("u"), secret("hidden")
		}
		err := change(t, s, stored, config)
		require.ErrorIs(t, err, hogapi.ErrInvalid)
		require.ErrorContains(t, err, "copy_inputs.bucket_credentials")
		require.Empty(t, s.Calls(ops.BatchExportsUpdate))

		inputs.BucketCredentials = hogapi.Set(destination.RedshiftBucketAccess{Credentials: destination.AWSCredentials{AWSAccessKeyID: secret("i"), AWSSecretAccessKey: secret("k")}})
		config.CopyInputs = hogapi.Set(inputs)
		require.NoError(t, change(t, s, stored, config))
		exports := defaultProject(s).Exports()
		require.Equal(t, map[string]any{"s3_bucket": "b", "region_name": "r", "s3_key_prefix": "new/", "authorization": "arn:aws:iam::1:role/r",
			"bucket_credentials": map[string]any{"aws_access_key_id": "i", "aws_secret_access_key": "k"}}, exports[len(exports)-1].Config["copy_inputs"])
	})
}
