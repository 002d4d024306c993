package peer_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/internal/testevents"
)

var (
	firstDay = time.Date(2026, 3, 1, 0, 0, 0, 0, time.FixedZone("", 3600))
	fast     = &hogapi.WatchOptions{Interval: time.Millisecond, MaxInterval: time.Millisecond}
)

func events(include ...string) hogapi.FileDownloadRequest {
	return hogapi.FileDownloadRequest{
		Model: hogapi.ModelEvents, DataIntervalStart: firstDay, DataIntervalEnd: firstDay.AddDate(0, 0, 1), Include: include,
	}
}

// stored returns the objects of one file download in the storage, by the index of the file.
func (s *server) stored(t *testing.T, id uuid.UUID) (found []object) {
	t.Helper()
	for _, o := range s.objects(t) {
		if strings.Contains(o.Path, id.String()) {
			found = append(found, o)
		}
	}
	return found
}

func sum(data []byte) string {
	digest := sha256.Sum256(data)
	return hex.EncodeToString(digest[:])
}

func TestFileDownload(t *testing.T) {
	s, c, ctx := begin(t, writer) // batch_export:write is enough for all calls

	ask := events("$pageview", "purchase")
	ask.Exclude = []string{"$autocapture"}
	ask.File = hogapi.FileOptions{
		Format: hogapi.FileFormatJSONLines, Compression: hogapi.FileCompressionGzip, MaxSizeMB: hogapi.Set(1),
	}
	id := must(c.FileDownloads.Create(ctx, ask))(t)
	page := must(c.FileDownloads.List(ctx, nil))(t)
	c.read(t, page)
	require.Equal(t, id, page.Results[0].ID)
	for _, page := range testevents.Walked(t, c.FileDownloads.Pages(ctx, &hogapi.ListOptions{Limit: 1})) {
		require.Len(t, page.Results, 1)
	}

	early := uuid.New()
	refused(c.FileDownloads.Download(ctx, id, early, &bytes.Buffer{}, nil))(t, hogapi.ErrInvalid, 400, "still in progress")

	d := must(c.FileDownloads.Wait(ctx, id, fast))(t)
	c.read(t, d, "id")
	require.Len(t, d.Files, 3)
	require.EqualValues(t, 15000, *d.RecordsCompleted)
	objects := s.stored(t, id)
	for i, file := range d.Files {
		var got bytes.Buffer
		size := must(c.FileDownloads.Download(ctx, id, file, &got, nil))(t)
		require.Equal(t, objects[i].Size, size)
		require.Equal(t, objects[i].SHA256, sum(got.Bytes()), "byte for byte, still compressed")
	}
	require.Equal(t, "no-store", c.wire.header.Get("Cache-Control"))

	refused(c.FileDownloads.Download(ctx, id, early, &bytes.Buffer{}, nil))(t, hogapi.ErrInvalid, 400, "Invalid file id or index")
	refusal(t, c.FileDownloads.Cancel(ctx, id), hogapi.ErrInvalid, 400, "Cannot cancel a run that is in 'Completed' status")
}

func TestFileDownloadThroughFaults(t *testing.T) {
	s, c, ctx := begin(t, admin)
	id := must(c.FileDownloads.Create(ctx, events()))(t)
	d := must(c.FileDownloads.Wait(ctx, id, fast))(t)
	want := s.stored(t, id)[0]

	s.faults(t, map[string]int{"cut": 2, "expire": 1, "busy": 1})
	var got bytes.Buffer
	size := must(c.FileDownloads.Download(ctx, id, d.Files[0], &got, nil))(t)
	require.Equal(t, want.Size, size)
	require.Equal(t, want.SHA256, sum(got.Bytes()))
	require.Equal(t, 5, c.wire.others, "an expired URL, a busy storage, two cuts and the rest")

	// A failed call tells the offset to resume from, and its error has nothing of the URL.
	s.faults(t, map[string]int{"cut": 1, "expire": 100})
	once := s.client(t, admin, hogapi.WithRetryPolicy(hogapi.RetryPolicy{MaxTries: 1}))
	got.Reset()
	_, err := once.FileDownloads.Download(ctx, id, d.Files[0], &got, nil)
	var stopped *hogapi.DownloadError
	require.ErrorAs(t, err, &stopped)
	require.NotContains(t, err.Error(), "X-Amz")
	require.NotContains(t, err.Error(), s.Storage)
	s.faults(t, map[string]int{"cut": 1})
	_, err = once.FileDownloads.Download(ctx, id, d.Files[0], &got, nil)
	require.ErrorAs(t, err, &stopped)
	require.EqualValues(t, got.Len(), stopped.Offset)
	require.Positive(t, got.Len())
	size = must(once.FileDownloads.Download(ctx, id, d.Files[0], &got, &hogapi.DownloadOptions{Offset: stopped.Offset}))(t)
	require.Equal(t, want.Size, size)
	require.Equal(t, want.SHA256, sum(got.Bytes()))

	// Nothing is missing any more.
	size = must(once.FileDownloads.Download(ctx, id, d.Files[0], &got, &hogapi.DownloadOptions{Offset: want.Size}))(t)
	require.Equal(t, want.Size, size)
	require.EqualValues(t, want.Size, got.Len())

	folder := t.TempDir()
	s.faults(t, map[string]int{"cut": 1})
	paths := must(c.FileDownloads.DownloadAll(ctx, id, folder, &hogapi.FolderOptions{Extension: ".parquet"}))(t)
	require.Equal(t, []string{filepath.Join(folder, d.Files[0].String()+".parquet")}, paths)
	data := must(os.ReadFile(paths[0]))(t)
	require.Equal(t, want.SHA256, sum(data))
}

func TestFileDownloadEnds(t *testing.T) {
	_, c, ctx := begin(t, admin)

	create := func(include string) uuid.UUID {
		t.Helper()
		return must(c.FileDownloads.Create(ctx, events(include)))(t)
	}
	failed := create("fail")
	d, err := c.FileDownloads.Wait(ctx, failed, fast)
	require.ErrorIs(t, err, hogapi.ErrRunFailed)
	c.read(t, d, "id")
	require.Contains(t, *d.Error, "out of memory")
	refused(c.FileDownloads.Download(ctx, failed, uuid.New(), &bytes.Buffer{}, nil))(t, hogapi.ErrInvalid, 400, "has failed")

	waiting := create("wait")
	for seen, err := range c.FileDownloads.Watch(ctx, waiting, fast) {
		require.NoError(t, err)
		if seen.Status == hogapi.RunStatusRunning {
			break
		}
	}
	_, err = c.FileDownloads.DownloadAll(ctx, waiting, t.TempDir(), nil)
	require.ErrorContains(t, err, "wait until it is over")
	require.NoError(t, c.FileDownloads.Cancel(ctx, waiting))
	_, err = c.FileDownloads.Wait(ctx, waiting, fast)
	require.ErrorIs(t, err, hogapi.ErrRunCancelled)
	refused(c.FileDownloads.Download(ctx, waiting, uuid.New(), &bytes.Buffer{}, nil))(t, hogapi.ErrInvalid, 400, "was cancelled")

	nothing := create("nothing")
	d = must(c.FileDownloads.Wait(ctx, nothing, fast))(t)
	require.NotNil(t, d.Files)
	require.Empty(t, d.Files)
	paths := must(c.FileDownloads.DownloadAll(ctx, nothing, t.TempDir(), nil))(t)
	require.Empty(t, paths)

	expired := create("expired")
	d = must(c.FileDownloads.Wait(ctx, expired, fast))(t)
	refused(c.FileDownloads.Download(ctx, expired, d.Files[0], &bytes.Buffer{}, nil))(t, hogapi.ErrInvalid, 400, "This file download has expired")

	_, err = c.FileDownloads.Create(ctx, events("fail to start"))
	require.ErrorIs(t, err, hogapi.ErrServer)
	var answer *hogapi.APIError
	require.ErrorAs(t, err, &answer)
	require.Contains(t, answer.Detail, "failed to start")

	listed := testevents.Walked(t, c.FileDownloads.All(ctx, &hogapi.ListOptions{Limit: 2}))
	require.Len(t, listed, 5, "the one that could not start is there too")
	refused(c.FileDownloads.Get(ctx, uuid.New()))(t, hogapi.ErrNotFound, 404, "Not found.")
}

func TestFileDownloadRequests(t *testing.T) {
	s, c, ctx := begin(t, admin)

	query := hogapi.FileDownloadRequest{
		Model: hogapi.ModelHogQL, HogQLQuery: "select event as e from events where timestamp >= {data_interval_start}",
		HogQLModifiers: []byte(`{"optimizeJoinedFilters":true}`), DataIntervalStart: firstDay,
		File: hogapi.FileOptions{Compression: hogapi.FileCompressionZstd, MaxSizeMB: hogapi.Null[int]()},
	}
	for name, ask := range map[string]hogapi.FileDownloadRequest{
		"hogql":    query,
		"persons":  {Model: hogapi.ModelPersons, DataIntervalStart: firstDay, DataIntervalEnd: firstDay.AddDate(0, 0, 7)},
		"sessions": {Model: hogapi.ModelSessions, DataIntervalStart: firstDay, DataIntervalEnd: firstDay},
	} {
		_, err := c.FileDownloads.Create(ctx, ask)
		require.NoError(t, err, name)
	}

	future := events()
	future.DataIntervalStart, future.DataIntervalEnd = time.Now(), time.Now().Add(time.Hour)
	refused(c.FileDownloads.Create(ctx, future))(t, hogapi.ErrInvalid, 400, "is in the future")
	unknown := query
	unknown.HogQLQuery = "select {x} as e from events"
	refused(c.FileDownloads.Create(ctx, unknown))(t, hogapi.ErrInvalid, 400, "Unknown placeholder")
	unbound := query
	unbound.DataIntervalStart = time.Time{}
	refused(c.FileDownloads.Create(ctx, unbound))(t, hogapi.ErrInvalid, 400, "required")

	n := must(c.FileDownloads.CountRows(ctx, hogapi.CountRowsRequest{
		HogQLQuery: "select 1 as one", DataIntervalStart: firstDay, DataIntervalEnd: firstDay.Add(time.Hour),
	}))(t)
	require.EqualValues(t, 1<<40, n)
	_, err := c.FileDownloads.CountRows(ctx, hogapi.CountRowsRequest{HogQLQuery: "select sleep(40) as s"})
	refusal(t, err, hogapi.ErrInvalid, 400, "too long")
	var answer *hogapi.APIError
	require.ErrorAs(t, err, &answer)
	require.Equal(t, "timeout_exceeded", answer.Code)

	p := c.ForProject(plain)
	refused(p.FileDownloads.Create(ctx, query))(t, hogapi.ErrForbidden, 403, "HogQL batch exports are not enabled for this team.")
	refused(p.FileDownloads.CountRows(ctx, hogapi.CountRowsRequest{HogQLQuery: "select 1 as one"}))(t, hogapi.ErrForbidden, 403, "are not enabled for this team.")
	first := must(p.FileDownloads.Create(ctx, events()))(t)
	_, err = p.FileDownloads.Create(ctx, events())
	refusal(t, err, hogapi.ErrTooManyFileDownloads, 429, "Too many concurrent")
	require.NotErrorIs(t, err, hogapi.ErrRateLimited)
	must(p.FileDownloads.Wait(ctx, first, fast))(t)
	must(p.FileDownloads.Create(ctx, events()))(t)
	refused(c.FileDownloads.Get(ctx, first))(t, hogapi.ErrNotFound, 404, "Not found.")
	refused(s.client(t, reader).FileDownloads.Create(ctx, events()))(t, hogapi.ErrForbidden, 403, "batch_export:write")
}
