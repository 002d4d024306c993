package hogapi_test

import (
	"errors"
	"math"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// What a Capture refuses can be kept in the form in which an import writes its reject file.
func TestRefusalsOfACaptureHaveTheLinesOfAnImport(t *testing.T) {
	t.Parallel()
	past := time.Date(2024, 5, 1, 12, 30, 0, 0, time.UTC)
	events := []hogapi.Event{
		{DistinctID: "ann", Timestamp: past},
		{Name: "a", DistinctID: "ann", Timestamp: past, Properties: map[string]any{"x": math.NaN(), "y": 1}},
		{Name: "a", DistinctID: "ann", Timestamp: past, RawProperties: []byte("{")},
		hogapi.BadEvent(hogapi.Position{}, []byte("no JSON\xff"), errors.New("want JSON")),
	}
	want := rejectLines(t, eventsOf(events...))
	require.Len(t, want, len(events))

	capture, err := hogapitest.New().Client(t).NewCapture(hogapi.CaptureOptions{ID: "rejects"})
	require.NoError(t, err)
	defer func() { _, _ = capture.Close(t.Context()) }()
	i := 0
	for ev := range eventsOf(events...).Events(t.Context(), hogapi.Position{}) {
		refusal, refused := errors.AsType[*hogapi.EventError](capture.Enqueue(t.Context(), ev))
		require.True(t, refused)
		reject := hogapi.NewReject(ev, refusal)
		reject.UUID = ev.Position.UUID("rejects") // an import knows it
		line, err := reject.Line()
		require.NoError(t, err)
		assert.Equal(t, regexp.MustCompile(`,"by":"rejects/[0-9a-f]{12}"`).ReplaceAllString(want[i], ""), string(line))
		i++
	}
}
