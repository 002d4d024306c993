package event_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/event"
)

// Receipts that an earlier version stored are read whole.
func TestStoredReceiptIsRead(t *testing.T) {
	var r event.Receipt
	require.NoError(t, json.Unmarshal([]byte(`{"id":"a","warnings":{"heatmap_stripped":3,"heatmap_data":1},"days":[{"day":"2026-01-02","event":"e","acknowledged":3,"unsure":2},{"day":"2026-01-03","event":"e","unconfirmed":4}]}`), &r))
	require.Equal(t, []event.DayCount{
		{Day: "2026-01-02", Event: "e", Acknowledged: 3, Unconfirmed: 2}, {Day: "2026-01-03", Event: "e", Unconfirmed: 4},
	}, r.Days)
	require.Equal(t, map[event.Warning]int64{event.WarningStripHeatmaps: 3, event.WarningHeatmap: 1}, r.Warnings)
	written, err := json.Marshal(r.Days[0])
	require.NoError(t, err)
	require.JSONEq(t, `{"day":"2026-01-02","event":"e","acknowledged":3,"rejected":0,"unconfirmed":2}`, string(written))
}
