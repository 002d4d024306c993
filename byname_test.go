package hogapi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/integration"
)

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
	var several *hogapi.NameError
	require.ErrorAs(t, err, &several)
	require.ElementsMatch(t, []string{one.String(), two.String()}, several.IDs)
	require.NotErrorIs(t, err, hogapi.ErrNotFound)
	require.ErrorContains(t, err, `2 have the name "twice": take one by its id, `)
	_, err = client.BatchExports.ByName(t.Context(), "Lake")
	require.EqualError(t, err, `hogapi: batch_exports.list: nothing has the name "Lake"`)
	require.ErrorIs(t, err, hogapi.ErrNotFound)
	_, err = client.BatchExports.ByName(t.Context(), "")
	require.ErrorIs(t, err, hogapi.ErrInvalid)
}
