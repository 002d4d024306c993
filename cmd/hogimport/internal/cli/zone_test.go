package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/clitest"
	"github.com/hogapi/hogapi/hogapitest"
)

// Times of a project in Pacific time look like UTC, and would be stored 8 hours wrong: run says so before it sends.
func TestLocalTimesAreNamedBeforeTheyAreSent(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	p := clitest.New(t, server)
	export(t, p.Dir, "e.json", 300, 0, pacific(t))
	args := []string{"run", "e.json", "--format", "mixpanel", "--rate", "none", "--yes", "--state"}
	said := func(args ...string) string {
		r := p.Run(t, args...)
		require.Equal(t, 0, r.Code, r.Stderr)
		return strings.Join(strings.Fields(r.Stderr), " ")
	}
	const local = "hogimport: warning: the times look local, not UTC"
	text := said(append(args, "none")...)
	assert.Contains(t, text, local)
	assert.Contains(t, text, "add --zone America/Los_Angeles")
	assert.NotContains(t, said(append(args, "none")...), local, "once it is sent it is too late")

	text = said(append(args, "right", "--zone", "US/Pacific")...)
	assert.NotContains(t, text, "warning: the times", "US/Pacific has the clocks of Los Angeles")
	assert.NotContains(t, text, "--zone")
	assert.Contains(t, said(append(args, "other", "--zone", "Asia/Tokyo")...), "warning: the times do not fit Asia/Tokyo")

	lines := said(append(args, "json", "--log", "json")...)
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
