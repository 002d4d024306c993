package hogapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/internal/download"
	"github.com/hogapi/hogapi/internal/exported"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/pages"
	"github.com/hogapi/hogapi/internal/watch"
	"github.com/hogapi/hogapi/ops"
)

// FileDownload is an export on demand, without a destination or a schedule: one run writes files, which the
// service keeps for a while.
type FileDownload struct {
	ID     uuid.UUID `json:"id"` // of the run
	Status RunStatus `json:"status"`

	// Set by Get, Watch and Wait only.
	Files            []uuid.UUID `json:"files,omitzero"`             // once it has completed, as far as they are listed; see Wait
	RecordsCompleted *int64      `json:"records_completed,omitzero"` // once it has completed
	Error            *string     `json:"error,omitzero"`             // the service's own text
}

func (d *FileDownload) identity() string { return d.ID.String() }

func (d *FileDownload) complete() error { return has("id", d.ID) }

// run returns the download as a run, for the functions on runs.
func (d *FileDownload) run() *Run {
	return &Run{ID: d.ID, Status: d.Status, RecordsCompleted: d.RecordsCompleted, LatestError: d.Error}
}

// judge returns the error of a file download that did not complete.
func (d *FileDownload) judge() error { return d.run().judge() }

func (d FileDownload) listing() download.Listing {
	return download.Listing{Files: d.Files, Records: d.RecordsCompleted}
}

// fileDownloadState is the service's answer about one file download, without its id.
type fileDownloadState struct{ FileDownload }

// identity is "" if the service leaves the id out.
func (s *fileDownloadState) identity() string {
	if s.ID == uuid.Nil {
		return ""
	}
	return s.ID.String()
}

func (s *fileDownloadState) complete() error {
	if s.Status == RunStatusCompleted && s.Files == nil {
		return errors.New("completed, but lists no files")
	}
	if slices.Contains(s.Files, uuid.Nil) {
		return errors.New("a listed file has no id")
	}
	return has("status", s.Status)
}

// FileFormat is the format of exported files.
type FileFormat = destination.FileFormat

// The formats that the service writes.
const (
	FileFormatParquet   = destination.FormatParquet
	FileFormatJSONLines = destination.FormatJSONLines
)

var fileFormats = []FileFormat{FileFormatParquet, FileFormatJSONLines}

// FileCompression is the compression of exported files.
type FileCompression = destination.Compression

// The compressions that the service knows. JSONLines files take gzip and brotli only.
const (
	FileCompressionZstd   = destination.CompressionZstd
	FileCompressionLZ4    = destination.CompressionLZ4
	FileCompressionSnappy = destination.CompressionSnappy
	FileCompressionGzip   = destination.CompressionGzip
	FileCompressionBrotli = destination.CompressionBrotli
)

var fileCompressions = []FileCompression{
	FileCompressionZstd, FileCompressionLZ4, FileCompressionSnappy, FileCompressionGzip, FileCompressionBrotli,
}

// FileOptions control the format and the size of the files.
type FileOptions struct {
	Format      FileFormat      `json:"format,omitzero"`      // default Parquet
	Compression FileCompression `json:"compression,omitzero"` // default: no compression
	MaxSizeMB   Opt[int]        `json:"max_size_mb,omitzero"` // size of a file in MiB, about; 0 or null for one file; default 1024
}

// Extension returns the end of the names of such files, for example ".parquet" or ".jsonl.gz". A compressed
// Parquet file ends like any other: the compression is inside.
func (o FileOptions) Extension() string {
	return exported.Layout{Format: cmp.Or(string(o.Format), "Parquet"), Compression: string(o.Compression), IsLegacy: new(false)}.Extension()
}

func (o FileOptions) check() *InputError {
	parquetOnly := []FileCompression{FileCompressionZstd, FileCompressionLZ4, FileCompressionSnappy}
	isLinesOnly := o.Format == FileFormatJSONLines && slices.Contains(parquetOnly, o.Compression)
	return cmp.Or(
		outgoing.If(isLinesOnly, "File.Compression", string(o.Compression), "gzip, brotli or none with JSONLines: the run would fail"),
		outgoing.MisspeltIfSet("File.Format", o.Format, fileFormats),
		outgoing.MisspeltIfSet("File.Compression", o.Compression, fileCompressions),
		outgoing.Negative(map[string]int{"File.MaxSizeMB": o.MaxSizeMB.Or(0)}),
	)
}

// FileDownloadRequest is a new file download. It needs a model and, unless that is [ModelHogQL], both ends of the
// interval.
type FileDownloadRequest struct {
	Model Model       `json:"model"`
	File  FileOptions `json:"file"`

	// DataIntervalStart and DataIntervalEnd are at most 7 days apart, and not in the future. With ModelHogQL
	// each is needed only if the query names it.
	DataIntervalStart time.Time `json:"data_interval_start,omitzero"`
	DataIntervalEnd   time.Time `json:"data_interval_end,omitzero"`

	Include []string `json:"include,omitempty"` // names of events; ModelEvents only
	Exclude []string `json:"exclude,omitempty"` // names of events; ModelEvents only

	HogQLQuery     string          `json:"hogql_query,omitzero"`     // ModelHogQL only
	HogQLModifiers json.RawMessage `json:"hogql_modifiers,omitzero"` // ModelHogQL only; an object
}

func (r FileDownloadRequest) check() *InputError {
	isHogQL, namesNone := r.Model == ModelHogQL, len(r.Include)+len(r.Exclude) == 0
	const wantBoth = "a time: this model needs both ends of the interval"
	return cmp.Or(
		outgoing.Misspelt("Model", r.Model, models),
		outgoing.If(!namesNone && r.Model != ModelEvents && r.Model.IsKnown(), "Include", "",
			`none, nor Exclude, unless the model is "events": other models cannot be limited to events`),
		outgoing.If(isHogQL && strings.TrimSpace(r.HogQLQuery) == "", "HogQLQuery", "", `a query: the model is "hogql"`),
		outgoing.If(!isHogQL && (r.HogQLQuery != "" || r.HogQLModifiers != nil), "HogQLQuery", "",
			`no query and no HogQLModifiers unless the model is "hogql"`),
		outgoing.If(!isHogQL && r.DataIntervalStart.IsZero(), "DataIntervalStart", "", wantBoth),
		outgoing.If(!isHogQL && r.DataIntervalEnd.IsZero(), "DataIntervalEnd", "", wantBoth),
		download.CheckInterval(r.DataIntervalStart, r.DataIntervalEnd),
		r.File.check(),
	)
}

// recentEvents is the age that the service's table of recent events has for sure: it keeps 9 days, and kept 7 before.
const recentEvents = 6 * 24 * time.Hour

// checkRecent refuses an old interval for which the service would read the table of recent events.
func (r FileDownloadRequest) checkRecent(now time.Time) *InputError {
	isRecentOnly := r.Model == ModelEvents && r.DataIntervalEnd.Sub(r.DataIntervalStart) == download.RecentOnly
	return outgoing.If(isRecentOnly && now.Sub(r.DataIntervalStart) > recentEvents, "DataIntervalEnd", r.DataIntervalEnd.String(), download.WantNotRecentOnly)
}

// CountRowsRequest is a query for [FileDownloadsService.CountRows]. Times are sent in UTC.
type CountRowsRequest struct {
	HogQLQuery        string          `json:"hogql_query"`
	HogQLModifiers    json.RawMessage `json:"hogql_modifiers,omitzero"`     // an object
	DataIntervalStart time.Time       `json:"data_interval_start,omitzero"` // needed if the query names it
	DataIntervalEnd   time.Time       `json:"data_interval_end,omitzero"`   // needed if the query names it
}

func (r CountRowsRequest) check() *InputError {
	hasQuery := strings.TrimSpace(r.HogQLQuery) != ""
	return cmp.Or(outgoing.If(!hasQuery, "HogQLQuery", "", "a query"), download.CheckInterval(r.DataIntervalStart, r.DataIntervalEnd))
}

// slowestCount is longer than the 30 seconds after which the service gives up.
const slowestCount = time.Minute

// FileDownloadsService exports data on demand to files, and downloads the files: [Client.FileDownloads].
// Servers older than May 2026 do not have it: calls return [ErrUnsupported].
type FileDownloadsService service

// Create starts a file download and returns its id, for [FileDownloadsService.Wait]; the service removes its files after a
// while. An [APIError] with the code [CodeTooManyFileDownloads] means that others must end first, and [ErrForbidden] that
// the project may not use [ModelHogQL]. The call is not repeated if its outcome is unknown.
//
// POST /file_download_batch_exports/, scope batch_export:write.
func (s *FileDownloadsService) Create(ctx context.Context, download FileDownloadRequest, options ...CallOption) (uuid.UUID, error) {
	r := endpoint(ops.FileDownloadsCreate).refuse(download.check()).refuse(download.checkRecent(s.client.core.now()))
	download.DataIntervalStart, download.DataIntervalEnd = download.DataIntervalStart.UTC(), download.DataIntervalEnd.UTC()
	r.body = download
	created, err := ask[FileDownload](ctx, s.client, r, options)
	return outgoing.OrDefault(created).ID, err
}

// List returns one page of file downloads, newest first, with id and status only: GET /file_download_batch_exports/,
// scope batch_export:read.
func (s *FileDownloadsService) List(ctx context.Context, o *ListOptions, options ...CallOption) (*OffsetPage[FileDownload], error) {
	return s.walk(o, options).One(ctx)
}

// Pages yields the pages of List.
func (s *FileDownloadsService) Pages(ctx context.Context, o *ListOptions, options ...CallOption) iter.Seq2[*OffsetPage[FileDownload], error] {
	return s.walk(o, options).Pages(ctx)
}

// All yields all file downloads. The error that ends it is a [*PageError], which says where to resume.
func (s *FileDownloadsService) All(ctx context.Context, o *ListOptions, options ...CallOption) iter.Seq2[FileDownload, error] {
	return s.walk(o, options).All(ctx)
}

func (s *FileDownloadsService) walk(o *ListOptions, options []CallOption) offsetWalk[FileDownload] {
	return walkByOffset[FileDownload](s.client, endpoint(ops.FileDownloadsList), outgoing.OrDefault(o), options)
}

// Get returns one file download, with its files after its completion: GET /file_download_batch_exports/{id}/, scope
// batch_export:read.
func (s *FileDownloadsService) Get(ctx context.Context, id uuid.UUID, options ...CallOption) (*FileDownload, error) {
	state, err := ask[fileDownloadState](ctx, s.client, endpointByID(ops.FileDownloadsGet, id), options)
	if err != nil {
		return nil, err
	}
	state.ID = id
	return &state.FileDownload, nil
}

// Cancel ends a file download that is under way. For one that is over, the error is [ErrInvalid]; if the service accepts
// the call but the download still runs, [ErrOutcomeUnknown]: call Get, and cancel it again if it still runs. The endpoint
// is POST /file_download_batch_exports/{id}/cancel/, scope batch_export:write.
func (s *FileDownloadsService) Cancel(ctx context.Context, id uuid.UUID, options ...CallOption) error {
	r := endpointByID(ops.FileDownloadsCancel, id)
	after, err := ask[fileDownloadState](ctx, s.client, r, options)
	if err != nil || after.Status == RunStatusCancelled {
		return err
	}
	return &OutcomeUnknownError{
		CallInfo: r.info(1),
		Err:      fmt.Errorf("the service accepted the call, but the status is still %s", mask.Clean(string(after.Status))),
	}
}

// CountRows counts the rows that a HogQL query would export. If that takes the service over 30 seconds, the error is
// [ErrInvalid], with the code "timeout_exceeded". POST /file_download_batch_exports/count_rows/, scope
// batch_export:write. [ErrForbidden] if the project may not use ModelHogQL.
func (s *FileDownloadsService) CountRows(ctx context.Context, query CountRowsRequest, options ...CallOption) (int64, error) {
	r := endpoint(ops.FileDownloadsCountRows).refuse(query.check())
	query.DataIntervalStart, query.DataIntervalEnd = query.DataIntervalStart.UTC(), query.DataIntervalEnd.UTC()
	r.minTry = slowestCount
	r.body = struct {
		Model Model `json:"model"`
		CountRowsRequest
	}{ModelHogQL, query}
	n, err := ask[rowCount](ctx, s.client, r, options)
	return outgoing.OrDefault(outgoing.OrDefault(n).Count), err
}

// Logs returns one page of the log of a file download, the newest entry first: GET …/{id}/logs/, scope batch_export:read.
func (s *FileDownloadsService) Logs(ctx context.Context, id uuid.UUID, o *LogOptions, options ...CallOption) (*LogPage, error) {
	return s.client.logs(ctx, endpointByID(ops.FileDownloadsLogs, id), o, options...)
}

// AllLogs yields the log of a file download as [BatchExportsService.AllLogs] does.
func (s *FileDownloadsService) AllLogs(ctx context.Context, id uuid.UUID, o *LogOptions, options ...CallOption) iter.Seq2[LogEntry, error] {
	return s.client.allLogs(ctx, endpointByID(ops.FileDownloadsLogs, id), o, options...)
}

// Watch yields a file download at once and then on each change, until it is over. It works as
// [RunsService.Watch]; WatchOptions.Until receives the id, status, records and error of the download's run. The service
// lists the files one by one, after the run has completed: so Watch yields a completed one once its list of files has
// stayed the same for 3 seconds.
func (s *FileDownloadsService) Watch(ctx context.Context, id uuid.UUID, o *WatchOptions, options ...CallOption) iter.Seq2[FileDownload, error] {
	return watch.Values(s.watch(ctx, id, o, s.settled(id, options)))
}

// Wait waits until a file download is over and its list of files has stayed the same for 3 seconds; more can follow, so
// compare their rows with RecordsCompleted, as [FileDownloadsService.DownloadAll] does. The error is nil only if the
// download completed or WatchOptions.Until accepts its state; any other end is a [*RunError]. Wait returns the last state
// with every error.
func (s *FileDownloadsService) Wait(ctx context.Context, id uuid.UUID, o *WatchOptions, options ...CallOption) (*FileDownload, error) {
	return watch.Ended(s.watch(ctx, id, o, s.settled(id, options)), (*FileDownload).judge)
}

// settled returns a Get that waits until the list of files of a completed download no longer changes.
func (s *FileDownloadsService) settled(id uuid.UUID, options []CallOption) func(context.Context) (*FileDownload, error) {
	return func(ctx context.Context) (*FileDownload, error) {
		d, err := s.Get(ctx, id, options...)
		for err == nil && d.Status == RunStatusCompleted && (d.RecordsCompleted == nil || *d.RecordsCompleted > 0) {
			before := d.Files
			if !watch.Sleep(ctx, download.Settle) {
				return nil, httptry.ContextError(ctx)
			}
			if d, err = s.Get(ctx, id, options...); err == nil && slices.Equal(before, d.Files) {
				break
			}
		}
		return d, err
	}
}

func (s *FileDownloadsService) watch(
	ctx context.Context, id uuid.UUID, o *WatchOptions, get func(context.Context) (*FileDownload, error),
) iter.Seq2[*FileDownload, error] {
	w, err := o.withDefaults(ops.FileDownloadsWait)
	if err != nil {
		return pages.Failed[*FileDownload](err)
	}
	return watch.Changes(ctx, w.Pace, "file download "+id.String(), get, func(d *FileDownload) (string, watch.Mark, bool) {
		run := d.run()
		return run.brief(), run.mark(), w.until(*run)
	})
}
