package cli_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// Times of a project in Pacific time look like UTC, and would be stored 8 hours wrong: run says so before it sends.
func TestLocalTimesAreNamedBeforeTheyAreSent(t *testing.T) {
	t.Parallel()
	server, p := clitest.Serve(t)
	export(t, p.Dir, "e.json", 300, 0, pacific(t))
	args := []string{"run", "e.json", "--format", "mixpanel", "--rate", "none", "--yes", "--state"}
	said := func(args ...string) string {
		r := p.Ends(t, 0, args...)
		return strings.Join(strings.Fields(r.Stderr), " ")
	}
	refused := p.Ends(t, 2, append(args, "none")...)
	says(t, refused.Stderr, "hogimport: the times look local, not UTC: most events would be stored at the wrong hour. Nothing was sent")
	says(t, refused.Stderr, "give --zone America/Los_Angeles, which fits, or another zone with these clocks; or --zone UTC to send the times as they are")
	assert.Empty(t, server.Calls(ops.Capture))
	assert.NoFileExists(t, filepath.Join(p.Dir, "none/import.json"))

	const local = "hogimport: warning: the times look local, not UTC"
	text := said(append(args, "utc", "--zone", "UTC")...)
	assert.Contains(t, text, local, "it is said all the same")
	assert.NotContains(t, said(append(args, "utc", "--zone", "UTC")...), local, "once it is sent it is too late")

	text = said(append(args, "right", "--zone", "US/Pacific")...)
	assert.NotContains(t, text, "warning: the times", "US/Pacific has the clocks of Los Angeles")
	assert.NotContains(t, text, "--zone")
	assert.Contains(t, said(append(args, "other", "--zone", "Asia/Tokyo")...), "warning: the times do not fit Asia/Tokyo")

	lines := said(append(args, "json", "--log", "json", "--zone", "UTC")...)
	var warned bool
	for line := range strings.SplitSeq(strings.ReplaceAll(lines, "} {", "}\n{"), "\n") {
		var fields struct{ Level, Msg string }
		require.NoError(t, json.Unmarshal([]byte(line), &fields), line)
		warned = warned || fields.Level == "WARN" && strings.Contains(fields.Msg, "look local")
	}
	assert.True(t, warned, lines)
}

func TestFilesWhoseZoneCannotBeTested(t *testing.T) {
	t.Parallel()
	p := clitest.New(t, hogapitest.New())
	mixpanelExport(t, p, 30)
	run := []string{"run", "export/*.gz", "--format", "mixpanel", "--yes", "--rate", "none"}
	r := p.Run(t, append(run, "--state", "a")...)
	assert.Contains(t, strings.Join(strings.Fields(r.Stderr), " "), "warning: the time zone could not be tested")
	r = p.Run(t, append(run, "--state", "b", "--zone", "US/Pacific")...)
	assert.NotContains(t, r.Stderr, "warning")
}
