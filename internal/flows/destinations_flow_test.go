package flows_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/integration"
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

func TestDestinationStopsAtTheFirstFailure(t *testing.T) {
	server := hogapitest.New()
	client, ctx := server.Client(t), t.Context()
	id := defaultProject(server).AddIntegration(hogapitest.Integration{Config: map[string]any{"name": "n", "aws_role_arn": "arn:r"}})
	export := hourly(hogapi.Destination{Type: destination.TypeAwsS3, Config: bucket, Integration: hogapi.Set(int64(id))})
	defaultProject(server).FailTestStep("Ensure we can assume provided AWS role", "PostHog may not assume the role")

	test, err := client.BatchExports.TestDestination(ctx, export)
	require.NoError(t, err, "a step that fails is a result")
	assert.Equal(t, []hogapi.DestinationTestStatus{hogapi.DestinationTestStatusFailed, ""}, statuses(test))
	assert.False(t, test.Passed())
	assert.Equal(t, "Ensure we can assume provided AWS role", test.Failed().Name)
	assert.Equal(t, "PostHog may not assume the role", *test.Failed().Result.Message)
	assert.Len(t, server.Calls(ops.BatchExportsRunTestStep), 1)

	defaultProject(server).FailTestStep("Ensure we can assume provided AWS role", "")
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

// The test of an export that exists sends no config: the service puts the stored one under it, secrets too.
func TestDestinationOfAnExport(t *testing.T) {
	server := hogapitest.New()
	client, ctx, project := server.Client(t), t.Context(), defaultProject(server)
	lake := project.AddExport(hogapitest.Export{
		Model: hogapi.ModelHogQL, Interval: hogapi.IntervalEvery5Minutes, Extra: map[string]any{"hogql_query": "SELECT 1"},
		Integration: project.AddIntegration(hogapitest.Integration{Config: map[string]any{"name": "n", "aws_role_arn": "arn:r"}}),
	})
	test, err := client.BatchExports.TestDestinationOf(ctx, lake)
	require.NoError(t, err, "neither the model nor the interval is tested")
	assert.True(t, test.Passed())
	calls := server.Calls(ops.BatchExportsRunTestStepOf)
	require.Len(t, calls, 2)
	assert.Contains(t, string(calls[1].Body), `"config":{},"integration":`)

	project.FailTestStep("Ensure we can assume provided AWS role", "PostHog may not assume the role")
	test, err = client.BatchExports.TestDestinationOf(ctx, lake)
	require.NoError(t, err)
	assert.Equal(t, []hogapi.DestinationTestStatus{hogapi.DestinationTestStatusFailed, ""}, statuses(test))
	server.Script(ops.BatchExportsRunTestStepOf, hogapitest.CutAfter())
	_, err = client.BatchExports.TestDestinationOf(ctx, lake)
	require.ErrorIs(t, err, hogapi.ErrOutcomeUnknown, "a step can make a table")

	tables := project.AddExport(hogapitest.Export{
		DestinationType: "BigQuery", Config: map[string]any{"dataset_id": "d"},
		Integration: project.AddIntegration(hogapitest.Integration{Kind: "google-cloud-service-account"}),
	})
	_, err = client.BatchExports.TestDestinationOf(ctx, tables)
	require.NoError(t, err)
	assert.Contains(t, string(server.Calls(ops.BatchExportsRunTestStepOf)[5].Body), `{"table_id":"events"}`, "the default of exports, which the test does not know")

	old := project.AddExport(hogapitest.Export{DestinationType: "S3"})
	_, err = client.BatchExports.TestDestinationOf(ctx, old)
	require.ErrorIs(t, err, hogapi.ErrUnsupported)
	inline := project.AddExport(hogapitest.Export{DestinationType: "BigQuery", Config: map[string]any{"dataset_id": "d", "private_key": "p"}})
	_, err = client.BatchExports.TestDestinationOf(ctx, inline)
	require.ErrorIs(t, err, hogapi.ErrInvalid)
	require.ErrorContains(t, err, "Integration is required")
	_, err = client.BatchExports.TestDestinationOf(ctx, uuid.New())
	require.ErrorIs(t, err, hogapi.ErrNotFound)
}

// No current server tests the type S3; servers of E1 read "test" as an export's id.
func TestDestinationByAge(t *testing.T) {
	old := hourly(hogapi.Destination{Type: destination.TypeS3, Config: destination.S3{
		BucketName: hogapi.Set("b"), Region: hogapi.Set("r"), Prefix: hogapi.Set("p/"), AWSAccessKeyID: secret("i"), AWSSecretAccessKey: secret("k"),
	}})
	client := hogapitest.New(hogapitest.WithEra(hogapitest.E1)).Client(t)
	_, err := client.BatchExports.TestDestination(t.Context(), old)
	require.ErrorIs(t, err, hogapi.ErrUnsupported)
	require.NotContains(t, err.Error(), "has no test for")

	client = hogapitest.New().Client(t)
	_, err = client.BatchExports.TestDestination(t.Context(), old)
	require.ErrorIs(t, err, hogapi.ErrUnsupported)
	_, err = client.ForProject("99").BatchExports.TestDestination(t.Context(), old)
	require.ErrorIs(t, err, hogapi.ErrNotFound)
	require.NotErrorIs(t, err, hogapi.ErrUnsupported, "it is the project that is missing")
}

func TestByName(t *testing.T) {
	s := hogapitest.New()
	client, project := s.Client(t), defaultProject(s)
	for range 100 { // the list has two pages
		project.AddExport(hogapitest.Export{Name: "another"})
	}
	lake := project.AddExport(hogapitest.Export{Name: "lake"})
	one, two := project.AddExport(hogapitest.Export{Name: "twice"}), project.AddExport(hogapitest.Export{Name: "twice"})
	export, err := client.BatchExports.ByName(t.Context(), "lake")
	require.NoError(t, err)
	require.Equal(t, lake, export.ID)

	access := func(name string) *hogapi.Integration {
		made, err := client.Integrations.Create(t.Context(), integration.AwsS3{
			Name: name, AWSAccessKeyID: hogapi.NewSecret("AKIAIOSFODNN7EXAMPLE"), AWSSecretAccessKey: hogapi.NewSecret("wJalrXUtnFEMI"),
		})
		require.NoError(t, err)
		return made
	}
	access("other")
	want := access("lake")
	for _, kind := range []integration.Kind{integration.KindAwsS3, ""} {
		found, err := client.Integrations.ByName(t.Context(), kind, "lake")
		require.NoError(t, err)
		require.Equal(t, want.ID, found.ID)
	}
	_, err = client.Integrations.ByName(t.Context(), integration.KindSnowflake, "lake")
	require.ErrorIs(t, err, hogapi.ErrNotFound, "of another kind")

	_, err = client.BatchExports.ByName(t.Context(), "twice")
	several := as[*hogapi.InputError](t, err)
	require.Contains(t, several.Want, one.String())
	require.Contains(t, several.Want, two.String())
	require.NotErrorIs(t, err, hogapi.ErrNotFound)
	require.ErrorContains(t, err, `name "twice": want the id of one item: 2 have this name, `)
	_, err = client.BatchExports.ByName(t.Context(), "Lake")
	require.EqualError(t, err, `hogapi: batch_exports.list: not found: no item has the name "Lake"`)
	require.ErrorIs(t, err, hogapi.ErrNotFound)
	_, err = client.BatchExports.ByName(t.Context(), "")
	require.ErrorIs(t, err, hogapi.ErrInvalid)
}

// newDestinations holds a destination for kinds of integrations, and the request that creates the integration.
var newDestinations = map[integration.Kind]struct {
	request integration.Request
	again   error // of the same request
	d       hogapi.Destination
}{
	integration.KindAwsS3: {
		integration.AwsS3{Name: "n", AWSAccessKeyID: hogapi.NewSecret("i"), AWSSecretAccessKey: hogapi.NewSecret("k")}, hogapi.ErrInvalid,
		hogapi.Destination{Type: destination.TypeAwsS3, Config: bucket},
	},

	integration.KindPostgres: {
		integration.Postgres{Host: "h", Port: 5432, User: "u", Password: hogapi.NewSecret("p")}, nil,
		hogapi.Destination{Type: destination.TypePostgres, Config: destination.Postgres{Database: hogapi.Set("d")}},
	},

	integration.KindDatabricks: {
		integration.Databricks{ServerHostname: "h", ClientID: hogapi.NewSecret("c"), ClientSecret: hogapi.NewSecret("s")}, nil,
		hogapi.Destination{Type: destination.TypeDatabricks, Config: destination.Databricks{
			HTTPPath: hogapi.Set("/p"), Catalog: hogapi.Set("c"), Schema: hogapi.Set("s"), TableName: hogapi.Set("t"),
		}},
	},
}

var bucket = destination.S3{BucketName: hogapi.Set("b"), Region: hogapi.Set("r"), Prefix: hogapi.Set("p/")}

func hourly(d hogapi.Destination) hogapi.BatchExportRequest {
	return hogapi.BatchExportRequest{Name: "hourly", Model: hogapi.ModelEvents, Interval: hogapi.IntervalHour, Destination: d}
}

// On the newest service each type needs an integration of its kind: from there to an export, its changes and its end.
func TestExportWithAnIntegration(t *testing.T) {
	steps := map[destination.Type]int{destination.TypeAwsS3: 2, destination.TypeDatabricks: 5} // of a test, where the service can test the type
	for kind, tt := range newDestinations {
		t.Run(string(kind), func(t *testing.T) {
			server := hogapitest.New()
			client, ctx := server.Client(t), t.Context()
			if kind != integration.KindDatabricks { // refused before it is sent
				_, err := client.BatchExports.Create(ctx, hourly(tt.d))
				require.ErrorIs(t, err, hogapi.ErrInvalid)
				require.ErrorContains(t, err, "Integration is required for "+string(tt.d.Type)+" batch exports")
				require.ErrorContains(t, err, "Integrations.Create")
			}
			made, err := client.Integrations.Create(ctx, tt.request)
			require.NoError(t, err)
			assert.Equal(t, kind, made.Kind)
			again, err := client.Integrations.Create(ctx, tt.request)
			require.ErrorIs(t, err, tt.again)
			if tt.again == nil {
				assert.Equal(t, made.ID, again.ID, "it is overwritten")
			}

			d := tt.d
			other := defaultProject(server).AddIntegration(hogapitest.Integration{Kind: "slack"})
			d.Integration = hogapi.Set(int64(other))
			_, err = client.BatchExports.Create(ctx, hourly(d))
			require.ErrorContains(t, err, "Integration ")
			require.ErrorIs(t, err, hogapi.ErrInvalid)
			d.Integration = hogapi.Set(int64(99))
			_, err = client.BatchExports.Create(ctx, hourly(d))
			require.ErrorContains(t, err, "does not exist")

			d.Integration = hogapi.Set(made.ID)
			test, err := client.BatchExports.TestDestination(ctx, hourly(d))
			assert.Len(t, server.Calls(ops.BatchExportsRunTestStep), steps[d.Type])
			if steps[d.Type] == 0 {
				require.ErrorIs(t, err, hogapi.ErrUnsupported)
				require.ErrorContains(t, err, "the service has no test for "+string(d.Type))
			} else {
				require.NoError(t, err)
				assert.True(t, test.Passed())
				assert.Nil(t, test.Failed())
				assert.Len(t, test.Steps, steps[d.Type])
			}
			assert.Empty(t, defaultProject(server).Exports(), "a test creates nothing")
			export, err := client.BatchExports.Create(ctx, hourly(d))
			require.NoError(t, err)
			id, ok := export.Destination.Integration.Get()
			assert.True(t, ok)
			assert.Equal(t, made.ID, id)
			require.ErrorContains(t, client.Integrations.Delete(ctx, made.ID), "used by batch exports: hourly")

			export, err = client.BatchExports.Update(ctx, export.ID, hogapi.BatchExportUpdateRequest{Destination: hogapi.Set(export.Destination.With(tt.d.Config))})
			require.NoError(t, err, "With sends the integration again")
			assert.Equal(t, made.ID, export.Destination.Integration.Or(0))

			require.NoError(t, client.BatchExports.Delete(ctx, export.ID))
			require.NoError(t, client.Integrations.Delete(ctx, made.ID))
			_, err = client.Integrations.Get(ctx, made.ID)
			require.ErrorIs(t, err, hogapi.ErrNotFound)
			require.NotErrorIs(t, err, hogapi.ErrUnsupported)
		})
	}
}

func TestIntegrationsAreListedByKind(t *testing.T) {
	server := hogapitest.New(hogapitest.WithMember())
	client, ctx := server.Client(t), t.Context()
	for i, kind := range []integration.Kind{"slack", integration.KindAwsS3, integration.KindAwsS3, integration.KindAwsS3} {
		defaultProject(server).AddIntegration(hogapitest.Integration{Kind: kind, Created: time.Unix(int64(100-i), 0), Config: map[string]any{
			"name": "n", "aws_secret_access_key": "s",
		}})
	}
	var ids []int64
	for x, err := range client.Integrations.All(ctx, &hogapi.IntegrationListOptions{Kind: integration.KindAwsS3, ListOptions: hogapi.ListOptions{Limit: 2}}) {
		require.NoError(t, err)
		assert.NotContains(t, string(x.Config), "secret")
		ids = append(ids, x.ID)
	}
	assert.Equal(t, []int64{4, 3, 2}, ids, "oldest first")
	page, err := client.Integrations.List(ctx, nil)
	require.NoError(t, err)
	assert.Equal(t, 4, page.Count)
	require.ErrorIs(t, client.Integrations.Delete(ctx, 2), hogapi.ErrForbidden)
}
