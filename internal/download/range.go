package download

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
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/ops"
)

// Range downloads the data of consecutive intervals into a folder. Each interval has a file of its own that
// says which file download it has, and which of its files are whole.
type Range struct {
	FS        durable.FS
	Path      string // of the folder
	Extension string
	Step      time.Duration
	MaxBytes  int64

	Request func(start, end time.Time) any // identifies the content of an interval; as JSON
	Create  func(ctx context.Context, start, end time.Time) (id uuid.UUID, err error)
	Wait    func(ctx context.Context, id uuid.UUID) (found Listing, isGone bool, err error) // gone: to be created again
	List    func(ctx context.Context, id uuid.UUID) (Listing, error)
	File    func(id, file uuid.UUID) Config
	IsGone  func(err error) bool // the error of a file that the service no longer has

	Every, Patience time.Duration // as in Gathering
	AvoidRecent     bool          // make no interval of the length RecentOnly

	Once  bool // one interval without bounds, of a query that names none
	Prove bool // compare the rows of the files with what the service says, also of intervals that are whole
	// Count returns how many rows a query would export, if the service can say so. Without a query it is nil.
	Count func(ctx context.Context, start, end time.Time) (rows *int64, err error)
}

// Interval is an interval of a range, with its whole files.
type Interval struct {
	Start, End time.Time
	Paths      []string

	// With Range.Prove, as far as they are known:
	Written, Expected int64  // rows in the files, and records of the run
	Before, After     *int64 // rows by Range.Count: before the run, and again where Written differs
}

// state is the saved state of an interval. Earlier versions took the first list of files for the whole one, and wrote
// neither IDs nor IsComplete: their intervals are checked again.
type state struct {
	Request    json.RawMessage `json:"request"`
	Download   uuid.UUID       `json:"download"`
	Files      []string        `json:"files"`       // of the file download, as far as they are listed
	IDs        []uuid.UUID     `json:"ids"`         // of Files
	IsComplete bool            `json:"is_complete"` // all rows are here

	Records   *int64 `json:"records,omitempty"` // of the run; once IsComplete, and not of earlier versions
	Counted   *int64 `json:"counted,omitempty"` // before the run, by Range.Count
	Recounted *int64 `json:"recounted,omitempty"`
}

// RecentOnly is the length of an interval for which the service reads only a table of recent events, even for old
// intervals.
const RecentOnly = 5 * time.Minute

// LongestStep is the length of the intervals of a range unless another one is asked for, and the longest.
const LongestStep = 7 * 24 * time.Hour

// WantNotRecentOnly is the required length instead.
const WantNotRecentOnly = "a length other than 5 minutes, for which the service reads only recent events: add or remove a second"

const (
	rangeFormat = "range"
	stamp       = "2006-01-02T150405Z" // in names of files
	stateEnding = ".range"             // of the file of an interval
)

// NotBegun returns the begin of the first interval of a range that was not begun in the folder, or zero.
func (r Range) NotBegun(from, to time.Time) time.Time {
	for at := from; at.Before(to); {
		next := r.end(at, to)
		if _, err := os.Stat(filepath.Join(r.Path, nameOf(at, next)+stateEnding)); err != nil {
			return at
		}
		at = next
	}
	return time.Time{}
}

func nameOf(start, end time.Time) string {
	return start.UTC().Format(stamp) + "-" + end.UTC().Format(stamp)
}

// end returns the end of the interval that begins at from.
func (r Range) end(from, to time.Time) time.Time {
	end := from.Add(r.Step)
	if end.After(to) {
		end = to
	}
	if r.AvoidRecent && end.Sub(from) == RecentOnly {
		end = from.Add(RecentOnly / 2)
	}
	return end
}

// Overlap returns an interval of a folder that has a part of a range but is not one of the range's own intervals: a
// reader of all files would see its rows twice. It ignores a folder that cannot be read.
func Overlap(folder string, from, to time.Time, step time.Duration) (start, end time.Time, found bool) {
	own := map[string]bool{}
	for _, r := range []Range{{Step: step}, {Step: step, AvoidRecent: true}} {
		for at := from; at.Before(to); {
			next := r.end(at, to)
			own[nameOf(at, next)] = true
			at = next
		}
	}
	files, _ := os.ReadDir(folder)
	for _, file := range files {
		name, isState := strings.CutSuffix(file.Name(), stateEnding)
		if !isState || len(name) != 2*len(stamp)+1 || own[name] {
			continue
		}
		start, err := time.Parse(stamp, name[:len(stamp)])
		end, bad := time.Parse(stamp, name[len(stamp)+1:])
		if err == nil && bad == nil && start.Before(to) && end.After(from) {
			return start, end, true
		}
	}
	return start, end, false
}

// Intervals yields the intervals of a range, in the order of time. An error comes last, with the whole files of its interval.
func (r Range) Intervals(ctx context.Context, from, to time.Time) iter.Seq2[Interval, error] {
	return func(yield func(Interval, error) bool) {
		unlock, err := Folder{FS: r.FS, Path: r.Path, Owner: rangeFormat}.lock()
		if err != nil {
			yield(Interval{}, err)
			return
		}
		defer unlock()
		room := &durable.Room{Folder: r.Path, Most: r.MaxBytes}
		if r.Once {
			yield(r.interval(ctx, "query", from, to, room))
			return
		}
		var end time.Time
		for ; from.Before(to); from = end {
			end = r.end(from, to)
			x, err := r.interval(ctx, nameOf(from, end), from, end, room)
			if !yield(x, err) || err != nil {
				return
			}
		}
	}
}

// interval returns an interval. The name is the base name of its files.
func (r Range) interval(ctx context.Context, name string, start, end time.Time, room *durable.Room) (done Interval, err error) {
	done = Interval{Start: start, End: end}
	saved := filepath.Join(r.Path, name+stateEnding)
	x, err := r.load(saved, start, end)
	if err != nil {
		return done, err
	}
	if done.Paths, err = r.present(x.Files); err != nil {
		return done, err
	}
	isWhole := x.IsComplete && len(done.Paths) == len(x.Files) && (x.Records != nil || !r.Prove)
	for isNew := false; !isWhole; isNew = true {
		found, err := r.finished(ctx, saved, &x, start, end)
		if err != nil {
			return done, err
		}
		done.Paths, found, err = Folder{FS: r.FS, Path: r.Path, Owner: x.Download.String(), Room: room}.Gather(ctx, Gathering{
			List: func(ctx context.Context) (Listing, error) { return r.List(ctx, x.Download) },
			Items: func(files []uuid.UUID) (items []Item, err error) {
				if err := r.name(&x, name, files); err != nil {
					return nil, err
				}
				for i, id := range x.IDs {
					if slices.Contains(files, id) {
						items = append(items, Item{x.Files[i], r.File(x.Download, id)})
					}
				}
				return items, r.save(saved, x) // before the files, which belong together
			},
			Every: r.Every, Patience: r.Patience,
		}, found)
		x.Records = found.Records
		switch isWhole = err == nil; {
		case isWhole:
			x.IsComplete = true
			if err := r.save(saved, x); err != nil {
				return done, err
			}
		case isNew || !r.IsGone(err):
			return done, errors.Join(err, r.tally(&done, x))
		default:
			x.Download = uuid.Nil
		}
	}
	if err := r.tally(&done, x); err != nil || !r.Prove {
		return done, err
	}
	return done, r.prove(ctx, saved, &x, &done)
}

// tally counts the rows of an interval.
func (r Range) tally(done *Interval, x state) error {
	if !r.Prove {
		return nil
	}
	rows, isKnown, err := countRows(r.FS, done.Paths)
	if err != nil || !isKnown {
		return errtext.Errorf("the rows of %s cannot be counted: %v", strings.Join(done.Paths, ", "), cmp.Or(err, errForm))
	}
	if done.Written = rows; x.Records != nil {
		done.Expected = *x.Records
	}
	done.Before, done.After = x.Counted, cmp.Or(x.Recounted, x.Counted)
	return nil
}

// prove compares the rows of a complete interval with the service's count. Rows of a query may change while it runs: if
// the number differs from the count before, they are counted again, and the rows of the files must lie between the two
// counts.
func (r Range) prove(ctx context.Context, saved string, x *state, done *Interval) (err error) {
	switch {
	case x.Records == nil:
		return errtext.Errorf("file download %s has no number of records, so nothing shows that its files have all rows", x.Download)
	case done.Written != *x.Records:
		return errtext.Errorf("file download %s has %d records, but its files here have %d: the files were changed. Move %s away to download them again",
			x.Download, *x.Records, done.Written, strings.Join(done.Paths, ", "))
	case x.Counted == nil || done.Written == *x.Counted:
		return nil
	case x.Recounted == nil && r.Count != nil:
		if x.Recounted, err = r.Count(ctx, done.Start, done.End); err != nil {
			return err
		}
		if err := r.save(saved, *x); err != nil {
			return err
		}
	}
	done.After = x.Recounted
	before, after := *x.Counted, ""
	switch {
	case x.Recounted != nil && min(before, *x.Recounted) <= done.Written && done.Written <= max(before, *x.Recounted), x.Recounted == nil && before < done.Written:
		return nil
	case x.Recounted != nil:
		after = fmt.Sprintf(" before its run and %d after it", *x.Recounted)
	}
	return errtext.Errorf("the service counted %d rows of the query of file download %s%s, but its files have %d: rows may be missing or duplicated. "+
		"Download them again into another folder", before, x.Download, after, done.Written)
}

// name gives names to the files without one. A file keeps its name when others are listed before it.
func (r Range) name(x *state, name string, files []uuid.UUID) error {
	x.IsComplete = false
	if isEarlier := len(x.IDs) != len(x.Files); isEarlier && len(x.Files) == len(files) {
		x.IDs = slices.Clone(files)
	} else if isEarlier {
		left, err := r.present(x.Files)
		if err != nil || len(left) > 0 {
			return cmp.Or(err, errtext.Errorf("the interval of %s has %d files, but an earlier version of this package stopped after %d: "+
				"move these files away to download and read all of them", strings.Join(left, ", "), len(files), len(x.Files)))
		}
		x.IDs, x.Files = nil, nil
	}
	for _, id := range files {
		if !slices.Contains(x.IDs, id) {
			x.IDs, x.Files = append(x.IDs, id), append(x.Files, fmt.Sprintf("%s-%d%s", name, len(x.IDs)+1, r.Extension))
		}
	}
	return nil
}

// present returns the paths of the files that are still there.
func (r Range) present(files []string) (paths []string, err error) {
	for _, file := range files {
		path := filepath.Join(r.Path, file)
		f, err := r.FS.OpenFile(path, os.O_RDONLY, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		_ = f.Close()
		paths = append(paths, path)
	}
	return paths, nil
}

// finished returns the results of an interval once its file download is over. It creates one if there is no usable one,
// but not next to files of the last one: two file downloads may divide the rows in different ways.
func (r Range) finished(ctx context.Context, saved string, x *state, start, end time.Time) (found Listing, err error) {
	if x.Download != uuid.Nil {
		found, isGone, err := r.Wait(ctx, x.Download)
		if !isGone {
			return found, err
		}
	}
	if left, err := r.present(x.Files); err != nil || len(left) > 0 {
		return found, cmp.Or(err, errtext.Errorf("the service no longer has the file download of %s, and its files here may be incomplete: "+
			"move the files of this interval away to download and read all of them", strings.Join(left, ", ")))
	}
	x.Files, x.IDs, x.Counted, x.Recounted = nil, nil, nil, nil
	if r.Count != nil {
		if x.Counted, err = r.Count(ctx, start, end); err != nil {
			return found, err
		}
	}
	if x.Download, err = r.Create(ctx, start, end); err != nil {
		return found, err
	}
	if err := r.save(saved, *x); err != nil {
		return found, err
	}
	found, _, err = r.Wait(ctx, x.Download)
	return found, err
}

// load reads the saved state of an interval. It refuses a state of another request.
func (r Range) load(path string, start, end time.Time) (x state, err error) {
	request, err := json.Marshal(r.Request(start, end))
	if err != nil {
		return x, err
	}
	file, err := durable.Read(r.FS, path)
	if errors.Is(err, fs.ErrNotExist) {
		return state{Request: request}, nil
	}
	if err != nil {
		return x, err
	}
	text, ok := durable.Unseal(rangeFormat, file)
	if !ok || json.Unmarshal(text, &x) != nil {
		return x, errtext.Errorf("%s exists but was not written by Range: move it away", path)
	}
	if string(x.Request) != string(request) {
		return x, &ops.InputError{Field: "RangeOptions", Want: "the options of the earlier call, or another folder"}
	}
	return x, nil
}

func (r Range) save(path string, x state) error {
	text, err := json.Marshal(x)
	if err == nil {
		err = durable.Replace(r.FS, path, durable.Seal(rangeFormat, text))
	}
	if err != nil {
		return errtext.Errorf("the state of an interval cannot be written: %v", err)
	}
	return nil
}
