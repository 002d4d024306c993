package page

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hogapi/hogapi/formats/mixpanel"
	"github.com/hogapi/hogapi/warnings"
)

func TestReasonsAndWarningsAreSentences(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "1,475 records name no person (no distinct_id, $user_id or $device_id), so PostHog cannot store them. "+
		"Nothing can be done here. For example a.json:3.", SkipText("mixpanel", mixpanel.SkipNoID, 1475, []string{"a.json:3"}))
	assert.Contains(t, SkipText("ga4", mixpanel.SkipNoID, 1, nil), "1 record names no person (no user_id or user_pseudo_id), so")
	assert.Equal(t, "2 records are left out: of a later release.", SkipText("ga4", "of a later release", 2, nil))
	assert.Equal(t, "1 request holds events of more than a day, which PostHog takes more slowly. Nothing is lost. For files that are not in order of time, add --sort.",
		WarningText(warnings.WideBatch, 1))
	assert.Equal(t, "26 events are sent without their heatmap data.", WarningText(warnings.HeatmapStrip, 26))
	for w := range meanings {
		assert.NotEmpty(t, w.Advice(), "the library has no warning %s", w)
	}
}

func TestTextsOfTheLibraryArePlain(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "is invalid; check the key", Plain("is invalid.; check the key"))
	assert.Equal(t, "since 23 h 45 min, not 24 h", Plain("since 23h45m4.316s, not 24h0m0s"))
	assert.Equal(t, "3 events of user-42", Plain("3 events of user-42"))
}

// The warnings about placeholders before and after the import agree.
func TestPlaceholdersAreCountedAsOnePersonWithoutAProfile(t *testing.T) {
	assert.Equal(t, "788 events have a placeholder such as null in place of a person's id: PostHog counts all of them as one person.",
		WarningText(warnings.SuspectID, 788))
	assert.Equal(t, "788 events are stored without a person's profile: their id is a placeholder, or too many events have it.",
		WarningText("person_processing_disabled", 788))
}
