package hogapi_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/integration"
	"github.com/hogapi/hogapi/ops"
)

// The life of an export, on servers of each generation and with both body styles.
func TestLifeOfAnExport(t *testing.T) {
	for name, options := range map[string][]hogapitest.Option{
		"oldest":                   {hogapitest.WithEra(hogapitest.E1)},
		"oldest with empty bodies": {hogapitest.WithEra(hogapitest.E1), hogapitest.WithEmptyBodies()},
		"middle":                   {hogapitest.WithEra(hogapitest.E2)},
		"newer":                    {hogapitest.WithEra(hogapitest.E3)},
		"newest":                   {hogapitest.WithEra(hogapitest.E4)},
		"newest with empty bodies": {hogapitest.WithEmptyBodies()},
	} {
		t.Run(name, func(t *testing.T) {
			server := hogapitest.New(append(options, hogapitest.WithWorkingLogs())...)
			client, ctx := server.Client(t), t.Context()
			exports := client.BatchExports
			integration := server.Project(hogapitest.DefaultProject).AddIntegration(hogapitest.Integration{Kind: integration.KindPostgres})
			export, err := exports.Create(ctx, hogapi.BatchExportRequest{
				Name: "n", Model: hogapi.ModelEvents, Interval: hogapi.IntervalHour, Paused: true, EndAt: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC),
				Destination: hogapi.Destination{Type: destination.TypePostgres, Integration: hogapi.Set(int64(integration)), Config: destination.Postgres{
					User: hogapi.Set("u"), Password: hogapi.Set(hogapi.NewSecret("p")), Host: hogapi.Set("h"), Port: hogapi.Set(5433),
					Database: hogapi.Set("d"), HasSelfSignedCert: hogapi.Set(true),
				}},
			})
			require.NoError(t, err)
			config, ok := export.Destination.Config.(destination.Postgres)
			require.True(t, ok)
			assert.Equal(t, hogapi.Set(5433), config.Port)
			assert.Equal(t, hogapi.Set(true), config.HasSelfSignedCert)
			assert.True(t, config.Password.IsZero())

			export, err = exports.Update(ctx, export.ID, hogapi.BatchExportUpdateRequest{
				Paused: hogapi.Set(false), EndAt: hogapi.Null[time.Time](),
				Destination: hogapi.Set(export.Destination.With(destination.Postgres{
					Schema: hogapi.Set("s"), User: hogapi.Set("u"), Password: hogapi.Set(hogapi.NewSecret("p")), // which the oldest would lose
				})),
			})
			require.NoError(t, err)
			assert.False(t, export.Paused)
			assert.Nil(t, export.EndAt)
			stored := server.Project(hogapitest.DefaultProject).Exports()[0].Config
			assert.Equal(t, "s", stored["schema"])
			assert.Equal(t, "p", stored["password"], "what an update does not send stays")

			require.NoError(t, exports.Pause(ctx, export.ID))
			_, err = exports.Unpause(ctx, export.ID, nil)
			require.NoError(t, err)
			_, err = exports.Logs(ctx, export.ID, nil)
			require.NoError(t, err)
			require.NoError(t, exports.Delete(ctx, export.ID))
			_, err = exports.Get(ctx, export.ID)
			require.ErrorIs(t, err, hogapi.ErrNotFound)
		})
	}
}

// BackfillRange makes the form that each generation takes: the fake refuses the other one.
func TestBackfillRangeSuitsTheServer(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	for era, zone := range map[hogapitest.Era]*time.Location{hogapitest.E1: time.UTC, hogapitest.E2: time.UTC, hogapitest.E3: berlin} {
		for interval, to := range map[hogapi.Interval]time.Time{
			hogapi.IntervalHour: time.Date(2024, 3, 4, 0, 0, 0, 0, zone),
			hogapi.IntervalDay:  time.Date(2024, 4, 3, 0, 0, 0, 0, zone),
			hogapi.IntervalWeek: time.Date(2024, 3, 17, 0, 0, 0, 0, zone),
		} {
			server := hogapitest.New(hogapitest.WithEra(era))
			client := server.Client(t)
			id := server.Project(hogapitest.DefaultProject).AddExport(hogapitest.Export{Interval: interval, Timezone: zone.String()})
			export, err := client.BatchExports.Get(t.Context(), id)
			require.NoError(t, err)
			covers, err := export.BackfillRange(time.Date(2024, 3, 3, 0, 0, 0, 0, zone), to)
			require.NoError(t, err)
			_, err = client.BatchExports.Backfill(t.Context(), id, covers, anyAge)
			require.NoError(t, err, "%v %s", era, interval)
		}
	}
}

// More entries than a page holds, with many of one time: none is lost, none comes twice.
func TestAllLogsOfTheFake(t *testing.T) {
	server := hogapitest.New()
	client := server.Client(t)
	project := server.Project(hogapitest.DefaultProject)
	id := project.AddExport(hogapitest.Export{})
	start := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	for i := range 1200 {
		project.AddLog(id, hogapitest.LogEntry{Time: start.Add(time.Duration(i/7) * time.Millisecond), Message: "one of seven"})
	}
	n := 0
	for _, err := range client.BatchExports.AllLogs(t.Context(), id, nil) {
		require.NoError(t, err)
		n++
	}
	assert.Equal(t, 1200, n)
	assert.Len(t, server.Calls(ops.BatchExportsLogs), 4)
}
