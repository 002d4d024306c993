package peer_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
)

// TestTheAppNotesWhatIsStrange shows that an empty list of notes means something.
func TestTheAppNotesWhatIsStrange(t *testing.T) {
	s, c, ctx := begin(t, admin)
	e := must(c.BatchExports.Create(ctx, export(destinations[0].made(t, c))))(t)
	one := "/batch_exports/" + e.ID.String() + "/"
	good := `"name":"n","interval":"hour","destination":{"type":"HTTP","config":{"url":"https://us.i.posthog.com/batch/","token":"phc_x"}}`

	for _, bad := range []struct {
		method, path, body string
		status             int // 0: noted only
	}{
		{http.MethodPost, "/batch_exports/", `{` + good + `,"title":"x"}`, 400},
		{http.MethodPost, "/batch_exports/", `{` + good + `,"paused":"true"}`, 400},
		{http.MethodPost, "/batch_exports/", `{` + good + `,"offset_hour":"3"}`, 400},
		{http.MethodPost, "/batch_exports/", `{` + good + `,"name":"m"}`, 400},
		{http.MethodPost, "/batch_exports/", `{` + good[1:] + `}`, 400},
		{http.MethodPost, "/batch_exports/", `{"interval":"hour"}`, 400},
		{http.MethodPost, "/batch_exports/", `{"name":"n","interval":"hour","destination":{"type":"HTTP","config":{"url":"https://us.i.posthog.com/batch/"}}}`, 400},
		{http.MethodPatch, one, `{"destination":{"type":"AwsS3"}}`, 500},
		{http.MethodPatch, one, `{"offset_hour":3}`, 500},
		{http.MethodPatch, one, `{"destination":{"type":"AwsS3","config":{"max_file_size_mb":"5"}}}`, 400},
		{http.MethodPost, one + "pause/", `{"paused":true}`, 0},
		{http.MethodGet, "/batch_exports/?limt=3", ``, 0},
		{http.MethodPost, one + "backfills/", `{"start_at":"2026-01-01T00:00:00Z"}`, 400},
		{http.MethodPost, "/integrations/", `{"kind":"aws-s3","config":{"name":"x","aws_role_arn":"` + role + `","secret":1}}`, 400},
		{http.MethodPost, "/file_download_batch_exports/", `{"model":"events","file":{"format":"CSV"}}`, 400},
		{http.MethodGet, "/ingestion_warnings_v2/?samples=51", ``, 400},
	} {
		request := must(http.NewRequestWithContext(ctx, bad.method, s.API+"/api/projects/1"+bad.path, strings.NewReader(bad.body)))(t)
		request.Header.Set("Authorization", "Bearer "+admin)
		request.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		body := must(io.ReadAll(answer.Body))(t)
		require.NoError(t, answer.Body.Close())
		if bad.status != 0 {
			require.Equal(t, bad.status, answer.StatusCode, "%s %s %s: %s", bad.method, bad.path, bad.body, body)
			require.True(t, json.Valid(body))
		}
		require.Len(t, s.strange(t), 1, "%s %s %s", bad.method, bad.path, bad.body)
	}

	// The storage notices a client that follows the redirect with its own headers.
	id := must(c.FileDownloads.Create(ctx, events()))(t)
	d := must(c.FileDownloads.Wait(ctx, id, fast))(t)
	leaking := &http.Client{Transport: withKey{}}
	request := must(http.NewRequestWithContext(ctx, http.MethodGet, s.API+"/api/projects/1/file_download_batch_exports/"+id.String()+"/download/", nil))(t)
	answer, err := leaking.Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusBadRequest, answer.StatusCode)
	notes := s.strange(t)
	require.Len(t, notes, 1)
	require.Contains(t, string(notes[0].What), "Authorization")
	must(c.FileDownloads.Download(ctx, id, d.Files[0], &bytes.Buffer{}, nil))(t)
}

// withKey adds the key to every request, as a careless transport does.
type withKey struct{}

func (withKey) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+admin)
	return http.DefaultTransport.RoundTrip(request)
}

func TestFileDownloadUnderTheOldPath(t *testing.T) {
	s := start(t)
	c := s.client(t, admin, hogapi.WithAPIPath("/api/environments"), hogapi.WithProject("@current"))
	ctx := t.Context()
	id := must(c.FileDownloads.Create(ctx, events()))(t)
	d := must(c.FileDownloads.Wait(ctx, id, fast))(t)
	var got bytes.Buffer
	must(c.FileDownloads.Download(ctx, id, d.Files[0], &got, nil))(t)
	require.Equal(t, s.stored(t, id)[0].SHA256, sum(got.Bytes()))
}
