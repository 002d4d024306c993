package hogapi

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const deletionID = "0190e0a2-0000-7000-8000-0000000000d1"

func deletionJSON(submission, query, more string) string {
	b, err := json.Marshal(query)
	if err != nil {
		panic(err)
	}
	return `{"id":"` + deletionID + `","status":"pending","query":` + string(b) + `,"variables":{},"submission_id":"` + submission + `","count":null,` +
		`"created_by_id":7,"created_by_staff":false,"created_at":"2026-11-22T10:00:00Z","updated_at":"2026-11-22T10:00:00Z","approved_at":null,"stats_calculated_at":null` + more + `}`
}

// deletions returns a client over a service that takes every request, and the bodies of the requests.
func deletions(t *testing.T, respond func(body map[string]any) (int, string)) (*Client, *[]map[string]any) {
	t.Helper()
	var sent []map[string]any
	client := newFakeClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		body := map[string]any{}
		if r.Body != nil {
			raw, err := io.ReadAll(r.Body)
			assert.NoError(t, err)
			assert.NoError(t, json.Unmarshal(raw, &body))
		}
		body["call"] = r.Method + " " + strings.TrimPrefix(r.URL.Path, "/api/projects/12345")
		sent = append(sent, body)
		status, text := respond(body)
		return answer(r, status, text), nil
	}))
	return client, &sent
}

// A request has one query of one column, and the same submission however often it is made.
func TestDataDeletionCreate(t *testing.T) {
	client, sent := deletions(t, func(body map[string]any) (int, string) {
		submission, _ := body["submission_id"].(string)
		query, _ := body["query"].(string)
		return 201, deletionJSON(submission, query, `,"new":1`)
	})
	const want = "SELECT uuid FROM events WHERE properties.$import_job_id = 'it\\'s{start_at}--'" +
		" AND timestamp >= toDateTime('1900-01-01T00:00:00Z') AND timestamp < toDateTime('2300-01-01T00:00:00Z')"
	for range 2 {
		d, err := client.DataDeletions.Create(t.Context(), DataDeletionRequest{ImportID: "it's{start_at}--"})
		require.NoError(t, err)
		assert.Equal(t, DataDeletionStatusPending, d.Status)
		assert.Equal(t, want, d.Query)
		assert.Nil(t, d.ApprovedAt)
		assert.Nil(t, d.Count)
		assert.EqualValues(t, 7, *d.CreatedByID)
	}
	assert.Equal(t, (*sent)[0], (*sent)[1], "the same request")
	assert.Equal(t, "POST /data_deletion_requests/", (*sent)[0]["call"])
	assert.Equal(t, want, (*sent)[0]["query"])
	assert.Equal(t, map[string]any{}, (*sent)[0]["variables"])

	other := DataDeletionRequest{ImportID: "hogapi-b", From: time.Date(2024, 3, 1, 0, 0, 0, 0, time.FixedZone("", 3600)), Until: time.Date(2024, 4, 1, 0, 0, 0, 0, time.UTC)}
	_, err := client.DataDeletions.Create(t.Context(), other)
	require.NoError(t, err)
	assert.Contains(t, (*sent)[2]["query"], "timestamp >= toDateTime('2024-02-29T23:00:00Z') AND timestamp < toDateTime('2024-04-01T00:00:00Z')")
	assert.NotEqual(t, (*sent)[0]["submission_id"], (*sent)[2]["submission_id"])
	other.SubmissionID = uuid.MustParse(deletionID)
	_, err = client.DataDeletions.Create(t.Context(), other)
	require.NoError(t, err)
	assert.Equal(t, deletionID, (*sent)[3]["submission_id"])
}

// An answer about something else than the request is not a success.
func TestDataDeletionOfAnother(t *testing.T) {
	for name, change := range map[string]func(submission, query string) string{
		"another submission": func(_, query string) string { return deletionJSON(deletionID, query, "") },
		"another query":      func(s, _ string) string { return deletionJSON(s, "SELECT uuid FROM events", "") },
		"nothing":            func(_, _ string) string { return `{}` },
	} {
		client, _ := deletions(t, func(body map[string]any) (int, string) {
			submission, _ := body["submission_id"].(string)
			query, _ := body["query"].(string)
			return 201, change(submission, query)
		})
		_, err := client.DataDeletions.Create(t.Context(), DataDeletionRequest{ImportID: "hogapi-a"})
		require.ErrorAs(t, err, new(*DecodeError), name)
	}
}

func TestDataDeletionPreview(t *testing.T) {
	text := `{"count":1200}`
	client, sent := deletions(t, func(map[string]any) (int, string) { return 200, text })
	count, err := client.DataDeletions.Preview(t.Context(), DataDeletionRequest{ImportID: "hogapi-a"})
	require.NoError(t, err)
	assert.EqualValues(t, 1200, count)
	assert.Equal(t, "POST /data_deletion_requests/preview/", (*sent)[0]["call"])
	assert.NotContains(t, (*sent)[0], "submission_id")
	for _, text = range []string{`{}`, `{"count":-1}`, `[]`, `<html>`} {
		_, err := client.DataDeletions.Preview(t.Context(), DataDeletionRequest{ImportID: "hogapi-a"})
		require.ErrorAs(t, err, new(*DecodeError), text)
	}
}

// If a deletion cannot be requested, the error says why and how to continue.
func TestDataDeletionErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		body   string
		is     error
		want   string
	}{
		"not enabled": {403, `{"type":"authentication_error","code":"permission_denied","detail":"Self-service data deletion is not enabled for this project.","attr":null}`, ErrForbidden, "PostHog's support deletes events on request"},
		"no scope":    {403, `{"type":"authentication_error","code":"permission_denied","detail":"API key missing required scope 'data_deletion:write'","attr":null}`, ErrForbidden, "data_deletion:write"},
		"older":       {404, `{"type":"invalid_request","code":"not_found","detail":"Endpoint not found.","attr":null}`, ErrUnsupported, "PostHog's support deletes events on request"},
		"too many":    {400, `{"type":"validation_error","code":"invalid_input","detail":"This project already has the maximum number of active deletion requests.","attr":"detail"}`, ErrInvalid, "maximum number"},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := deletions(t, func(map[string]any) (int, string) { return tt.status, tt.body })
			_, err := client.DataDeletions.Create(t.Context(), DataDeletionRequest{ImportID: "hogapi-a"})
			require.ErrorIs(t, err, tt.is)
			require.ErrorContains(t, err, tt.want)
			_, err = client.DataDeletions.Preview(t.Context(), DataDeletionRequest{ImportID: "hogapi-a"})
			require.ErrorIs(t, err, tt.is)
		})
	}
	client, sent := deletions(t, func(map[string]any) (int, string) { return 200, `{}` })
	for field, request := range map[string]DataDeletionRequest{
		"ImportID": {}, "Until": {ImportID: "a", From: time.Unix(10, 0), Until: time.Unix(9, 0)},
	} {
		_, err := client.DataDeletions.Create(t.Context(), request)
		input := new(InputError)
		require.ErrorAs(t, err, &input)
		assert.Equal(t, field, input.Field)
	}
	_, err := client.DataDeletions.Preview(t.Context(), DataDeletionRequest{ImportID: "2024-01-01"})
	require.ErrorIs(t, err, ErrInvalid, "an id that selects nothing")
	assert.Empty(t, *sent)
}
