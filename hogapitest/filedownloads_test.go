package hogapitest_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// A downloaded row has a uuid and a time, as the service's has, so that it can be imported.
func TestRowsOfAFileDownload(t *testing.T) {
	for name, o := range map[string]hogapitest.Option{"a bubble": nil, "a clock": hogapitest.WithClock(fixedClock)} {
		synctest.Test(t, func(t *testing.T) {
			var options []hogapitest.Option
			end := time.Now()
			if o != nil {
				options, end = []hogapitest.Option{o}, now
			}
			client := hogapitest.New(options...).Client(t)
			id, err := client.FileDownloads.Create(t.Context(), hogapi.FileDownloadRequest{
				Model: hogapi.ModelEvents, DataIntervalStart: end.Add(-time.Hour), DataIntervalEnd: end, File: hogapi.FileOptions{Format: hogapi.FileFormatJSONLines},
			})
			require.NoError(t, err, name)
			done, err := client.FileDownloads.Wait(t.Context(), id, nil)
			require.NoError(t, err, name)
			var content bytes.Buffer
			_, err = client.FileDownloads.Download(t.Context(), id, done.Files[0], &content, nil)
			require.NoError(t, err, name)
			var row struct {
				UUID      uuid.UUID
				Timestamp time.Time
			}
			require.NoError(t, json.NewDecoder(&content).Decode(&row))
			assert.NotZero(t, row.UUID)
			assert.WithinRange(t, row.Timestamp, end.Add(-time.Hour), end)
		})
	}
}
