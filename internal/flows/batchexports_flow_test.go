package flows_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
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

// The life of an export, on servers of each generation and with both body styles.
func TestLifeOfAnExport(t *testing.T) {
	for name, options := range map[string][]hogapitest.Option{
		"oldest":                   {hogapitest.WithEra(hogapitest.E1)},
		"oldest with empty bodies": {hogapitest.WithEra(hogapitest.E1), hogapitest.WithEmptyBodies()},
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

var andBackfill = &hogapi.UnpauseOptions{Backfill: true, AcceptRowsByTimestamp: true} // of an old server too

// The backfill that an unpause starts can be followed like any other.
func TestUnpauseWithABackfillIsFollowed(t *testing.T) {
	flow(t, func(t *testing.T, s *hogapitest.Server, era hogapitest.Era) {
		client, project := s.Client(t), defaultProject(s)
		export := project.AddExport(hogapitest.Export{Paused: true, LastPaused: time.Now().Add(-190*time.Minute - 123456789)})
		project.NextRuns(hogapitest.Outcome{}, hogapitest.Outcome{Status: "Failed", Error: "bucket is gone"})
		ticket, err := client.BatchExports.Unpause(t.Context(), export, andBackfill)
		require.NoError(t, err)
		text, err := json.Marshal(ticket)
		require.NoError(t, err)
		var again hogapi.BackfillTicket
		require.NoError(t, json.Unmarshal(text, &again))

		state, err := client.Backfills.Wait(t.Context(), &again, nil)
		require.ErrorContains(t, err, "bucket is gone")
		require.ErrorIs(t, err, hogapi.ErrRunFailed)
		whole := map[bool]int{true: 4, false: 3}[era == hogapitest.E4] // from the begin of the hour of the pause
		require.Len(t, state.Runs, whole, "whole hours only")
		require.Equal(t, whole-1, state.Completed)
		require.False(t, project.Exports()[0].Paused)

		ticket, err = client.BatchExports.Unpause(t.Context(), export, andBackfill)
		require.NoError(t, err)
		require.Nil(t, ticket, "it was not paused: nothing is exported")
		ticket, err = client.BatchExports.Unpause(t.Context(), export, nil)
		require.NoError(t, err)
		require.Nil(t, ticket)
	}, hogapitest.WithRunDelay(time.Second))
}

// A backfill since a pause that the service does not know, or knows wrongly, is refused for every model: from the beginning of
// time, or from the pause before.
func TestUnpauseRefusesABackfillSinceAnotherPause(t *testing.T) {
	paused := hogapi.BatchExportUpdateRequest{Paused: hogapi.Set(true)}
	for _, model := range []hogapi.Model{"events", "persons", "sessions", "hogql"} {
		for name, tt := range map[string]struct {
			pause func(ctx context.Context, exports *hogapi.BatchExportsService, id uuid.UUID) error
			noLog bool
			text  string // of the error
		}{
			"by the endpoint": {func(ctx context.Context, exports *hogapi.BatchExportsService, id uuid.UUID) error {
				return exports.Pause(ctx, id)
			}, false, ""},
			"and renamed": {func(ctx context.Context, exports *hogapi.BatchExportsService, id uuid.UUID) error {
				err := exports.Pause(ctx, id)
				time.Sleep(time.Hour)
				_, renamed := exports.Update(ctx, id, hogapi.BatchExportUpdateRequest{Name: hogapi.Set("n")})
				return errors.Join(err, renamed)
			}, false, ""},
			"by an update": {func(ctx context.Context, exports *hogapi.BatchExportsService, id uuid.UUID) error {
				_, err := exports.Update(ctx, id, paused)
				return err
			}, false, "the service would export and bill the whole history. Unpause without a backfill"},
			"after an earlier pause": {func(ctx context.Context, exports *hogapi.BatchExportsService, id uuid.UUID) error {
				err := exports.Pause(ctx, id)
				time.Sleep(time.Hour)
				_, unpaused := exports.Unpause(ctx, id, nil)
				time.Sleep(time.Hour)
				_, updated := exports.Update(ctx, id, paused)
				return errors.Join(err, unpaused, updated)
			}, false, "paused by an update at 2000-01-01T02:00:00Z, and the service would begin at the pause before, at 2000-01-01T00:00:00Z"},
			"perhaps": {func(ctx context.Context, exports *hogapi.BatchExportsService, id uuid.UUID) error {
				err := exports.Pause(ctx, id)
				time.Sleep(time.Hour)
				_, renamed := exports.Update(ctx, id, hogapi.BatchExportUpdateRequest{Name: hogapi.Set("n")})
				return errors.Join(err, renamed)
			}, true, "a key that may read the activity log"},
		} {
			t.Run(string(model)+" "+name, bubble(func(t *testing.T) {
				s := hogapitest.New()
				client, project := s.Client(t), defaultProject(s)
				id := project.AddExport(hogapitest.Export{Model: model, Created: time.Now().AddDate(-2, 0, 0)})
				require.NoError(t, tt.pause(t.Context(), client.BatchExports, id))
				time.Sleep(3 * time.Hour)
				if tt.noLog {
					s.Script(ops.ActivityLog, hogapitest.Status(403))
				}
				ticket, err := client.BatchExports.Unpause(t.Context(), id, andBackfill)
				if tt.text == "" {
					require.NoError(t, err)
					_, err = client.Backfills.Wait(t.Context(), ticket, nil)
					require.NoError(t, err)
					return
				}
				require.ErrorContains(t, err, tt.text)
				require.ErrorAs(t, err, new(*hogapi.InputError))
				require.Nil(t, ticket)
				require.Empty(t, s.Calls(ops.BatchExportsUnpause)[min(1, len(s.Calls(ops.BatchExportsUnpause))):])
				require.True(t, project.Exports()[0].Paused)
				if name == "by an update" { // what the service would have done
					_, err = client.BatchExports.Unpause(t.Context(), id, nil, hogapi.WithBody(map[string]bool{"backfill": true}))
					require.NoError(t, err)
					require.Zero(t, project.Backfills(id)[0].Start)
				}
			}))
		}
	}
}

// The end of the pause is read before it is lost.
func TestUnpauseReadsFirst(t *testing.T) {
	for _, op := range []hogapi.Op{ops.BatchExportsGet, ops.BackfillsList} {
		s := hogapitest.New()
		client := s.Client(t, hogapi.WithRetryPolicy(hogapi.RetryPolicy{MaxTries: 1}))
		export := defaultProject(s).AddExport(hogapitest.Export{Paused: true, LastPaused: time.Now()})
		s.Script(op, hogapitest.Status(500))
		ticket, err := client.BatchExports.Unpause(t.Context(), export, andBackfill)
		require.Equal(t, 500, as[*hogapi.APIError](t, err).StatusCode)
		require.ErrorContains(t, err, "nothing was sent")
		require.Nil(t, ticket)
		require.Empty(t, s.Calls(ops.BatchExportsUnpause))
	}
}

// aged adds an export and its newest run, which failed days ago.
func aged(t *testing.T, project *hogapitest.Project, e hogapitest.Export, days int) (export, run uuid.UUID, covers hogapi.BackfillRange) {
	t.Helper()
	end := time.Now().UTC().AddDate(0, 0, -days).Truncate(time.Hour)
	export = project.AddExport(e)
	run = project.AddRun(export, hogapitest.Run{Status: "Failed", Start: end.Add(-time.Hour), End: end})
	return export, run, hogapi.BackfillRange{Start: hogapi.AtTime(end.Add(-time.Hour)), End: hogapi.AtTime(end)}
}

// beginnings are the calls that begin an export of old events, each without and with the option.
var beginnings = map[hogapi.Op]func(t *testing.T, c *hogapi.Client, export, run uuid.UUID, r hogapi.BackfillRange, o *hogapi.BackfillOptions) error{
	ops.RunsRetry: func(t *testing.T, c *hogapi.Client, export, run uuid.UUID, _ hogapi.BackfillRange, o *hogapi.BackfillOptions) error {
		return failed(c.Runs.Retry(t.Context(), export, run, o))
	},
	ops.BatchExportsBackfill: func(t *testing.T, c *hogapi.Client, export, _ uuid.UUID, r hogapi.BackfillRange, o *hogapi.BackfillOptions) error {
		return failed(c.BatchExports.Backfill(t.Context(), export, r, o))
	},
	ops.BackfillsCreate: func(t *testing.T, c *hogapi.Client, export, _ uuid.UUID, r hogapi.BackfillRange, o *hogapi.BackfillOptions) error {
		return failed(c.Backfills.Create(t.Context(), export, r, o))
	},
}

// The client exports old events only on demand, and its error names the effect on the destination.
func TestOldEventsNeedAnOption(t *testing.T) {
	for name, tt := range map[string]struct {
		export hogapitest.Export
		days   int
		text   string // of the refusal, if there is one
	}{
		"young":          {hogapitest.Export{}, 4, ""},
		"object store":   {hogapitest.Export{}, 6, "the new objects replace the old ones, with the late events that only they hold"},
		"table":          {hogapitest.Export{DestinationType: "BigQuery", Integration: 2}, 20, "late events are left out, and all others are duplicated"},
		"persons":        {hogapitest.Export{Model: hogapi.ModelPersons}, 20, ""},
		"as old as time": {hogapitest.Export{}, 2000, "AcceptRowsByTimestamp"},
	} {
		for op, begin := range beginnings {
			t.Run(name+" "+string(op), bubble(func(t *testing.T) {
				s := hogapitest.New()
				client := s.Client(t)
				export, run, covers := aged(t, defaultProject(s), tt.export, tt.days)
				err := begin(t, client, export, run, covers, nil)
				if tt.text == "" {
					require.NoError(t, err)
				} else {
					bad := as[*hogapi.InputError](t, err)
					require.Equal(t, op, bad.Op)
					require.ErrorContains(t, err, tt.text)
					require.ErrorContains(t, err, "ended in the last 5 days")
					require.Empty(t, s.Calls(op))
				}
				exports, runs := len(s.Calls(ops.BatchExportsGet)), len(s.Calls(ops.RunsGet))
				require.Equal(t, op == ops.RunsRetry, runs == 1, "a retry reads its run first")
				require.Equal(t, 1, exports, "its schedule tells the bounds")

				if tt.text != "" {
					require.NoError(t, begin(t, client, export, run, covers, anyAge))
					exports, runs = exports+1, 2*runs
				}
				require.Len(t, s.Calls(ops.BatchExportsGet), exports)
				require.Len(t, s.Calls(ops.RunsGet), runs)
			}))
		}
	}
}

// The service looks at where the whole backfill begins, and days begin at midnight of the export's zone.
func TestABackfillIsAsOldAsItsFirstInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the time is midnight of 1 January 2000
		s := hogapitest.New()
		client, project := s.Client(t), defaultProject(s)
		hourly := project.AddExport(hogapitest.Export{})
		now := time.Now().UTC()
		long := hogapi.BackfillRange{Start: hogapi.AtTime(now.AddDate(0, 0, -30)), End: hogapi.AtTime(now)}
		_, err := client.BatchExports.Backfill(t.Context(), hourly, long, nil)
		require.ErrorContains(t, err, `interval from "1999-12-02T00:00:00Z"`)
		require.ErrorContains(t, err, "the part after 1999-12-27T00:00:00Z needs no option")
		long.Start = hogapi.AtBeginning()
		_, err = client.BatchExports.Backfill(t.Context(), hourly, long, nil)
		require.ErrorContains(t, err, `interval from "beginning"`)

		for zone, tooOld := range map[string]bool{"UTC": false, "Asia/Tokyo": true, "America/New_York": false} {
			daily := project.AddExport(hogapitest.Export{Interval: hogapi.IntervalDay, Timezone: zone})
			days := hogapi.BackfillRange{Start: hogapi.AtDate(1999, 12, 26), End: hogapi.AtDate(1999, 12, 28)}
			_, err = client.BatchExports.Backfill(t.Context(), daily, days, nil)
			require.Equal(t, tooOld, errors.Is(err, hogapi.ErrInvalid), zone)
		}
	})
}

// PostHog Cloud keeps recent events longer. Servers without records of backfills keep them for the schedule only.
func TestTheAgeLineIsTheServersOwn(t *testing.T) {
	for name, tt := range map[string]struct {
		era     hogapitest.Era
		options []hogapi.Option
		days    int
		refused bool
	}{
		"cloud":           {hogapitest.E4, []hogapi.Option{hogapi.WithBaseURL("https://eu.posthog.com")}, 6, false},
		"old, of cloud":   {hogapitest.E4, []hogapi.Option{hogapi.WithBaseURL("https://eu.posthog.com")}, 8, true},
		"self-hosted":     {hogapitest.E4, nil, 6, true},
		"without records": {hogapitest.E1, nil, 0, true},
	} {
		for op, begin := range beginnings {
			if tt.era == hogapitest.E1 && op == ops.BackfillsCreate {
				continue
			}
			t.Run(name+" "+string(op), func(t *testing.T) {
				s := hogapitest.New(hogapitest.WithEra(tt.era))
				client := s.Client(t, tt.options...)
				export, run, covers := aged(t, defaultProject(s), hogapitest.Export{}, tt.days)
				require.Equal(t, tt.refused, errors.Is(begin(t, client, export, run, covers, nil), hogapi.ErrInvalid))
			})
		}
	}
}

// A pause that began too long ago cannot be made up for as if it had not been.
func TestUnpauseAfterALongPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hogapitest.New()
		client, project := s.Client(t), defaultProject(s)
		for days, refused := range map[int]bool{3: false, 9: true} {
			export := project.AddExport(hogapitest.Export{Paused: true, LastPaused: time.Now().AddDate(0, 0, -days)})
			before := len(s.Calls(ops.BatchExportsUnpause))
			_, err := client.BatchExports.Unpause(t.Context(), export, &hogapi.UnpauseOptions{Backfill: true})
			require.Equal(t, refused, errors.Is(err, hogapi.ErrInvalid))
			require.Equal(t, refused, len(s.Calls(ops.BatchExportsUnpause)) == before)
			if refused {
				require.ErrorContains(t, err, "unpause without a backfill, and backfill in parts")
				_, err = client.BatchExports.Unpause(t.Context(), export, andBackfill)
				require.NoError(t, err)
			}
		}
	})
}
