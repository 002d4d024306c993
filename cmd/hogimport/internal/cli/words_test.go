package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/page"
	"github.com/hogapi/hogapi/formats/mixpanel"
	"github.com/hogapi/hogapi/warnings"
)

func TestReasonsAndWarningsAreSentences(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "1,475 records name no person (no distinct_id, $user_id or $device_id), so PostHog cannot store them. "+
		"Nothing can be done here. For example a.json:3.", skipText("mixpanel", mixpanel.SkipNoID, 1475, []string{"a.json:3"}))
	assert.Contains(t, skipText("ga4", mixpanel.SkipNoID, 1, nil), "1 record names no person (no user_id or user_pseudo_id), so")
	assert.Equal(t, "2 records are left out: of a later release.", skipText("ga4", "of a later release", 2, nil))
	assert.Equal(t, "1 request holds events of more than a day, which PostHog takes more slowly. Nothing is lost. For files that are not in order of time, add --sort.",
		warningText(warnings.WideBatch, 1))
	assert.Equal(t, "26 events are sent without their heatmap data.", warningText(warnings.HeatmapStrip, 26))
	for w := range meanings {
		assert.NotEmpty(t, w.Advice(), "the library has no warning %s", w)
	}
}

func TestTextsOfTheLibraryArePlain(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "is invalid; check the key", page.Plain("is invalid.; check the key"))
	assert.Equal(t, "since 23 h 45 min, not 24 h", page.Plain("since 23h45m4.316s, not 24h0m0s"))
	assert.Equal(t, "3 events of user-42", page.Plain("3 events of user-42"))
}

func TestPlacesHaveTheNumberOfTheLine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "e.json")
	require.NoError(t, os.WriteFile(path, []byte("{}\n{ }\n{}"), 0o600))
	at := func(offset int64) string {
		return placeText([]string{path}, hogapi.Position{Key: "e.json", Offset: offset})
	}
	assert.Equal(t, []string{"e.json:1", "e.json:2", "e.json:3"}, []string{at(3), at(7), at(9)})
	assert.Equal(t, "e.json (byte 99 of the unpacked text)", at(99))
	assert.Equal(t, "e.json:2: bad", withPlaces("e.json@7: bad", []string{path}, hogapi.Position{Key: "e.json", Offset: 7}))
}

// The warnings about placeholders before and after the import agree.
func TestPlaceholdersAreCountedAsOnePersonWithoutAProfile(t *testing.T) {
	assert.Equal(t, "788 events have a placeholder such as null in place of a person's id: PostHog counts all of them as one person.",
		warningText(warnings.SuspectID, 788))
	assert.Equal(t, "788 events are stored without a person's profile: their id is a placeholder, or too many events have it.",
		warningText("person_processing_disabled", 788))
}
