package formats_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/segment"
	"github.com/hogapi/hogapi/history"
)

// Two devices with the same placeholder as user are two persons. A merge of them cannot be undone.
func TestPlaceholdersAreNotLinked(t *testing.T) {
	t.Parallel()
	for _, id := range []string{
		"NULL", "Null", "null", "nil", "nan", "NaN", "undefined", "none", "None", "n/a", "N/A", "(not set)", "unknown", "Guest", "anonymous", "ANONYMOUS",
		"user", "test", "-1", "0", "00000000-0000-0000-0000-000000000000", "[object Object]", `""`, `''`, "device 000000000000", `\N`, "(null)", " unknown ",
	} {
		text := ""
		for i, device := range []string{"an1", "an2"} {
			text += fmt.Sprintf(`{"type":"identify","messageId":"m%d","anonymousId":%q,"userId":%q,"timestamp":"2023-05-01T10:00:0%dZ"}`+"\n", i, device, id, i)
			text += fmt.Sprintf(`{"type":"alias","messageId":"a%d","previousId":%q,"userId":%q,"timestamp":"2023-05-01T10:00:0%dZ"}`+"\n", i, device, id, i)
		}
		source := history.Files(segment.Format(nil), write(t, "calls.jsonl", text))
		report, err := formats.PlanLinks(t.Context(), source, nil)
		require.NoError(t, err)
		assert.Zero(t, report.Persons, "%q", id)
		assert.Equal(t, []formats.LeftOutID{{ID: id, Events: 4}}, report.Placeholders)
		assert.Equal(t, map[string]int64{formats.SkipPlaceholder: 1}, report.Left)

		merges, skipped := 0, 0
		for ev, err := range formats.WithoutPlaceholders(source).Events(t.Context(), hogapi.Position{}) {
			require.NoError(t, err)
			if reason, isSkipped := ev.Skipped(); isSkipped {
				assert.Equal(t, formats.SkipPlaceholderMerge, reason)
				skipped++
			} else if ev.Properties["$anon_distinct_id"] != nil || slices.Contains([]string{"$create_alias"}, ev.Name) {
				merges++
			}
			assert.NotContains(t, string(ev.RawProperties), `"$anon_distinct_id"`)
		}
		assert.Equal(t, []int{0, 2}, []int{merges, skipped}, "%q", id)

		report, err = formats.PlanLinks(t.Context(), source, &formats.LinksOptions{RealIDs: []string{id}})
		require.NoError(t, err)
		assert.EqualValues(t, 1, report.Persons, "%q is the id of somebody", id)
		report, err = formats.PlanLinks(t.Context(), source, &formats.LinksOptions{Placeholders: true})
		require.NoError(t, err)
		assert.EqualValues(t, 1, report.Persons, "%q, as an import began", id)
	}
	for _, id := range []string{"users", "12", "01", "tester@example.com", "nobody"} {
		assert.False(t, formats.IsPlaceholder(id), id)
	}
}

// The numbers of links are positions, so an import that resumes within them needs each time the same order.
func TestPlaceholdersAmongLinks(t *testing.T) {
	t.Parallel()
	at := time.Date(2023, 5, 1, 10, 0, 0, 0, time.UTC)
	source := each(
		hogapi.Event{Name: "a", DistinctID: "u1", AnonymousID: "d1", UserIDs: []string{"NULL"}, Timestamp: at},
		hogapi.Event{Name: "a", DistinctID: "unknown", AnonymousID: "d2", UserIDs: []string{"u2"}, Timestamp: at},
		hogapi.Event{Name: "a", DistinctID: "u2", AnonymousID: "0", Timestamp: at},
	)
	var first []string
	for range 5 {
		var got []string
		for ev, err := range formats.Links(source).Events(t.Context(), hogapi.Position{}) {
			require.NoError(t, err)
			reason, _ := ev.Skipped()
			got = append(got, fmt.Sprint(ev.Position.Offset, " ", ev.DistinctID, " ", ev.Properties["$anon_distinct_id"], " ", reason))
		}
		assert.Len(t, got, 4, "u1 with d1, and three placeholders: %s", got)
		if first == nil {
			first = got
		}
		assert.Equal(t, first, got)
	}
}
