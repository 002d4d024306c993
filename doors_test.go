package hogapi_test

import (
	"context"
	"iter"
	"path/filepath"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
)

func init() {
	hogapi.OfDoors.Roots = []any{
		history.Format{Name: "canary"}, history.Record{}, history.Skip("internal user"), history.TotalQuery(hogapi.Receipt{ID: "canary", Acknowledged: 1}),
		&coverage.Coverage{Intervals: []coverage.Interval{{Runs: []coverage.Run{{}}}}}, coverage.Options{}, coverage.Gap{}, coverage.RangeOptions{}, coverage.RangeFile{}, coverage.Downloaded{},
		&coverage.Report{Plan: &coverage.Plan{Steps: []coverage.Step{{}}}},
		coverage.RepairOptions{Credentials: destination.S3{AWSSecretAccessKey: hogapi.Set(hogapi.NewSecret(hogapi.TestCredential))}},
	}
	hogapi.OfDoors.Plain = []any{
		history.CheckReport{}, history.CheckCount{}, history.CheckFinding{}, event.Example{}, history.Options{},
		history.VerifyOptions{}, history.VerifyProgress{}, history.Verification{}, history.VerificationCell{},
	}
	hogapi.OfDoors.Import = func(ctx context.Context, c *hogapi.Client, events []hogapi.Event, folder string, onProgress func(hogapi.Stats), d hogapi.DeliveryOptions) (hogapi.Receipt, string, error) {
		source := history.Func("rules", func(context.Context, hogapi.Position) iter.Seq2[hogapi.Event, error] {
			return func(yield func(hogapi.Event, error) bool) {
				for _, ev := range events {
					if !yield(ev, nil) {
						return
					}
				}
			}
		})
		receipt, err := history.Import(ctx, c, source, &history.Options{
			ID: "canary", MaxRejectShare: -1, Checkpoint: history.CheckpointFile(filepath.Join(folder, "ckpt")),
			Rejects: history.RejectFile(filepath.Join(folder, "rejects")), OnProgress: onProgress, Delivery: d,
		})
		return receipt, history.TotalQuery(receipt).String(), err
	}
}
