package hogapi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// statuses are the results of a test's steps; empty for one that was not run.
func statuses(test *hogapi.DestinationTest) (list []hogapi.DestinationTestStatus) {
	for _, step := range test.Steps {
		if step.Result == nil {
			list = append(list, "")
		} else {
			list = append(list, step.Result.Status)
		}
	}
	return list
}

// Every type is tested as far as the service can, and where it cannot that is said.
func TestDestinationOfEachType(t *testing.T) {
	steps := map[destination.Type]int{
		destination.TypeAwsS3: 2, destination.TypeS3Compatible: 1, destination.TypeBigQuery: 5, destination.TypeSnowflake: 4,
		destination.TypeDatabricks: 5, destination.TypeAzureBlob: 1,
	}
	for kind, tt := range newDestinations {
		t.Run(string(kind), func(t *testing.T) {
			server := hogapitest.New()
			client, ctx := server.Client(t), t.Context()
			made, err := client.Integrations.Create(ctx, tt.request)
			require.NoError(t, err)
			d := tt.d
			d.Integration = hogapi.Set(made.ID)
			test, err := client.BatchExports.TestDestination(ctx, hourly(d))
			if steps[d.Type] == 0 {
				require.ErrorIs(t, err, hogapi.ErrNoDestinationTest)
				require.NotErrorIs(t, err, hogapi.ErrUnsupported)
				require.ErrorContains(t, err, string(d.Type))
				assert.Empty(t, server.Calls(ops.BatchExportsRunTestStep))
				return
			}
			require.NoError(t, err)
			assert.True(t, test.Passed())
			assert.Nil(t, test.Failed())
			assert.Len(t, test.Steps, steps[d.Type])
			assert.Len(t, server.Calls(ops.BatchExportsRunTestStep), steps[d.Type])
			assert.Empty(t, defaultProject(server).Exports(), "a test creates nothing")
		})
	}
}

func TestDestinationStopsAtTheFirstFailure(t *testing.T) {
	server := hogapitest.New()
	client, ctx := server.Client(t), t.Context()
	id := defaultProject(server).AddIntegration(hogapitest.Integration{Config: map[string]any{"name": "n", "aws_role_arn": "arn:r"}})
	export := hourly(hogapi.Destination{Type: destination.TypeAwsS3, Config: bucket, Integration: hogapi.Set(int64(id))})
	defaultProject(server).FailTestStep("Assume role", "PostHog may not assume the role")

	test, err := client.BatchExports.TestDestination(ctx, export)
	require.NoError(t, err, "a step that fails is a result")
	assert.Equal(t, []hogapi.DestinationTestStatus{hogapi.DestinationTestStatusFailed, ""}, statuses(test))
	assert.False(t, test.Passed())
	assert.Equal(t, "Assume role", test.Failed().Name)
	assert.Equal(t, "PostHog may not assume the role", *test.Failed().Result.Message)
	assert.Len(t, server.Calls(ops.BatchExportsRunTestStep), 1)

	defaultProject(server).FailTestStep("Assume role", "")
	server.Script(ops.BatchExportsRunTestStep, hogapitest.Slow(0), hogapitest.CutAfter())
	test, err = client.BatchExports.TestDestination(ctx, export)
	require.ErrorIs(t, err, hogapi.ErrOutcomeUnknown)
	assert.Equal(t, []hogapi.DestinationTestStatus{hogapi.DestinationTestStatusPassed, ""}, statuses(test))
	assert.False(t, test.Passed())
	assert.Len(t, server.Calls(ops.BatchExportsRunTestStep), 3, "a step is not run twice by itself")

	export.Destination.Integration = hogapi.Set(int64(99))
	_, err = client.BatchExports.TestDestination(ctx, export)
	require.ErrorIs(t, err, hogapi.ErrInvalid, "what the service would not create")
	keys := defaultProject(server).AddIntegration(hogapitest.Integration{Config: map[string]any{"name": "m", "aws_access_key_id": "i"}})
	export.Destination.Integration = hogapi.Set(int64(keys))
	test, err = client.BatchExports.TestDestination(ctx, export)
	require.NoError(t, err)
	assert.Equal(t, []hogapi.DestinationTestStatus{hogapi.DestinationTestStatusSkipped, hogapi.DestinationTestStatusPassed}, statuses(test))
	assert.True(t, test.Passed(), "what is skipped was not needed")
}

// Servers differ in which types they test; the oldest take "test" for an export's id.
func TestDestinationByAge(t *testing.T) {
	old := hourly(hogapi.Destination{Type: destination.TypeS3, Config: destination.S3{
		BucketName: hogapi.Set("b"), Region: hogapi.Set("r"), Prefix: hogapi.Set("p/"), AWSAccessKeyID: secret("i"), AWSSecretAccessKey: secret("k"),
	}})
	client := hogapitest.New(hogapitest.WithEra(hogapitest.E1)).Client(t)
	_, err := client.BatchExports.TestDestination(t.Context(), old)
	require.ErrorIs(t, err, hogapi.ErrUnsupported)
	require.NotErrorIs(t, err, hogapi.ErrNoDestinationTest)

	client = hogapitest.New(hogapitest.WithEra(hogapitest.E2)).Client(t)
	test, err := client.BatchExports.TestDestination(t.Context(), old)
	require.NoError(t, err)
	require.True(t, test.Passed())

	client = hogapitest.New().Client(t)
	_, err = client.BatchExports.TestDestination(t.Context(), old)
	require.ErrorIs(t, err, hogapi.ErrNoDestinationTest)
	_, err = client.ForProject("99").BatchExports.TestDestination(t.Context(), old)
	require.ErrorIs(t, err, hogapi.ErrNotFound)
	require.NotErrorIs(t, err, hogapi.ErrUnsupported, "it is the project that is missing")
}
