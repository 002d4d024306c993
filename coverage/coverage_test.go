package coverage_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
)

// Bad input, including a nil client, gets an error that names it.
func TestInputIsRefused(t *testing.T) {
	t.Parallel()
	client, err := hogapi.NewClient(hogapi.WithRegion(hogapi.RegionEU), hogapi.WithProject("1"), hogapi.WithPersonalAPIKey("phx_0123456789abcdef0123456789abcdef"))
	require.NoError(t, err)
	ctx, id, now := t.Context(), uuid.UUID{1}, time.Now()
	failed := func(_ any, err error) error { return err }
	ranged := func(client *hogapi.Client, o *coverage.RangeOptions) (err error) {
		for _, failed := range coverage.DownloadRange(ctx, client, now.AddDate(0, 0, -2), now, o) {
			err = failed
		}
		return err
	}
	folder := &coverage.RangeOptions{Folder: t.TempDir()}
	for i, tt := range []struct {
		says string
		err  error
	}{
		{"hogapi: batch_exports.plan_repair: coverage: want", failed(coverage.MakePlan(ctx, client, nil, nil))},
		{"hogapi: batch_exports.repair: plan: want", failed(coverage.Repair(ctx, client, nil, nil))},
		{"hogapi: batch_exports.repair: WatchOptions.Timeout", failed(coverage.Repair(ctx, client, &coverage.Plan{ExportID: id}, &coverage.RepairOptions{Watch: &hogapi.WatchOptions{Timeout: -1}}))},
		{"hogapi: batch_exports.coverage: Options.AgeLine", failed(coverage.Of(ctx, client, id, &coverage.Options{AgeLine: -1}))},
		{"hogapi: file_downloads.range: RangeOptions.Step", ranged(client, &coverage.RangeOptions{Folder: t.TempDir(), Step: time.Millisecond})},
		{"hogapi: file_downloads.range: File.Compression", ranged(client, &coverage.RangeOptions{
			Folder: t.TempDir(), File: hogapi.FileOptions{Format: hogapi.FileFormatJSONLines, Compression: hogapi.FileCompressionZstd},
		})},
		{`hogapi: batch_exports.coverage: ctx "nil": want a context`, failed(coverage.Of(nil, client, id, nil))}, //nolint:staticcheck // on purpose
		{"hogapi: batch_exports.coverage: client: want a client of NewClient", failed(coverage.Of(ctx, nil, id, nil))},
		{"hogapi: batch_exports.coverage: client: want", failed(coverage.Of(ctx, &hogapi.Client{}, id, nil))},
		{"hogapi: batch_exports.plan_repair: client: want", failed(coverage.MakePlan(ctx, nil, &coverage.Coverage{ExportID: id}, nil))},
		{"hogapi: batch_exports.repair: client: want", failed(coverage.Repair(ctx, &hogapi.Client{}, &coverage.Plan{ExportID: id}, nil))},
		{"hogapi: file_downloads.range: client: want", ranged(nil, folder)},
		{"hogapi: file_downloads.range: client: want", ranged(&hogapi.Client{}, folder)},
	} {
		require.Error(t, tt.err, i)
		assert.ErrorContains(t, tt.err, tt.says)
		assert.ErrorAs(t, tt.err, new(*hogapi.InputError), tt.says)
	}
}
