package peer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/integration"
)

func TestDestinationTests(t *testing.T) {
	s := start(t)
	c := s.client(t, admin)
	ctx := t.Context()
	steps := map[string]int{"AWS S3": 2, "S3 compatible": 1, "Snowflake": 4, "BigQuery": 5, "Databricks": 5, "Azure Blob": 1}
	for _, d := range destinations {
		t.Run(d.name, func(t *testing.T) {
			target := d.made(t, c)
			test, err := c.BatchExports.TestDestination(ctx, export(target))
			if steps[d.name] == 0 {
				require.ErrorIs(t, err, hogapi.ErrNoDestinationTest)
				return
			}
			require.NoError(t, err)
			require.Len(t, test.Steps, steps[d.name])
			require.True(t, test.Passed())
			require.Nil(t, test.Failed())
			c.read(t, test.Steps[len(test.Steps)-1])
		})
	}

	d := destinations[2]
	d.needs = integration.Snowflake{Name: "another", Account: "a", User: "u", Password: secret("the-secret")}
	target := d.made(t, c)
	config := target.Config.(destination.Snowflake)
	config.Database = str("missing")
	target.Config = config
	test, err := c.BatchExports.TestDestination(ctx, export(target))
	require.NoError(t, err, "a step that fails is a result")
	require.False(t, test.Passed())
	require.Equal(t, "Check database", test.Failed().Name)
	require.Contains(t, *test.Failed().Result.Message, "does not exist")
	require.Nil(t, test.Steps[3].Result, "it stops there")

	target.Integration = hogapi.Set(int64(4711))
	refused(c.BatchExports.TestDestination(ctx, export(target)))(t, hogapi.ErrInvalid, 400, "object does not exist")
	refused(s.client(t, reader).BatchExports.TestDestination(ctx, export(target)))(t, hogapi.ErrForbidden, 403, "batch_export:write")
}
