package hogapitest_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each fact of the fake has a source and a test; .ci/run docs checks that the test exists. Few are assumed.
func TestEachFactHasASourceAndATest(t *testing.T) {
	text, err := os.ReadFile("FACTS.md")
	require.NoError(t, err)
	source := regexp.MustCompile("`[^`]+`|\\]\\(https://|\\*assumed\\*|the same")
	promises, err := os.ReadFile("../docs/guarantees.md")
	require.NoError(t, err)
	rows, assumed := 0, 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| fact |") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !assert.Len(t, cells, 3, line) {
			continue
		}
		assert.Regexp(t, source, cells[1], line)
		assert.Regexp(t, "`(Test|Fuzz)[A-Z]", cells[2], line)
		rows++
		if strings.Contains(line, "*assumed*") {
			assumed++
			for _, name := range regexp.MustCompile("`((Test|Fuzz)\\w+)`").FindAllStringSubmatch(cells[2], -1) {
				assert.NotContains(t, string(promises), "`"+name[1]+"`", "a guarantee that rests on what nobody has read: %s", line)
			}
		}
	}
	assert.Greater(t, rows, 100)
	assert.LessOrEqual(t, assumed, rows/20, "facts that nobody has read")
}
