package hogapi

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/pipeline"
	"github.com/hogapi/hogapi/internal/resume"
	"github.com/hogapi/hogapi/internal/statefile"
)

// The runbook has a row for each reason of a stop and each checkpoint that is refused, and quotes what the errors say.
func TestRunbook(t *testing.T) {
	page, err := os.ReadFile("docs/historical-import.md")
	require.NoError(t, err)
	_, runbook, found := strings.Cut(string(page), "## When it stops")
	require.True(t, found)
	var rows strings.Builder // the first cell of each
	for line := range strings.Lines(runbook) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			rows.WriteString(cells[1])
		}
	}
	first := rows.String()
	public, err := os.ReadFile("stop.go")
	require.NoError(t, err)
	reasons := regexp.MustCompile(`StopReason = "(\w+)"`).FindAllSubmatch(public, -1)
	require.NotEmpty(t, reasons)
	for _, reason := range reasons {
		assert.Contains(t, first, "`"+string(reason[1])+"`")
		assert.NotEmpty(t, pipeline.Hint(string(reason[1])), "the error itself says what to do about %s", reason[1])
	}
	assert.Contains(t, first, strings.TrimPrefix(ErrHeld.Error(), "hogapi: "))
	for _, raw := range []string{
		`{`,
		`{"version":1}`,
		`{"version":2,"import":"other"}`,
		`{"version":2,"import":"one","source":"other"}`,
	} {
		_, err := resume.Read[Position]([]byte(raw), resume.Of{Import: "one", Target: "target", Source: "file"})
		var refusal *statefile.UnfitError
		require.ErrorAs(t, err, &refusal)
		assert.Contains(t, first, "`"+refusal.Field+"`")
	}
}
