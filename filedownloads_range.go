package hogapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
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
// backfill would leave out. PostHog bills the rows like those of an export.
//
// The name of a file is its interval and its number, such as 2026-11-01T000000Z-2026-11-08T000000Z-1.parquet. Next to
// them, a file that ends in .range says which file download the interval has, and which files are whole. So after an
// error or a kill, another call with the same options continues: it makes no second file download for an interval
// unless the service has removed the files of the first, and yields whole files without a request. If the outcome of a
// request for a file download is unknown, the next call makes another one. While the service has too many file
// downloads under way, Range waits.
//
// An interval without data has no file. An error comes once, last. Two calls for one folder do not run at the same time:
// the second one gets [ErrHeld].
//
// It calls Create, Wait and Download of [FileDownloadsService] for each interval.
func (s *FileDownloadsService) Range(ctx context.Context, from, to time.Time, o *RangeOptions, options ...CallOption) iter.Seq2[RangeFile, error] {
	w := &rangeWalk{service: s, o: orDefault(o), options: options}
	w.o.Model, w.o.Step, w.o.MaxBytes = cmp.Or(w.o.Model, ModelEvents), cmp.Or(w.o.Step, longestDownload), cmp.Or(w.o.MaxBytes, 256<<30)
	from, to = from.UTC().Truncate(time.Second), to.UTC().Truncate(time.Second)
	first := w.request(from, earlierOf(from.Add(w.o.Step), to))
	if err := cmp.Or(checkContext(ctx, ops.FileDownloadsCreate), refused(ops.FileDownloadsCreate, cmp.Or(
		outgoing.If(from.IsZero() || to.IsZero(), "from", "", "two times"),
		outgoing.Reversed("to", to, "from", from),
		outgoing.If(w.o.Model == ModelHogQL, "RangeOptions.Model", string(w.o.Model), "events, persons or sessions: a query chooses its rows itself"),
		outgoing.If(w.o.Step < time.Second || w.o.Step > longestDownload, "RangeOptions.Step", w.o.Step.String(), "a second to 7 days"),
		outgoing.If(w.o.MaxBytes < -1, "RangeOptions.MaxBytes", strconv.FormatInt(w.o.MaxBytes, 10), "a number of bytes, 0 for the default or -1 for no limit"),
		download.CheckNames(w.o.Folder, w.o.File.Extension()), first.check(),
	))); err != nil {
		return pages.Failed[RangeFile](err)
	}
	pace, err := w.o.Watch.withDefaults(ops.FileDownloadsGet)
	if err != nil {
		return pages.Failed[RangeFile](err)
	}
	w.pace = pace.Pace
	return func(yield func(RangeFile, error) bool) {
		unlock, err := download.Folder{FS: durable.OS{}, Path: w.o.Folder, Owner: "range"}.Lock()
		if err != nil {
			yield(RangeFile{}, heldError(err))
			return
		}
		defer unlock()
		w.room = &durable.Room{Folder: w.o.Folder, Most: w.o.MaxBytes}
		for ; from.Before(to); from = from.Add(w.o.Step) {
			files, err := w.interval(ctx, from, earlierOf(from.Add(w.o.Step), to))
			for i, path := range files {
				if !yield(RangeFile{path, from, earlierOf(from.Add(w.o.Step), to), i + 1}, nil) {
					return
				}
			}
			if err != nil {
				yield(RangeFile{}, err)
				return
			}
		}
	}
}

const longestDownload = 7 * 24 * time.Hour

func earlierOf(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// rangeWalk is one call of Range.
type rangeWalk struct {
	service *FileDownloadsService
	o       RangeOptions
	options []CallOption
	pace    watch.Pace
	room    *durable.Room
}

// rangePart is the saved state of an interval.
type rangePart struct {
	Request  FileDownloadRequest `json:"request"`
	Download uuid.UUID           `json:"download"`
	Files    []string            `json:"files"` // once all of them are whole
	IsWhole  bool                `json:"is_whole"`
}

func (w *rangeWalk) request(start, end time.Time) FileDownloadRequest {
	return FileDownloadRequest{
		Model: w.o.Model, File: w.o.File, DataIntervalStart: start, DataIntervalEnd: end, Include: w.o.Include, Exclude: w.o.Exclude,
	}
}

// interval returns the whole files of an interval.
func (w *rangeWalk) interval(ctx context.Context, start, end time.Time) (paths []string, err error) {
	const stamp = "2006-01-02T150405Z"
	name := start.Format(stamp) + "-" + end.Format(stamp)
	saved := filepath.Join(w.o.Folder, name+".range")
	part, err := w.load(saved, w.request(start, end))
	if err != nil {
		return nil, err
	}
	if part.IsWhole {
		if paths, err = w.present(part.Files); !errors.Is(err, fs.ErrNotExist) {
			return paths, err
		}
		part.IsWhole, part.Files = false, nil // somebody has moved a file away
	}
	state, err := w.finished(ctx, saved, &part)
	if err != nil {
		return nil, err
	}
	items := make([]download.Item, len(state.Files))
	for i, file := range state.Files {
		items[i] = download.Item{Name: fmt.Sprintf("%s-%d%s", name, i+1, w.o.File.Extension()), Config: w.service.transfer(part.Download, file, w.options)}
		part.Files = append(part.Files, items[i].Name)
	}
	paths, err = download.Folder{FS: durable.OS{}, Path: w.o.Folder, Owner: part.Download.String(), Room: w.room}.Fill(ctx, items)
	if err != nil {
		return paths, heldError(err)
	}
	part.IsWhole = true
	return paths, w.save(saved, part)
}

// present returns the paths of files that are still there.
func (w *rangeWalk) present(files []string) (paths []string, err error) {
	for _, file := range files {
		path := filepath.Join(w.o.Folder, file)
		if _, err := os.Stat(path); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// finished returns the file download of an interval once it is over. It makes a new one for an
// interval without one, or if the service no longer has the files.
func (w *rangeWalk) finished(ctx context.Context, saved string, part *rangePart) (*FileDownload, error) {
	if part.Download != uuid.Nil {
		state, err := w.service.Wait(ctx, part.Download, w.o.Watch, w.options...)
		if _, isOver := errors.AsType[*RunError](err); !isOver && !errors.Is(err, ErrNotFound) {
			return state, err
		}
	}
	id, err := w.service.Create(ctx, part.Request, w.options...)
	for errors.Is(err, ErrTooManyFileDownloads) && watch.Sleep(ctx, w.pace.MaxInterval) {
		id, err = w.service.Create(ctx, part.Request, w.options...)
	}
	if err != nil {
		return nil, err
	}
	part.Download = id
	if err := w.save(saved, *part); err != nil {
		return nil, err
	}
	return w.service.Wait(ctx, id, w.o.Watch, w.options...)
}

const rangeFormat = "range"

// load reads the saved state of an interval. It refuses a state of another request.
func (w *rangeWalk) load(path string, request FileDownloadRequest) (part rangePart, err error) {
	file, err := durable.Read(durable.OS{}, path)
	if errors.Is(err, fs.ErrNotExist) {
		return rangePart{Request: request}, nil
	}
	if err != nil {
		return part, err
	}
	text, ok := durable.Unseal(rangeFormat, file)
	if !ok || json.Unmarshal(text, &part) != nil {
		return part, errtext.Errorf("%s is in the way, since Range has not written it: move it away", path)
	}
	was, _ := json.Marshal(part.Request)
	now, _ := json.Marshal(request)
	if string(was) != string(now) {
		return part, &InputError{Op: ops.FileDownloadsCreate, Field: "RangeOptions", Want: "the options with which the folder was begun, or another folder"}
	}
	return part, nil
}

func (w *rangeWalk) save(path string, part rangePart) error {
	text, err := json.Marshal(part)
	if err == nil {
		err = durable.Replace(durable.OS{}, path, durable.Seal(rangeFormat, text))
	}
	return err
}

// heldError adds ErrHeld to the error of a folder that another call holds.
func heldError(err error) error {
	if errors.Is(err, durable.ErrLocked) {
		return fmt.Errorf("%w: %w", ErrHeld, err)
	}
	return err
}
