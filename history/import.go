package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"
	"unicode/utf8"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/bridge"
	"github.com/hogapi/hogapi/internal/engine"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/watch"
	"github.com/hogapi/hogapi/ops"
)

// Options are the options of an import.
type Options struct {
	// ID names the import. It is required, and it must be the same in all runs of the import: uuids of events are
	// derived from it, so the same ID with the same source sends the same events. Other data needs another ID,
	// even if its files have the same names: otherwise different events would share uuids.
	ID string
	// Checkpoint keeps the state of the import between its runs. Without it, every run starts at the beginning.
	Checkpoint Checkpointer
	// Rejects takes the events that the gate or the service refuses. Without it, the first such event stops the
	// import.
	Rejects hogapi.RejectHandler
	// MaxRejectShare is the largest share of rejects among the records that are not skipped, in all runs of the
	// import. It is checked after the first 1,000 records and at the end, if there are at least two rejects. The
	// import also stops if the first 100 records, or all records of a shorter source, are rejects. The reason of
	// such a stop is [hogapi.StopTooManyRejects]. Set -1 for no limit. The default is 0.01.
	MaxRejectShare float64
	// MaxRejects is the largest number of rejects in all runs of the import. One more stops it at once. The
	// default is no limit.
	MaxRejects int64
	// VerifyArchiveBytes is the largest packed size of a gzip or zstd file, or of a member of a zip file, that is
	// read to its end and verified by its checksums before its first event is sent. Larger files, pipes, and files
	// without [io.ReaderAt] are verified while their events are sent. Set -1 to verify no file beforehand. The
	// default is 1 GiB.
	VerifyArchiveBytes int64
	// Rate is the largest number of events per second; [hogapi.RateUnlimited] sets no limit. The default is 1,000, the rate of
	// the service's own importer.
	Rate int
	// Total is the number of events in the source, for Stats.Total. The default, 0, means that it is not known.
	Total int64
	// OnProgress is called twice a second and once at the end. The calls do not overlap. A panic in it is caught
	// and logged.
	OnProgress func(event.Stats)
	// Grace is how long Import may continue after ctx has ended. It reads nothing more, but sends and saves the events
	// it has read, so that the next run repeats little. If requests fail, it only waits for the requests under way. Set
	// -1 to cut them off at once. The default is 5 s.
	Grace time.Duration
	// Gate has the options of the gate, which checks each event before it is sent.
	Gate hogapi.GateOptions
	// Delivery has the options of the requests that send events.
	Delivery hogapi.DeliveryOptions
}

// Import sends the events of a source as historical events. Each is acknowledged at least once, handed to the reject
// handler, or skipped on purpose, and one that is sent again is the same event. After a kill at any moment, the next
// call with the same ID and checkpoint resumes. The receipt counts every event of all runs, and is valid with an error
// too. When ctx ends, Import sends the events it has read, saves the position and returns, within Options.Grace.
//
// The error is an [*hogapi.InputError] if options, checkpoint or reject file do not fit, matches [hogapi.ErrHeld] if
// another import uses these files, and is a [*event.StopError], in an [*event.UnsettledError] if events were under way.
func Import(ctx context.Context, client *hogapi.Client, source Source, options *Options) (event.Receipt, error) {
	o := outgoing.OrDefault(options)
	inside, err := bridge.Open(ctx, client, ops.Import, nil)
	if err != nil {
		return event.Receipt{ID: o.ID}, err
	}
	run, before, err := openImport(ctx, inside, source, o)
	if err != nil {
		return before, err
	}
	receipt, err := run.engine.Import(ctx, run.events)
	if unsettled, ok := errors.AsType[*event.UnsettledError](err); ok {
		unsettled.Again = "run the import again, which sends them with the same uuids"
		if o.Checkpoint != nil {
			unsettled.Again = "the position is saved: " + unsettled.Again
		}
	}
	progressErr := unlessLeft(ctx, "Options.OnProgress", func() error { run.progress.End(); return nil })
	closeErr := unlessLeft(ctx, "Checkpointer.Close", run.files.close)
	return receipt, errors.Join(err, progressErr, closeErr)
}

// unlessLeft calls a function and returns its error. It leaves the function behind if that has not returned some time
// after the end of ctx.
func unlessLeft(ctx context.Context, name string, f func() error) error {
	const patience = 5 * time.Second
	err, ended := watch.RunDetached(ctx, patience, f, func(value any) error { panic(value) })
	if !ended {
		return &event.StopError{Reason: event.StopCanceled, Err: fmt.Errorf("%s did not return within %v after the end of the context: %w", name, patience, context.Cause(ctx))}
	}
	return err
}

type importRun struct {
	source   Source
	options  Options
	engine   *engine.Engine
	files    *importFiles
	progress *watch.Repetition // nil: nobody asks
}

// openImport opens the files of a run and its engine, and returns the receipt of the runs before it.
func openImport(ctx context.Context, client bridge.Client, source Source, o Options) (run *importRun, before event.Receipt, err error) {
	before = event.Receipt{ID: o.ID}
	if err := o.check(source); err != nil {
		return nil, before, err
	}
	files, resumed, err := openCheckpoint(ctx, o, source, client)
	if err != nil {
		return nil, before, err
	}
	limits := o.rejectLimits()
	failed := func(err error) (*importRun, event.Receipt, error) {
		return nil, before, errors.Join(err, files.close())
	}
	if o.Delivery.Protocol, err = continues(resumed, o.Delivery.Protocol); err != nil {
		return failed(err)
	}
	files.Protocol = o.Delivery.Protocol
	if resumed != nil {
		before = engine.ReceiptOf(resumed.Import, resumed.Source, resumed.State)
		before.Protocol, before.Finished = resumed.Protocol, resumed.Finished
		if err := limits.JudgeBefore(resumed.State.Totals.Counts()); err != nil {
			return failed(err)
		}
	}
	if err := files.openRejects(o.Rejects); err != nil {
		return failed(err)
	}
	delivered := hogapi.CaptureOptions{ID: o.ID, Rate: o.Rate, Rejects: o.Rejects, Gate: o.Gate, Delivery: o.Delivery}
	config, err := client.ImportConfig(ops.Import, delivered)
	if err != nil {
		return failed(err)
	}
	config.Source, config.Rejects, config.Resumed, config.Grace = files.Source, limits, resumed, max(0, cmp.Or(o.Grace, 5*time.Second))
	if files.Rejects != nil {
		config.Handler = files
	}
	if o.Checkpoint != nil {
		config.Files = &files.Files
	}
	started, err := engine.New(config) //nolint:contextcheck // the engine has a life of its own
	if err != nil {
		return failed(err)
	}
	run = &importRun{source: source, options: o, engine: started, files: files}
	if o.OnProgress != nil {
		run.progress = watch.Every(progressInterval, func() { //nolint:contextcheck // hooks outlive ctx
			client.Hook(context.Background(), func() { o.OnProgress(started.Stats(o.Total)) })
		})
	}
	return run, before, nil
}

const progressInterval = 500 * time.Millisecond

func (r *importRun) events(ctx context.Context, after event.Position) iter.Seq2[*engine.Event, error] {
	notes := &sourceNotes{verifyArchives: cmp.Or(r.options.VerifyArchiveBytes, defaultVerifyArchives), resumed: r.engine.Resumed, to: r.engine}
	return taken(notes.in(ctx), r.source, after)
}

func (o Options) check(source Source) error {
	bad := func(isBad bool, field string, value any, want string) *ops.InputError {
		return outgoing.If(isBad, field, fmt.Sprint(value), want)
	}
	share := o.MaxRejectShare
	if refusal := cmp.Or(
		bad(o.ID == "", "Options.ID", "", `a name that stays the same for every run, such as "mixpanel-2024"`),
		bad(!canBeRead(source), "source", "", "a source with a function to read, and no nil among its sources"),
		bad(o.Checkpoint != nil && outgoing.IsNil(o.Checkpoint), "Options.Checkpoint", "", "a checkpoint, or no value: this one is a nil pointer"),
		bad(o.Total < 0, "Options.Total", o.Total, "0 or more"),
		bad(math.IsNaN(share) || share > 1 || share < 0 && share != -1, "Options.MaxRejectShare", share,
			"above 0 and at most 1, 0 for the default of 0.01, or -1 for no limit"),
		bad(o.MaxRejects < 0, "Options.MaxRejects", o.MaxRejects, "a number, or 0 for no limit"),
		bad(outgoing.LacksUnit(o.Grace), "Options.Grace", o.Grace, outgoing.WantUnit),
		bad(o.Grace < -1, "Options.Grace", o.Grace, "a duration, 0 for the default of 5 s, or -1 for none"),
		bad(o.VerifyArchiveBytes < -1, "Options.VerifyArchiveBytes", o.VerifyArchiveBytes,
			"bytes, 0 for the default of 1 GiB, or -1 for none"),
	); refusal != nil {
		return outgoing.Refused(ops.Import, refusal)
	}
	name := source.Name()
	_, readsFiles := unwrap[fileSource](source)
	return cmp.Or(outgoing.Refused(ops.Import, cmp.Or( // a source without files says itself that it has none
		bad(name == "" && !readsFiles, "source.Name", "",
			"a name that stays the same for every run: the checkpoint recognizes the source by it"),
		bad(!utf8.ValidString(name), "source.Name", name, "a name of UTF-8, since a checkpoint holds no other text"),
	)), bridge.CheckImportID(ops.Import, "Options.ID", o.ID), o.checkFiles(source))
}

const defaultRejectShare = 0.01

func (o Options) rejectLimits() engine.RejectLimits {
	return engine.RejectLimits{Share: max(cmp.Or(o.MaxRejectShare, defaultRejectShare), 0), Most: o.MaxRejects}
}
