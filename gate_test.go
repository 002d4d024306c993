package hogapi

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"iter"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/internal/wire/wiretest"
	"github.com/hogapi/hogapi/reasons"
	"github.com/hogapi/hogapi/warnings"
)

// like is the event of the tests, changed.
func like(changes ...func(*Event)) Event {
	ev := testEvent()
	for _, change := range changes {
		change(&ev)
	}
	return ev
}

// eventsOf are events with the fields of others.
func eventsOf(list ...wire.Fields) (events []Event) {
	for _, f := range list {
		events = append(events, Event{
			Name: f.Name, DistinctID: f.DistinctID, Timestamp: f.Timestamp, Properties: f.Properties, RawProperties: f.RawProperties,
			Set: f.Set, SetOnce: f.SetOnce, UUID: f.UUID,
		})
	}
	return events
}

// sourceOf is a source of events at places of their own.
func sourceOf(list ...Event) Source {
	return SourceFunc("rules", func(context.Context, Position) iter.Seq2[Event, error] {
		return func(yield func(Event, error) bool) {
			for i, ev := range list {
				ev.Position = Position{Offset: int64(i + 1)}
				if !yield(ev, nil) {
					return
				}
			}
		}
	})
}

// Check reports each rule, with where it was broken and what to do. It does not know the protocol: what capture v1 alone drops is a
// warning.
func TestCheckReportsEachRule(t *testing.T) {
	t.Parallel()
	for _, rule := range wiretest.Rules {
		want := rule.Want[wire.ProtocolUnknown]
		if want == (wiretest.Effect{}) {
			continue
		}
		t.Run(rule.ID, func(t *testing.T) {
			t.Parallel()
			o := ImportOptions{ID: "golden", Gate: GateOptions{AllowMergeDangerously: rule.Settings.AllowMergeDangerously}, MaxRejectShare: -1}
			report, err := Check(t.Context(), sourceOf(append([]Event{testEvent()}, eventsOf(rule.Hits...)...)...), &o)
			require.NoError(t, err)
			found, line := report.Warnings[Warning(want.Warning)], "warning, "+want.Warning
			if want.Reason != "" {
				found, line = report.Reasons[Reason(want.Reason)], "refused, "+want.Reason
			} else {
				assert.Contains(t, report.String(), " ("+Warning(want.Warning).Advice()+")")
			}
			assert.EqualValues(t, len(rule.Hits), found.Count)
			assert.EqualValues(t, 2, found.Examples[0].Position.Offset)
			assert.Contains(t, report.String(), line)
		})
	}
}

// An event with several faults is refused for the first, and all are listed: in the error, in the report, in the reject file.
func TestAllFaultsAreListed(t *testing.T) {
	t.Parallel()
	bad := like(func(e *Event) {
		e.Name, e.DistinctID, e.Timestamp, e.Properties = "$$heatmap", "null", time.Time{}, nil
		e.RawProperties = json.RawMessage(`{"$groups":7}`)
	})
	bad.Position = Position{Offset: 7}
	_, _, refusal := newRehearsal("golden", GateOptions{}, ProtocolBatch, nil, maphash.MakeSeed()).next(&bad)
	require.NotNil(t, refusal)
	assert.Equal(t, reasons.Dropped, refusal.Reason)
	assert.Equal(t, Position{Offset: 7}, refusal.Position)
	require.ErrorIs(t, refusal, ErrInvalid)
	require.Len(t, refusal.Also, 2)
	assert.Regexp(t, `^hogapi: event refused: dropped: event "\$\$heatmap": .*; also no_timestamp: timestamp: .*; also bad_special: properties.\$groups: .* \(at 7\)$`, refusal.Error())

	also := Reject{Err: refusal}.line("", false).Note.Also
	require.Len(t, also, 2)
	assert.Equal(t, "no_timestamp: timestamp: want the time of the event", also[0])
	assert.Contains(t, also[1], "bad_special: properties.$groups: ")

	report, err := Check(t.Context(), sourceOf(bad), &ImportOptions{ID: "golden", MaxRejectShare: -1})
	require.NoError(t, err)
	assert.EqualValues(t, 1, report.Rejected)
	for _, reason := range []Reason{reasons.Dropped, reasons.NoTimestamp, reasons.BadSpecial} {
		assert.EqualValues(t, 1, report.Reasons[reason].Count, reason)
		assert.Contains(t, report.String(), "refused, "+string(reason)+": 1")
	}
	assert.Len(t, report.Reasons, 3)
}

// The guide has a row for each rule, with the words that reports have for it.
func TestGuideHasEachRule(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("docs/historical-import.md")
	require.NoError(t, err)
	for _, rule := range wiretest.Rules {
		row := regexp.MustCompile(`(?m)^\| `+rule.ID+` \|.*$`).FindAllString(string(guide), -1)
		require.Len(t, row, 1, rule.ID)
		for _, want := range rule.Want {
			for _, word := range []string{want.Reason, want.Warning} {
				if word != "" {
					assert.Contains(t, row[0], "`"+word+"`")
				}
			}
		}
	}
	for _, name := range wire.WarningNames() {
		w := Warning(name)
		assert.NotEmpty(t, w.Advice(), w)
		assert.True(t, strings.Contains(string(guide), "`"+string(w)+"`"), w) //nolint:testifylint // it would print the guide
	}
}

// G32: Check finds two events of one uuid, and whether they could ever be merged.
func TestUUIDConflict(t *testing.T) {
	second := like(func(e *Event) { e.Properties = map[string]any{"other": true} })
	report, err := Check(t.Context(), sourceOf(testEvent(), second, like(func(e *Event) { e.Timestamp = e.Timestamp.Add(-time.Hour) })), &ImportOptions{ID: "golden"})
	require.NoError(t, err)
	assert.EqualValues(t, 2, report.DoubleUUIDs.Count)
	assert.Zero(t, report.Warnings[warnings.UUIDConflict].Count, "of one name, person and day")
	assert.EqualValues(t, 2, report.Warnings[warnings.UUIDReuse].Count)
	report, err = Check(t.Context(), sourceOf(testEvent(), like(func(e *Event) { e.Name = "other" }), like(func(e *Event) { e.DistinctID = "bob" }), like(func(e *Event) { e.Timestamp = e.Timestamp.Add(-20 * time.Hour) })), &ImportOptions{ID: "golden"})
	require.NoError(t, err)
	assert.EqualValues(t, 3, report.DoubleUUIDs.Count)
	assert.EqualValues(t, 3, report.Warnings[warnings.UUIDConflict].Count)
	assert.Contains(t, report.String(), "warning, uuid_conflict: 3 (")
}

// G36: an id for which the service would guess a type other than text is refused when the import starts.
func TestImportIDs(t *testing.T) {
	for id, good := range map[string]bool{
		"": false, "2024": false, "-1.5e3": false, "true": false, "False": false, "2024-03-01": false, "01/03/2024": false, "2024-03-01T10:00:00Z": false,
		"hogapi-2024": true, "2024-mixpanel": true, "truest": true, "v1.2": true, "2024-03-01-mixpanel": true, "1e": true,
	} {
		_, err := Check(t.Context(), sourceOf(testEvent()), &ImportOptions{ID: id})
		assert.Equal(t, good, err == nil, "%q: %v", id, err)
		if !good {
			require.ErrorIs(t, err, ErrInvalid)
		}
	}
}

// G20: a project has room for five group types.
func TestCheckCountsGroupTypes(t *testing.T) {
	var list []Event
	for i := range 7 {
		list = append(list, like(func(e *Event) {
			e.Properties, e.RawProperties = nil, json.RawMessage(fmt.Sprintf(`{"$groups":{"type %d":"1"}}`, i))
		}))
	}
	report, err := Check(t.Context(), sourceOf(list...), &ImportOptions{ID: "golden"})
	require.NoError(t, err)
	assert.EqualValues(t, 2, report.Warnings[warnings.GroupTypes].Count)
	assert.Contains(t, report.String(), "warning, group_types: 2 (")
}

// The options reach the gate.
func TestGateOptions(t *testing.T) {
	now := func() time.Time { return testNow }
	got := GateOptions{MinAge: -1, PersonPolicy: PersonPolicyStrip, NoHeatmaps: true, AllowMergeDangerously: true}.rules(wire.ProtocolV1, now)
	require.NotNil(t, got.Now)
	got.Now = nil
	assert.Equal(t, wire.Rules{
		MinAge: -1, PersonPolicy: wire.PersonPolicyStrip, StripHeatmaps: true, AllowMergeDangerously: true, Protocol: wire.ProtocolV1,
	}, got)
	assert.Equal(t, wire.PersonPolicySetOnce, GateOptions{PersonPolicy: PersonPolicySetOnce}.rules(0, now).PersonPolicy)
	assert.Zero(t, GateOptions{}.rules(0, nil))
}

// The words that package wire has for reasons are those of this package.
func TestReasonsOfTheGate(t *testing.T) {
	for word, reason := range map[string]Reason{
		wire.ReasonNoName: reasons.NoName, wire.ReasonDropped: reasons.Dropped, wire.ReasonNoDistinctID: reasons.NoDistinctID,
		wire.ReasonTwoDistinctIDs: reasons.TwoDistinctIDs, wire.ReasonNUL: reasons.NUL, wire.ReasonTooLong: reasons.TooLong,
		wire.ReasonNoTimestamp: reasons.NoTimestamp, wire.ReasonBadTimestamp: reasons.BadTimestamp, wire.ReasonFuture: reasons.Future,
		wire.ReasonTooYoung: reasons.TooYoung, wire.ReasonBadUUID: reasons.BadUUID, wire.ReasonNoIdentity: reasons.NoIdentity,
		wire.ReasonIdentityFull: reasons.IdentityFull, wire.ReasonTooLarge: reasons.TooLarge, wire.ReasonBadUTF8: reasons.BadUTF8,
		wire.ReasonBadNumber: reasons.BadNumber, wire.ReasonBadProperties: reasons.BadProperties, wire.ReasonBadSpecial: reasons.BadSpecial,
		wire.ReasonBadMerge: reasons.BadMerge, wire.ReasonDangerousMerge: reasons.DangerousMerge, wire.ReasonCookieless: reasons.Cookieless,
	} {
		assert.Equal(t, reason, Reason(word))
	}
}
