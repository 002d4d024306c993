package hogapi

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/download"
	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/pages"
	"github.com/hogapi/hogapi/internal/watch"
	"github.com/hogapi/hogapi/ops"
)

// RangeOptions are the options of [FileDownloadsService.Range].
type RangeOptions struct {
	// Folder takes the files. It is required, and made if it is missing.
	Folder string
	// Model is the kind of data, except ModelHogQL. The default is ModelEvents.
	Model Model
	// File controls the format and the size of the files.
	File FileOptions
	// Include and Exclude are names of events, for ModelEvents only.
	Include, Exclude []string
	// Step is the length of the interval of one file download, at most 7 days, which is the default. It must stay the
	// same when a range is continued.
	Step time.Duration
	// MaxBytes is the largest number of bytes that one call writes, or -1 for no limit. After that the call ends with an
	// error, and another call continues. The default is 256 GiB.
	MaxBytes int64
	// Watch says how often to look at a file download, and how long.
	Watch *WatchOptions
}

// RangeFile is one file of a range.
type RangeFile struct {
	Path  string
	Start time.Time // of the interval of its rows
	End   time.Time // not included
	Part  int       // of the files of the interval, from 1
}

// Range downloads the data of a range of any length into a folder. It splits the range into intervals of at most 7 days,
// makes one file download for each, one after another, and yields the files in the order of time. The rows of events
// are chosen by their arrival, as the schedule of a batch export does: so Range also gets rows of old intervals that a
// backfill would leave out. PostHog bills the rows like exported rows.
//
// The name of a file is its interval and its number, such as 2026-11-01T000000Z-2026-11-08T000000Z-1.parquet. Next to
// them, a file that ends in .range says which file download the interval has, and which files are whole. So after an
// error or a kill, another call with the same options continues: it makes no second file download for an interval
// unless the service has removed the files of the first, and yields whole files without a request. So keep the files: a
// missing one is downloaded again. If the outcome of a request for a file download is unknown, the next call makes
// another one. While the service has too many file downloads under way, Range waits.
//
// Range cuts off fractions of seconds. Read the files that it yields, not all of the folder: with another from, to or
// Step, intervals have other names, and files of earlier calls stay. An interval without data has no file. An error comes once, last. Two calls for one folder do not run at the same time:
// the second one gets [ErrHeld].
//
// It calls Create, Wait and Download of [FileDownloadsService] for each interval.
func (s *FileDownloadsService) Range(ctx context.Context, from, to time.Time, o *RangeOptions, options ...CallOption) iter.Seq2[RangeFile, error] {
	selected := orDefault(o)
	selected.Model, selected.Step = cmp.Or(selected.Model, ModelEvents), cmp.Or(selected.Step, longestDownload)
	selected.MaxBytes = cmp.Or(selected.MaxBytes, 256<<30)
	from, to = from.UTC().Truncate(time.Second), to.UTC().Truncate(time.Second)
	pace, err := selected.Watch.withDefaults(ops.FileDownloadsGet)
	if err = cmp.Or(checkContext(ctx, ops.FileDownloadsCreate), refused(ops.FileDownloadsCreate, selected.check(from, to)), err); err != nil {
		return pages.Failed[RangeFile](err)
	}
	files := download.Range{
		FS: durable.OS{}, Path: selected.Folder, Extension: selected.File.Extension(), Step: selected.Step, MaxBytes: selected.MaxBytes,
		Request: func(start, end time.Time) any { return selected.request(start, end) },
		Create: func(ctx context.Context, start, end time.Time) (id uuid.UUID, err error) {
			id, err = s.Create(ctx, selected.request(start, end), options...)
			for errors.Is(err, ErrTooManyFileDownloads) && watch.Sleep(ctx, pace.MaxInterval) {
				id, err = s.Create(ctx, selected.request(start, end), options...)
			}
			return id, err
		},
		Wait: func(ctx context.Context, id uuid.UUID) ([]uuid.UUID, bool, error) {
			state, err := s.Wait(ctx, id, selected.Watch, options...)
			_, isOver := errors.AsType[*RunError](err)
			if err == nil {
				err = state.checkFiles()
			}
			return orDefault(state).Files, isOver || errors.Is(err, ErrNotFound), err
		},
		File:   func(id, file uuid.UUID) download.Config { return s.transfer(id, file, options) },
		IsGone: func(err error) bool { return errors.Is(err, ErrInvalid) || errors.Is(err, ErrNotFound) },
	}.Files(ctx, from, to)
	return func(yield func(RangeFile, error) bool) {
		for part, err := range files {
			if unfit, ok := errors.AsType[*errtext.UnfitError](err); ok {
				err = refused(ops.FileDownloadsCreate, (*outgoing.Refusal)(unfit))
			}
			if !yield(RangeFile{part.Path, part.Start, part.End, part.Number}, heldError(err)) {
				return
			}
		}
	}
}

const longestDownload = 7 * 24 * time.Hour

func (o RangeOptions) request(start, end time.Time) FileDownloadRequest {
	return FileDownloadRequest{
		Model: o.Model, File: o.File, DataIntervalStart: start, DataIntervalEnd: end, Include: o.Include, Exclude: o.Exclude,
	}
}

func (o RangeOptions) check(from, to time.Time) *outgoing.Refusal {
	return cmp.Or(
		outgoing.If(from.IsZero() || to.IsZero(), "from", "", "two times"),
		outgoing.Reversed("to", to, "from", from),
		outgoing.If(o.Model == ModelHogQL, "RangeOptions.Model", string(o.Model), "events, persons or sessions: a query chooses its rows itself"),
		outgoing.If(o.Step < time.Second || o.Step > longestDownload, "RangeOptions.Step", o.Step.String(), "a second to 7 days"),
		outgoing.If(o.MaxBytes < -1, "RangeOptions.MaxBytes", strconv.FormatInt(o.MaxBytes, 10), "a number of bytes, 0 for the default or -1 for no limit"),
		download.CheckNames(o.Folder, o.File.Extension()), o.request(from, from.Add(o.Step)).check(),
	)
}
