package flows_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// Who looks for the reason of a failure of two weeks ago finds it: the newest servers look back 7 days only, unless a time is sent.
func TestLogsOfTwoWeeksAgo(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	server := hogapitest.New(hogapitest.WithClock(func() time.Time { return now }))
	client, project := server.Client(t), defaultProject(server)
	export, download := project.AddExport(hogapitest.Export{}), project.AddFileDownload(hogapitest.FileDownload{})
	for _, id := range []uuid.UUID{export, download} {
		project.AddLog(id, hogapitest.LogEntry{Time: now.AddDate(0, 0, -14), Level: "ERROR", Message: "no such bucket"})
		project.AddLog(id, hogapitest.LogEntry{Time: now.AddDate(0, 0, -1), Message: "100% of a_b"})
		project.AddLog(id, hogapitest.LogEntry{Time: now, Message: "100 of aXb"})
	}
	logs, all := client.BatchExports.Logs, client.BatchExports.AllLogs
	for _, id := range []uuid.UUID{export, download} {
		for o, want := range map[*hogapi.LogOptions][]string{
			nil: {"100 of aXb", "100% of a_b", "no such bucket"}, {Before: now.AddDate(0, 0, -8)}: {"no such bucket"},
			{After: now.AddDate(0, 0, -2)}: {"100 of aXb", "100% of a_b"}, {Search: "0%"}: {"100% of a_b"}, {Search: "A_B"}: {"100% of a_b"},
		} {
			page, err := logs(t.Context(), id, o)
			require.NoError(t, err)
			assert.Equal(t, want, messages(page.Results))
			var walked []hogapi.LogEntry
			for entry, err := range all(t.Context(), id, o) {
				require.NoError(t, err)
				walked = append(walked, entry)
			}
			assert.Equal(t, want, messages(walked))
		}
		logs, all = client.FileDownloads.Logs, client.FileDownloads.AllLogs
	}
}

func messages(entries []hogapi.LogEntry) (list []string) {
	for _, entry := range entries {
		list = append(list, entry.Message)
	}
	return list
}
