package coverage

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/internal/bridge"
	"github.com/hogapi/hogapi/internal/download"
	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/pages"
	"github.com/hogapi/hogapi/internal/watch"
	"github.com/hogapi/hogapi/ops"
)

// RangeOptions are the options of [DownloadRange].
type RangeOptions struct {
	// Folder takes the files. It is required, and made if it is missing.
	Folder string
	// Model is the kind of data, except ModelHogQL. The default is ModelEvents.
	Model hogapi.Model
	// File controls the format and the size of the files.
	File hogapi.FileOptions
	// Include and Exclude are names of events, for ModelEvents only.
	Include, Exclude []string
	// ByTimestamp chooses events by their timestamp in place of their arrival, by a query (ModelHogQL), which not all projects
	// may use: [hogapi.ErrForbidden]. The files have the columns uuid, event, distinct_id, properties, timestamp and created_at.
	ByTimestamp bool
	// Step is the length of the interval of one file download, at most 7 days, which is the default. It must stay the
	// same when a range is continued. For events it cannot be 5 minutes: then the service reads recent events only.
	Step time.Duration
	// MaxBytes is the largest number of bytes that one call writes, or -1 for no limit. After that the call ends with an
	// error, and another call continues. The default is 256 GiB.
	MaxBytes int64
	// Watch says how often to look at a file download, and how long. Watch.Settle is how long to wait for files that are
	// missing in the list of a completed one.
	Watch *hogapi.WatchOptions
}

// RangeFile is one file of a range.
type RangeFile struct {
	Path  string
	Start time.Time // of the interval of its rows
	End   time.Time // not included
	Part  int       // of the files of the interval, from 1
}

// DownloadRange downloads the data of a range of any length into a folder, with one file download for each interval of at most
// 7 days, and yields the files in the order of time. Rows of events are chosen by their arrival, so Range also gets rows
// of old intervals that a backfill leaves out. Of an interval that began over 8 days ago, only those come whose
// timestamp is from 7 days before it to 1 day after it. Persons come with their newest state, in the interval of their
// newest change. PostHog bills the rows like exported rows; docs/exports.md says what else may be left out.
//
// After an error or a kill, another call with the same options continues: keep the files, and those that end in .range.
// An interval is whole once its files have as many rows as its run. One without data has no file. An error comes once,
// last. While another call has the folder, it is [hogapi.ErrHeld]. It calls Create, Get and Download for each interval.
func DownloadRange(ctx context.Context, client *hogapi.Client, from, to time.Time, o *RangeOptions) iter.Seq2[RangeFile, error] {
	selected := outgoing.OrDefault(o)
	selected.Model, selected.Step = cmp.Or(selected.Model, hogapi.ModelEvents), cmp.Or(selected.Step, download.LongestStep)
	selected.MaxBytes = cmp.Or(selected.MaxBytes, 256<<30)
	from, to = from.UTC().Truncate(time.Second), to.UTC().Truncate(time.Second)
	pace, unfit := paceOf(selected.Watch)
	root, err := bridge.Open(ctx, client, ops.FileDownloadsRange, cmp.Or(selected.check(from, to), unfit))
	if err == nil {
		err = outgoing.Refused(ops.FileDownloadsRange, root.CheckDownload(selected.request(from, from.Add(selected.Step))))
	}
	if err != nil {
		return pages.Failed[RangeFile](err)
	}
	s := client.FileDownloads
	files := download.Range{
		FS: durable.OS{}, Path: selected.Folder, Extension: selected.File.Extension(), Step: selected.Step, MaxBytes: selected.MaxBytes,
		Request: func(start, end time.Time) any { return selected.request(start, end) },
		Create: func(ctx context.Context, start, end time.Time) (id uuid.UUID, err error) {
			id, err = s.Create(ctx, selected.request(start, end))
			for hasCode(err, hogapi.CodeTooManyFileDownloads) {
				if !watch.Sleep(ctx, pace.MaxInterval) {
					return id, errtext.Errorf("stopped waiting until fewer file downloads are under way: %v", httptry.ContextError(ctx))
				}
				id, err = s.Create(ctx, selected.request(start, end))
			}
			return id, err
		},
		Wait: func(ctx context.Context, id uuid.UUID) (download.Listing, bool, error) {
			found, err := root.WaitForDownload(ctx, id, selected.Watch)
			_, isOver := errors.AsType[*hogapi.RunError](err)
			return found, isOver || errors.Is(err, hogapi.ErrNotFound), err
		},
		List: func(ctx context.Context, id uuid.UUID) (download.Listing, error) {
			state, err := s.Get(ctx, id)
			return listing(state), err
		},
		File:   root.File,
		IsGone: func(err error) bool { return errors.Is(err, hogapi.ErrInvalid) || errors.Is(err, hogapi.ErrNotFound) },
		Every:  pace.Interval, Patience: pace.Settle, AvoidRecent: selected.Model == hogapi.ModelEvents && !selected.ByTimestamp,
	}.Files(ctx, from, to)
	return func(yield func(RangeFile, error) bool) {
		for part, err := range files {
			if unfit, ok := errors.AsType[*ops.InputError](err); ok {
				err = outgoing.Refused(ops.FileDownloadsRange, unfit)
			}
			if !yield(RangeFile{part.Path, part.Start, part.End, part.Number}, bridge.Held(err)) {
				return
			}
		}
	}
}

func (o RangeOptions) request(start, end time.Time) hogapi.FileDownloadRequest {
	r := hogapi.FileDownloadRequest{
		Model: o.Model, File: o.File, DataIntervalStart: start, DataIntervalEnd: end, Include: o.Include, Exclude: o.Exclude,
	}
	if o.ByTimestamp {
		r.Model, r.Include, r.Exclude, r.HogQLQuery = hogapi.ModelHogQL, nil, nil, "SELECT uuid, event, distinct_id, properties, timestamp, created_at FROM events"+
			" WHERE timestamp >= {data_interval_start} AND timestamp < {data_interval_end}"+inNames(" AND event IN ", o.Include)+inNames(" AND event NOT IN ", o.Exclude)
	}
	return r
}

// inNames returns a condition of HogQL with names, or nothing without a name.
func inNames(condition string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(name) + "'"
	}
	return condition + "(" + strings.Join(list, ", ") + ")"
}

func (o RangeOptions) check(from, to time.Time) *ops.InputError {
	return cmp.Or(
		outgoing.If(from.IsZero() || to.IsZero(), "from", "", "two times"),
		outgoing.Reversed("to", to, "from", from),
		outgoing.If(o.Model == hogapi.ModelHogQL, "RangeOptions.Model", string(o.Model), "events, persons or sessions: a query chooses its rows itself"),
		outgoing.If(o.ByTimestamp && o.Model != hogapi.ModelEvents, "RangeOptions.ByTimestamp", "true", "false: only events have a timestamp"),
		outgoing.If(o.Step < time.Second || o.Step > download.LongestStep, "RangeOptions.Step", o.Step.String(), "a second to 7 days"),
		outgoing.If(o.Step == download.RecentOnly && o.Model == hogapi.ModelEvents && !o.ByTimestamp, "RangeOptions.Step", o.Step.String(), download.WantNotRecentOnly),
		outgoing.If(o.MaxBytes < -1, "RangeOptions.MaxBytes", strconv.FormatInt(o.MaxBytes, 10), "a number of bytes, 0 for the default or -1 for no limit"),
		download.CheckNames(o.Folder, o.File.Extension()),
	)
}

func listing(d *hogapi.FileDownload) download.Listing {
	state := outgoing.OrDefault(d)
	return download.Listing{Files: state.Files, Records: state.RecordsCompleted}
}

// paceOf returns the pace of looks.
func paceOf(o *hogapi.WatchOptions) (watch.Pace, *ops.InputError) {
	w := outgoing.OrDefault(o)
	return watch.Pace{Interval: w.Interval, MaxInterval: w.MaxInterval, MaxFailures: w.MaxFailures, Settle: w.Settle, Limit: w.Limit}.WithDefaults()
}
