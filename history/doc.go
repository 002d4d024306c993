// Package history imports past events from files, tables and other sources, and proves that they arrived.
//
//	receipt, err := history.Import(ctx, client, history.JSONLines("events.jsonl.gz"), &history.Options{
//		ID: "orders-2023", Checkpoint: history.CheckpointFile("orders.ckpt"), Rejects: history.RejectFile("rejects.jsonl"),
//	})
//
// [Check] reads a source and sends nothing. [Import] sends its events, and resumes after a kill. [Verify] compares the
// receipt with the project some hours later.
package history
