package flows_test

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
)

func aDownload() hogapi.FileDownloadRequest {
	end := time.Now().Add(-time.Hour).Truncate(time.Hour)
	return hogapi.FileDownloadRequest{
		Model: hogapi.ModelEvents, DataIntervalStart: end.Add(-24 * time.Hour), DataIntervalEnd: end,
		File: hogapi.FileOptions{Format: hogapi.FileFormatJSONLines, Compression: hogapi.FileCompressionGzip},
	}
}

// From the request to the local file, with a storage that cuts each answer.
func TestAFileDownloadToALocalFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New(hogapitest.WithEra(hogapitest.E4))
		client, ctx := server.Client(t), t.Context()
		id, err := client.FileDownloads.Create(ctx, aDownload())
		require.NoError(t, err)

		_, err = client.FileDownloads.DownloadAll(ctx, id, t.TempDir(), nil)
		require.ErrorContains(t, err, "is still Starting")
		var statuses []hogapi.RunStatus
		for state, err := range client.FileDownloads.Watch(ctx, id, nil) {
			require.NoError(t, err)
			statuses = append(statuses, state.Status)
		}
		assert.Equal(t, []hogapi.RunStatus{"Running", "Completed"}, statuses, "Starting was seen by DownloadAll")
		done, err := client.FileDownloads.Wait(ctx, id, nil)
		require.NoError(t, err)
		assert.Equal(t, new(int64(1000)), done.RecordsCompleted)

		server.Script(hogapitest.OpStorage, hogapitest.CutBody(1), hogapitest.Status(503), hogapitest.CutBody(300), hogapitest.CutBefore())
		paths, err := client.FileDownloads.DownloadAll(ctx, id, t.TempDir(), &hogapi.FolderOptions{Extension: aDownload().File.Extension()})
		require.NoError(t, err)
		require.Len(t, paths, 1)
		assert.True(t, strings.HasSuffix(paths[0], done.Files[0].String()+".jsonl.gz"))
		zipped, err := os.ReadFile(paths[0])
		require.NoError(t, err)
		lines, err := unzipped(zipped)
		require.NoError(t, err)
		assert.Equal(t, 1000, bytes.Count(lines, []byte("\n")))
		for _, call := range server.Calls(hogapitest.OpStorage) {
			assert.Empty(t, call.Header.Get("Authorization"))
		}
		assert.Equal(t, []hogapi.FileDownload{{ID: id, Status: "Completed"}}, testevents.Walked(t, client.FileDownloads.All(ctx, nil)))
	})
}

func TestHowFileDownloadsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New(hogapitest.WithEra(hogapitest.E4), hogapitest.WithFileDownloadLimit(1))
		project := server.Project(hogapitest.DefaultProject)
		project.NextRuns(hogapitest.Outcome{Status: "FailedBilling", Error: "no money"})
		client, ctx := server.Client(t), t.Context()
		id, err := client.FileDownloads.Create(ctx, aDownload())
		require.NoError(t, err)
		_, err = client.FileDownloads.Create(ctx, aDownload())
		require.Equal(t, hogapi.CodeTooManyFileDownloads, as[*hogapi.APIError](t, err).Code)
		d, err := client.FileDownloads.Wait(ctx, id, nil)
		require.ErrorIs(t, err, hogapi.ErrRunFailed)
		require.ErrorContains(t, err, "no money")
		assert.Equal(t, hogapi.RunStatusFailedBilling, d.Status)
		_, err = client.FileDownloads.Download(ctx, id, uuid.New(), io.Discard, nil)
		require.ErrorIs(t, err, hogapi.ErrInvalid)
		require.ErrorIs(t, client.FileDownloads.Cancel(ctx, id), hogapi.ErrInvalid)

		id, err = client.FileDownloads.Create(ctx, aDownload())
		require.NoError(t, err)
		_, err = client.FileDownloads.Download(ctx, id, uuid.New(), io.Discard, nil)
		require.ErrorContains(t, err, "still in progress")
		require.NoError(t, client.FileDownloads.Cancel(ctx, id))
		_, err = client.FileDownloads.Wait(ctx, id, nil)
		require.ErrorIs(t, err, hogapi.ErrRunCancelled)

		running := project.AddFileDownload(hogapitest.FileDownload{Status: "Running"})
		d, err = client.FileDownloads.Wait(ctx, running, &hogapi.WatchOptions{Until: func(r hogapi.Run) bool { return r.ID == running && r.Status == "Running" }})
		require.NoError(t, err)
		assert.Equal(t, hogapi.RunStatusRunning, d.Status)

		future := aDownload()
		future.DataIntervalStart, future.DataIntervalEnd = time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
		_, err = client.FileDownloads.Create(ctx, future)
		require.ErrorIs(t, err, hogapi.ErrInvalid, "whose future it is, the service knows")
		_, err = client.FileDownloads.Create(ctx, hogapi.FileDownloadRequest{Model: hogapi.ModelHogQL, HogQLQuery: "SELECT event FROM events"})
		require.ErrorIs(t, err, hogapi.ErrForbidden)
		_, err = client.FileDownloads.CountRows(ctx, hogapi.CountRowsRequest{HogQLQuery: "SELECT event FROM events"})
		require.ErrorIs(t, err, hogapi.ErrForbidden)
	})
}
