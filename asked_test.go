package hogapi

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/require"
)

// An answer about another thing than the one that was asked for is not taken for it.
func TestAnswerOfAnotherID(t *testing.T) {
	asked, other := fileA, uuid.MustParse("0190e0a2-0000-7000-8000-0000000000ee")
	ctx := t.Context()
	for name, tt := range map[string]struct {
		get         func(*Client) error
		good, wrong string
	}{
		"dashboard":   {func(c *Client) error { _, err := c.Dashboards.Get(ctx, 5); return err }, `{"id":5}`, `{"id":7}`},
		"integration": {func(c *Client) error { _, err := c.Integrations.Get(ctx, 5); return err }, `{"id":5}`, `{"id":7}`},
		"export":      {func(c *Client) error { _, err := c.BatchExports.Get(ctx, asked); return err }, `{"id":"ID"}`, ""},
		"update": {func(c *Client) error {
			_, err := c.BatchExports.Update(ctx, asked, BatchExportUpdateRequest{Name: Set("n")})
			return err
		}, `{"id":"ID"}`, ""},
		"run":      {func(c *Client) error { _, err := c.Runs.Get(ctx, exportA, asked); return err }, `{"id":"ID","status":"Running"}`, ""},
		"backfill": {func(c *Client) error { _, err := c.Backfills.Get(ctx, exportA, asked); return err }, `{"id":"ID","status":"Running"}`, ""},
		"file download": {
			func(c *Client) error { _, err := c.FileDownloads.Get(ctx, asked); return err }, `{"status":"Running"}`, `{"id":"ID","status":"Running"}`,
		},
		"historical export": {
			func(c *Client) error { _, err := c.AppMetrics.HistoricalExport(ctx, "1", "job"); return err },
			`{"summary":{"job_id":"job","status":"success"}}`, `{"summary":{"job_id":"another","status":"success"}}`,
		},
	} {
		client, mock := newTestClient(t)
		answer := func(body string, id uuid.UUID) {
			mock.RegisterNoResponder(func(*http.Request) (*http.Response, error) {
				return httpmock.NewStringResponse(200, strings.ReplaceAll(body, "ID", id.String())), nil
			})
		}
		answer(tt.good, asked)
		require.NoError(t, tt.get(client), name)
		wrong := tt.wrong
		if wrong == "" {
			wrong = tt.good
		}
		answer(wrong, other)
		var undecoded *DecodeError
		require.ErrorAs(t, tt.get(client), &undecoded, name)
		require.ErrorContains(t, undecoded, "asked for", name)
	}
}
