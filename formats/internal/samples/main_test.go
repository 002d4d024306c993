package main

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReport(t *testing.T) {
	t.Parallel()
	const table = "event_id,session_id,created_at,event_name\na,s,2024-05-01 12:30:00,e\nb,s,yesterday,e\n"
	var out strings.Builder
	require.NoError(t, report(t.Context(), &out, fstest.MapFS{
		"README.md": {}, "umami/events.csv": {Data: []byte(table)}, "umami/dump.sql": {}, "umami/cut.csv": {Data: []byte(table + "a,b")},
	}))
	assert.Regexp(t, `umami/events\.csv +2 +1 +0 +1 +.*created_at: want a time`, out.String())
	assert.Regexp(t, `umami/dump\.sql +no format`, out.String())
	assert.Regexp(t, `umami/cut\.csv .*the last row is not finished`, out.String())
	assert.NotContains(t, out.String(), "README")
}
