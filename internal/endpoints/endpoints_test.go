package endpoints

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/ops"
)

// No scope helps if the organization accepts no personal keys, or the key's owner is not an admin.
func TestForbiddenWhateverTheScope(t *testing.T) {
	for detail, want := range map[string]string{
		"Organization 'Acme' does not allow using personal API keys. Contact an admin": "an admin of the organization",
		"Editing an existing integration requires project admin access.":               "an admin of the project",
		"You don't have sufficient permissions in the project.":                        "an admin of the project",
	} {
		hint := Failure{Status: http.StatusForbidden, Detail: detail, Scope: "integration:write"}.Hint()
		require.Contains(t, hint, want)
		require.NotContains(t, hint, "integration:write")
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	for _, row := range All() {
		op := row.Name
		assert.Equal(t, Of(op), row, "an operation has one row")
		assert.True(t, strings.HasPrefix(row.Path, "/") && strings.HasSuffix(row.Path, "/"), row.Path)
		assert.NotZero(t, row.Replay, op)
		if row.Method == http.MethodGet {
			assert.Equal(t, Safe, row.Replay, op)
		}
	}
	for op := range alternatives {
		assert.NotZero(t, Of(op), "%s has an alternative and no row", op)
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	const key = "phx_0123456789abcdef"
	path, refusal := Of(ops.RunsGet).Expand([]string{"a", "b"})
	require.Nil(t, refusal)
	assert.Equal(t, "/batch_exports/a/runs/b/", path)
	path, refusal = Of(ops.AppMetricsHistoricalExport).Expand([]string{"1", "a b/c"})
	require.Nil(t, refusal)
	assert.Equal(t, "/app_metrics/1/historical_exports/a%20b%2Fc/", path)
	for _, id := range []string{"", "..", "a/b", "a b", key} {
		_, refusal = Of(ops.RunsGet).Expand([]string{"a", id})
		require.NotNil(t, refusal, id)
		assert.Equal(t, "id", refusal.Field)
		assert.NotContains(t, refusal.Value, key)
	}
}

func TestNilID(t *testing.T) {
	t.Parallel()
	for i, field := range []string{"{batch_export_id}", "{id}"} {
		ids := []string{uuid.NewString(), uuid.NewString()}
		ids[i] = uuid.Nil.String()
		_, refusal := Of(ops.RunsGet).Expand(ids)
		require.NotNil(t, refusal)
		assert.Equal(t, field, refusal.Field)
	}
}

func TestCustom(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]Replay{"GET": Safe, "HEAD": Safe, "POST": Never, "PUT": Never, "PATCH": Never, "DELETE": Never} {
		row, refusal := Custom(method, "/insights/", Default)
		require.Nil(t, refusal)
		assert.Equal(t, Row{ops.Do, method, "/insights/", "", want}, row)
		row, _ = Custom(method, "/insights/", Idempotent)
		assert.Equal(t, Idempotent, row.Replay)
	}
	const key = "phx_0123456789abcdef"
	for _, path := range []string{
		"insights/", "/../", "/" + key + "/", "/a/?k=" + key,
		"", "/", "//x/", "/x//y/", "/../x/", "/./x/", "/x/..", "/%2e%2e/", "/a b/", "/x#y", "https://evil/", "/\\evil/",
	} {
		_, refusal := Custom("GET", path, Default)
		require.NotNil(t, refusal, path)
		assert.Equal(t, "Path", refusal.Field)
		assert.NotContains(t, refusal.Value, key)
	}
	for _, method := range []string{"", "get", "TRACE", "CONNECT", "GET\r\n"} {
		_, refusal := Custom(method, "/a/", Default)
		require.NotNil(t, refusal, method)
		assert.Equal(t, "Method", refusal.Field)
	}
	_, refusal := Custom("GET", "/a/", Never+1)
	assert.Equal(t, "Replay", refusal.Field)
}

func TestHints(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]Failure{
		"":                              {Status: 500},
		"check the project API key":     {Op: ops.Capture, Status: 401},
		"check the personal API key":    {Status: 401},
		"no final slash":                {Op: ops.Do, Route: "/a", Status: 404},
		"does not have the operation":   {Status: 405, Code: "method_not_allowed"},
		"on this server no":             {Status: 403, Detail: "This does not support Personal API key access"},
		"; instead: Backfills.Create":   {Status: 404, Detail: "Endpoint not found.", Alternative: Alternative(ops.BatchExportsBackfill)},
		"instead: another":              {Status: 400, Alternative: "another"},
		"needs the scope x:read":        {Status: 403, Scope: "x:read"},
		"not the service's own answer":  {Status: 404, IsForeign: true},
		"are they swapped":              {Status: 404, IDs: []string{"a", "b"}},
		"backfill has ended":            {Status: 429, Code: "too_many_concurrent_backfills"},
		"asks to wait 1s":               {Status: 429, RetryAfter: 1e9},
		"carried out the call":          {Status: 303},
		"redirects are not followed":    {Status: 302},
		"ask PostHog's support":         {Status: 403, Detail: "X is not enabled for this team."},
		"no key can change that":        {Status: 403, Detail: "X is not enabled for this project."},
		"running file download":         {Status: 429, Code: "too_many_concurrent_file_downloads"},
		"this server does not have the": {Op: ops.BatchExportsTest, Status: 404, Code: "not_found"},
	} {
		hint := f.Hint()
		assert.Contains(t, hint, want)
		assert.Equal(t, want == "", hint == "")
	}
	assert.False(t, Failure{Status: 405}.IsUnsupported(), "a proxy's")
	assert.Contains(t, Failure{Op: ops.Do, Route: "/a", Status: 301}.Hint(), "no final slash")
	for _, f := range []Failure{{Op: ops.Do, Route: "/a/", Status: 404}, {Op: ops.Do, Route: "/a/", Status: 301}, {Op: ops.Do, Route: "/a", Status: 400}} {
		assert.NotContains(t, f.Hint(), "no final slash")
	}
	assert.Contains(t, CheckAdvice(ops.RunsRetry), "Backfills.Wait")
	assert.Equal(t, "check before you try again", CheckAdvice(ops.RunsCancel))
}

func TestFailureAsText(t *testing.T) {
	t.Parallel()
	f := Failure{Op: ops.BatchExportsCreate, Status: 400, Code: "required", Detail: "This field is required.", Attr: "name", RequestID: "r1", Tries: 2}
	assert.Equal(t, "batch_exports.create: 400 required: This field is required. (field name) [request r1] [2 tries]", f.String())
	assert.Equal(t, "do: 403 Forbidden; the personal API key needs the scope x:read and access to this project", Failure{Op: ops.Do, Status: 403, Scope: "x:read"}.String())
	assert.Equal(t, "do: 799", Failure{Op: ops.Do, Status: 799, Tries: 1}.String())
}
