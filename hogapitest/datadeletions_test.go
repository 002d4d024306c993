package hogapitest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"

	"github.com/hogapi/hogapi/hogapitest"
)

const (
	deletionQuery = "SELECT uuid FROM events WHERE properties.$import_job_id = 'job' AND timestamp >= toDateTime('2025-01-01T00:00:00Z')"
	submission    = "0190a1b2-0000-4000-8000-0000000000aa"
)

// deletion is the body of a request.
func deletion(query, id, variables string) string {
	text, err := json.Marshal(query)
	if err != nil {
		panic(err)
	}
	body := `{"query":` + string(text)
	if id != "" {
		body += `,"submission_id":"` + id + `"`
	}
	if variables != "" {
		body += `,"variables":` + variables
	}
	return body + "}"
}

func deleting(t *testing.T, options ...hogapitest.Option) *wire {
	w := inProcess(t, append(options, hogapitest.WithDataDeletions())...)
	w.importAll(upTo(12)...)
	w.importAll(1) // a copy
	w.key = hogapitest.DefaultPersonalKey
	return w
}

func TestDataDeletions(t *testing.T) {
	w := deleting(t)
	const path = "/data_deletion_requests/"
	out := w.want(200, "POST", path+"preview/", deletion(deletionQuery, "", `{}`))
	assert.Equal(t, map[string]any{"count": 13.0}, out)

	out = w.want(201, "POST", path, deletion(deletionQuery, submission, `{}`))
	for _, name := range []string{"id", "status", "query", "variables", "submission_id", "count", "created_by_id", "created_by_staff", "created_at", "updated_at", "approved_at", "stats_calculated_at"} {
		assert.Contains(t, out, name)
	}
	assert.Equal(t, []any{"pending", deletionQuery, submission, nil}, []any{out["status"], out["query"], out["submission_id"], out["count"]})
	id := out["id"].(string)

	again := w.want(200, "POST", path, deletion(deletionQuery, submission, `{}`)) // the same once more
	assert.Equal(t, out, again)
	again = w.want(400, "POST", path, deletion(deletionQuery+" AND event = 'e1'", submission, ""))
	assert.Contains(t, again["detail"], "already used")
	assert.Equal(t, "submission_id", again["attr"])
	assert.Equal(t, []any{id}, pluck(results(w.get("%s", path)), "id"))
	assert.Equal(t, out, w.get("%s%s/", path, id))

	w.project().SetDataDeletion(uuid.MustParse(id), "approved")
	out = w.get("%s%s/", path, id)
	assert.Equal(t, []any{"approved", 13.0}, []any{out["status"], out["count"]})
	assert.NotNil(t, out["approved_at"])
	assert.JSONEq(t, `[[13]]`, w.count("count()"))
	w.project().SetDataDeletion(uuid.MustParse(id), "completed")
	assert.Equal(t, "completed", w.project().DataDeletions()[0].Status)
	assert.JSONEq(t, `[[0]]`, w.count("count()"))
	assert.Equal(t, 13, w.Ledger().Len())
	w.refused(404, "not_found", "GET", path+uuid.NewString()+"/", "")
	assert.Panics(t, func() { w.project().SetDataDeletion(uuid.New(), "failed") })
}

func TestRefusedDataDeletions(t *testing.T) {
	w := deleting(t)
	long := "SELECT uuid FROM events -- " + strings.Repeat("x", 100_000)
	for _, test := range []struct{ body, attr, says string }{
		{`{}`, "query", "required"},
		{deletion("SELECT uuid FROM events", "", ""), "submission_id", "required"},
		{deletion("SELECT uuid FROM events", "7", ""), "submission_id", "valid UUID"},
		{deletion("SELECT uuid, event FROM events", submission, ""), "query", "exactly one"},
		{deletion("SELECT toString(uuid) FROM events", submission, ""), "query", "must contain event UUIDs"},
		{deletion("SELECT event FROM events", submission, ""), "query", "must contain event UUIDs"},
		{deletion("SELECT nothing FROM events", submission, ""), "query", "Unable to resolve"},
		{deletion("SELECT", submission, ""), "query", "EOF"},
		{deletion("SELECT uuid FROM events WHERE event = {name}", submission, ""), "query", "Unresolved placeholder"},
		{deletion(deletionQuery, submission, `[]`), "variables", "JSON object"},
		{deletion(deletionQuery, submission, `{"job":"job"}`), "variables", "takes no others"},
		{deletion(long, submission, ""), "query", "smaller than"},
		{strings.Replace(deletion("SELECT uuid FROM events", submission, ""), "{", `{"name":"a",`, 1), "name", "not accepted"},
	} {
		out := w.want(400, "POST", "/data_deletion_requests/", test.body)
		assert.Equal(t, test.attr, out["attr"], test.body)
		assert.Contains(t, fmt.Sprint(out["detail"]), test.says)
	}
	more := func(status int) map[string]any {
		return w.want(status, "POST", "/data_deletion_requests/", deletion("SELECT uuid FROM events", uuid.NewString(), ""))
	}
	for range 5 {
		more(201)
	}
	assert.Contains(t, more(400)["detail"], "maximum number")
	w.project().SetDataDeletion(w.project().DataDeletions()[0].ID, "failed") // makes room
	more(201)
	w.Script("data_deletions.preview", hogapitest.RateLimit("60"))
	w.refused(429, "throttled", "POST", "/data_deletion_requests/preview/", deletion("SELECT uuid FROM events", "", ""))
}

func TestDataDeletionsAreNotEnabled(t *testing.T) {
	w := inProcess(t)
	body := deletion("SELECT uuid FROM events", submission, "")
	for _, call := range [][3]string{{"GET", "", ""}, {"GET", submission + "/", ""}, {"POST", "", body}, {"POST", "preview/", body}} {
		assert.Equal(t, "Self-service data deletion is not enabled for this project.", w.refused(403, "permission_denied", call[0], "/data_deletion_requests/"+call[1], call[2]))
	}
	w = deleting(t, hogapitest.WithPersonalKey(hogapitest.DefaultPersonalKey, "query:read"))
	assert.Contains(t, w.refused(403, "permission_denied", "POST", "/data_deletion_requests/", body), "data_deletion:write")
	assert.Contains(t, w.refused(403, "permission_denied", "GET", "/data_deletion_requests/", ""), "data_deletion:read")
	w = inProcess(t, hogapitest.WithOldService(), hogapitest.WithDataDeletions())
	w.refused(404, "not_found", "GET", "/data_deletion_requests/", "")
}
