package coverage

import (
	"cmp"
	"context"
	"encoding/json"
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

// RangeOptions are the options of [Download] and [DownloadRange].
type RangeOptions struct {
	// Folder takes the files. It is required, and made if it is missing.
	Folder string
	// Model is the kind of data. The default is ModelEvents, or ModelHogQL with a query.
	Model hogapi.Model
	// HogQLQuery chooses the rows itself, in projects that may use ModelHogQL. One that names both {data_interval_start} and
	// {data_interval_end} runs once for each interval. One that names neither runs once, and takes no from and to.
	HogQLQuery     string
	HogQLModifiers json.RawMessage // of the query; an object
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

// DownloadRange downloads a range of any length into a folder, with one file download for each interval of at most 7
// days, and yields the files in the order of time. Events are chosen by their arrival, so late events are included. For
// an interval that began over 8 days ago, only events with a timestamp from 7 days before it to 1 day after it are
// included. Persons have their newest state. PostHog bills the rows like exported rows; see docs/exports.md.
//
// After an error or a kill, another call with the same options continues: keep all files, including *.range. An
// interval is complete once its files have as many rows as its run; an interval without data has no file. An error
// comes once, last: [hogapi.ErrHeld] while another call has the folder. Each interval takes Create, Get and Download.
func DownloadRange(ctx context.Context, client *hogapi.Client, from, to time.Time, o *RangeOptions) iter.Seq2[RangeFile, error] {
	return func(yield func(RangeFile, error) bool) {
		for x, err := range intervals(ctx, client, from, to, outgoing.OrDefault(o), false) {
			for _, file := range filesOf(x) {
				if !yield(file, nil) {
					return
				}
			}
			if err != nil {
				yield(RangeFile{}, err)
			}
		}
	}
}

// Downloaded is the result of [Download].
type Downloaded struct {
	Files    []RangeFile // whole files, in the order of time
	Expected int64       // records that the service has exported, by its runs
	Written  int64       // rows in Files, which Download has counted

	// CountedBefore and CountedAfter are the rows of a query as the service counts them: before its run, and again where the
	// files have another number. They are nil without a query, and where a count takes the service over 30 seconds.
	CountedBefore, CountedAfter *int64
}

// Download downloads the rows of a range or of a query into a folder, with a proof: it counts the rows in the files, and the
// error is nil only if they are as many as the records of the runs, and of a query as many as the service counts by itself. If the
// rows of a query change while it runs, they must lie between two counts. With an error, Downloaded has what is there.
//
// It works and continues as [DownloadRange], in the same folders. What is whole is counted and not downloaded again: for newer
// rows of a query, take another folder. JSON lines packed with brotli are refused, since their rows cannot be counted.
//
// It calls CountRows, Create, Get and Download for each interval.
func Download(ctx context.Context, client *hogapi.Client, from, to time.Time, o *RangeOptions) (*Downloaded, error) {
	done := &Downloaded{}
	var before, after []*int64
	var failed error // comes last
	for x, err := range intervals(ctx, client, from, to, outgoing.OrDefault(o), true) {
		done.Files = append(done.Files, filesOf(x)...)
		done.Expected, done.Written = done.Expected+x.Expected, done.Written+x.Written
		before, after, failed = append(before, x.Before), append(after, x.After), err
	}
	done.CountedBefore, done.CountedAfter = total(before), total(after)
	return done, failed
}

// total adds numbers up, if there are some and all of them are known.
func total(numbers []*int64) *int64 {
	if len(numbers) == 0 {
		return nil
	}
	var n int64
	for _, x := range numbers {
		if x == nil {
			return nil
		}
		n += *x
	}
	return &n
}

func filesOf(x download.Interval) (files []RangeFile) {
	for i, path := range x.Paths {
		files = append(files, RangeFile{path, x.Start, x.End, i + 1})
	}
	return files
}

// intervals yields the intervals of a range, whose rows are proven or not. An error comes last.
func intervals(ctx context.Context, client *hogapi.Client, from, to time.Time, o RangeOptions, isProof bool) iter.Seq2[download.Interval, error] {
	o = o.withDefaults()
	from, to = from.UTC().Truncate(time.Second), to.UTC().Truncate(time.Second)
	pace, unfit := paceOf(o.Watch)
	root, err := bridge.Open(ctx, client, ops.FileDownloadsRange, cmp.Or(o.check(from, to, isProof), unfit))
	first := to
	if !o.isOnce() {
		first = from.Add(o.Step)
	}
	if err == nil {
		err = outgoing.Refused(ops.FileDownloadsRange, root.CheckDownload(o.request(from, first)))
	}
	if err != nil {
		return pages.Failed[download.Interval](err)
	}
	s := client.FileDownloads
	of := download.Range{
		FS: durable.OS{}, Path: o.Folder, Extension: o.File.Extension(), Step: o.Step, MaxBytes: o.MaxBytes, Once: o.isOnce(), Prove: isProof,
		Request: func(start, end time.Time) any { return o.request(start, end) },
		Create: func(ctx context.Context, start, end time.Time) (id uuid.UUID, err error) {
			id, err = s.Create(ctx, o.request(start, end))
			for hasCode(err, hogapi.CodeTooManyFileDownloads) {
				if !watch.Sleep(ctx, pace.MaxInterval) {
					return id, errtext.Errorf("stopped waiting until fewer file downloads are under way: %v", httptry.ContextError(ctx))
				}
				id, err = s.Create(ctx, o.request(start, end))
			}
			return id, err
		},
		Wait: func(ctx context.Context, id uuid.UUID) (download.Listing, bool, error) {
			found, err := root.WaitForDownload(ctx, id, o.Watch)
			_, isOver := errors.AsType[*hogapi.RunError](err)
			return found, isOver || errors.Is(err, hogapi.ErrNotFound), err
		},
		List: func(ctx context.Context, id uuid.UUID) (download.Listing, error) {
			state, err := s.Get(ctx, id)
			return listing(state), err
		},
		File:   root.File,
		IsGone: func(err error) bool { return errors.Is(err, hogapi.ErrInvalid) || errors.Is(err, hogapi.ErrNotFound) },
		Every:  pace.Interval, Patience: pace.Settle, AvoidRecent: o.Model == hogapi.ModelEvents && !o.ByTimestamp,
	}
	if isProof && (o.Model == hogapi.ModelHogQL || o.ByTimestamp) {
		of.Count = func(ctx context.Context, start, end time.Time) (*int64, error) {
			r := o.request(start, end)
			rows, err := s.CountRows(ctx, hogapi.CountRowsRequest{
				HogQLQuery: r.HogQLQuery, HogQLModifiers: r.HogQLModifiers, DataIntervalStart: r.DataIntervalStart, DataIntervalEnd: r.DataIntervalEnd,
			})
			if hasCode(err, "timeout_exceeded") {
				return nil, nil //nolint:nilnil // not known
			}
			return &rows, err
		}
	}
	return func(yield func(download.Interval, error) bool) {
		for x, err := range of.Intervals(ctx, from, to) {
			if unfit, ok := errors.AsType[*ops.InputError](err); ok {
				err = outgoing.Refused(ops.FileDownloadsRange, unfit)
			}
			if !yield(x, bridge.Held(err)) {
				return
			}
		}
	}
}

func (o RangeOptions) withDefaults() RangeOptions {
	model := hogapi.ModelEvents
	if o.HogQLQuery != "" {
		model = hogapi.ModelHogQL
	}
	o.Model, o.Step, o.MaxBytes = cmp.Or(o.Model, model), cmp.Or(o.Step, download.LongestStep), cmp.Or(o.MaxBytes, 256<<30)
	return o
}

// isOnce reports whether a query does not depend on the interval.
func (o RangeOptions) isOnce() bool {
	return o.HogQLQuery != "" && !o.names("data_interval_start") && !o.names("data_interval_end")
}

func (o RangeOptions) names(bound string) bool { return strings.Contains(o.HogQLQuery, bound) }

func (o RangeOptions) request(start, end time.Time) hogapi.FileDownloadRequest {
	r := hogapi.FileDownloadRequest{
		Model: o.Model, File: o.File, DataIntervalStart: start, DataIntervalEnd: end, Include: o.Include, Exclude: o.Exclude,
		HogQLQuery: o.HogQLQuery, HogQLModifiers: o.HogQLModifiers,
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

func (o RangeOptions) check(from, to time.Time, isProof bool) *ops.InputError {
	isQuery, hasNoTime := o.HogQLQuery != "", from.IsZero() && to.IsZero()
	return cmp.Or(
		outgoing.If(!o.isOnce() && (from.IsZero() || to.IsZero()), "from", "", "two times"),
		outgoing.If(o.isOnce() && !hasNoTime, "from", outgoing.Time(from), "no from and no to: this query names neither {data_interval_start} nor {data_interval_end}, so they do not limit it"),
		outgoing.Reversed("to", to, "from", from),
		outgoing.If(isQuery != (o.Model == hogapi.ModelHogQL), "RangeOptions.Model", string(o.Model), "events, persons or sessions; or a HogQLQuery, which chooses its rows itself, without a Model"),
		outgoing.If(o.names("data_interval_start") != o.names("data_interval_end"), "RangeOptions.HogQLQuery", "",
			"{data_interval_start} and {data_interval_end}, or neither: with one of them, rows repeat in each interval"),
		outgoing.If(isProof && o.File.Format == hogapi.FileFormatJSONLines && o.File.Compression == hogapi.FileCompressionBrotli, "File.Compression", string(o.File.Compression),
			"gzip or none with JSONLines: rows in brotli files cannot be counted"),
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
	return watch.Pace{Interval: w.Interval, MaxInterval: w.MaxInterval, MaxFailures: w.MaxFailures, Settle: w.Settle, Limit: w.Timeout}.WithDefaults()
}
