package engine

import (
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/ledger"
)

// Receipt returns the receipt of the result.
func (r Result) Receipt(id, source string) event.Receipt {
	receipt := ReceiptOf(id, source, r.State)
	receipt.Protocol, receipt.Finished = event.Protocol(r.Protocol), r.Finished
	receipt.Pending, receipt.Refused = r.Pending, r.Refused
	receipt.Read += r.Pending
	return receipt
}

// Stats returns the progress as callers see it.
func (p Progress) Stats(total int64) event.Stats {
	return event.Stats{
		Read: p.Read, Acknowledged: p.Acknowledged, Rejected: p.Rejected, Unconfirmed: p.Unconfirmed, Skipped: p.Skipped,
		Refused: p.Refused, Pending: p.Read - p.Acknowledged - p.Rejected - p.Unconfirmed - p.Skipped,
		Resent: p.Resent, Total: total,
		InFlight: p.InFlight, Bytes: p.Bytes, Requests: p.Requests, PlainBytes: p.PlainBytes, WireBytes: p.WireBytes,
		Permits: p.Permits, Throttled: p.Throttled, FailingSince: p.Failure.Since, LastError: p.Failure.Err,
		LastProgress: p.LastProgress, Position: p.Position,
	}
}

// ReceiptOf returns the receipt of a state.
func ReceiptOf(id, source string, s ledger.State[event.Position]) event.Receipt {
	t := s.Totals
	r := event.Receipt{
		ID: id, Source: source, Read: t.Read, Acknowledged: t.Acknowledged, Rejected: t.Rejected, Unconfirmed: t.Unconfirmed, Skipped: t.Skipped, Resent: t.Resent, ResentAtLeast: t.ResentAtLeast,
		First: t.First, Last: t.Last, Oldest: t.Oldest, Newest: t.Newest, LastAcknowledged: t.LastAcknowledged, Digest: t.Digest.String(), Days: []event.DayCount{},
		Rejects: map[event.Reason]int64{}, Skips: t.Skips, Warnings: map[event.Warning]int64{},
	}
	for reason, n := range t.Rejects {
		r.Rejects[event.Reason(reason)] = n
	}
	for w, n := range t.Warnings {
		r.Warnings[event.Warning(w)] = n
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
