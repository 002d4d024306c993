package engine

import (
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/ledger"
)

// ReceiptOf returns the receipt of a state.
func ReceiptOf(id, source string, s ledger.State) event.Receipt {
	t := s.Totals
	r := event.Receipt{
		ID: id, Source: source, Read: t.Read, Acknowledged: t.Acknowledged, Rejected: t.Rejected, Unconfirmed: t.Unconfirmed, Skipped: t.Skipped, Resent: t.Resent, ResentAtLeast: t.ResentAtLeast,
		First: t.First, Last: t.Last, Oldest: t.Oldest, Newest: t.Newest, LastAcknowledged: t.LastAcknowledged, Digest: t.Digest.String(), Days: []event.DayCount{},
		Rejects: t.Rejects, Skips: t.Skips, Warnings: t.Warnings,
	}
	for _, shared := range t.Shared {
		r.SharedUUIDs = append(r.SharedUUIDs, event.Example{Position: shared.Position, Text: shared.UUID})
	}
	for _, row := range s.Rows() {
		r.Days = append(r.Days, event.DayCount{
			Day: row.Period, Event: row.Name, Acknowledged: row.Acknowledged, Rejected: row.Rejected, Unconfirmed: row.Unconfirmed, Digest: row.Sent.String(),
		})
	}
	return r
}
