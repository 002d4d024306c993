package testevents

import (
	"encoding/json"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/ledger"
)

// SavedState is the receipt and the place in a state that a checkpoint keeps. Users cannot read it; a
// test may.
func SavedState(state []byte) (hogapi.Receipt, hogapi.Position, error) {
	var s struct {
		Import, Source string
		Protocol       hogapi.Protocol
		Finished       bool
		State          ledger.State
	}
	err := json.Unmarshal(state, &s)
	t := s.State.Totals
	r := hogapi.Receipt{
		ID: s.Import, Source: s.Source, Protocol: s.Protocol, Finished: s.Finished, Read: t.Read, Acknowledged: t.Acknowledged, Rejected: t.Rejected, Unconfirmed: t.Unconfirmed, Skipped: t.Skipped, Resent: t.Resent, ResentAtLeast: t.ResentAtLeast,
		First: t.First, Last: t.Last, Oldest: t.Oldest, Newest: t.Newest, LastAcknowledged: t.LastAcknowledged, Digest: t.Digest.String(), Days: []event.DayCount{},
		Rejects: t.Rejects, Skips: t.Skips, Warnings: t.Warnings,
	}
	for _, row := range s.State.Rows() {
		r.Days = append(r.Days, event.DayCount{
			Day: row.Period, Event: row.Name, Acknowledged: row.Acknowledged, Rejected: row.Rejected, Unconfirmed: row.Unconfirmed,
			Digest: row.Sent.String(),
		})
	}
	return r, s.State.Position, err
}

// SavedReceipt is the receipt in a state that a checkpoint keeps.
func SavedReceipt(t T, state []byte) hogapi.Receipt {
	t.Helper()
	r, _, err := SavedState(state)
	require.NoError(t, err)
	return r
}
