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
	Wait    func(ctx context.Context, id uuid.UUID) (files []uuid.UUID, isGone bool, err error) // gone: to be created again
	File    func(id, file uuid.UUID) Config
	IsGone  func(err error) bool // the error of a file that the service no longer has
}

// Part is a file of an interval.
type Part struct {
	Path       string
	Start, End time.Time
	Number     int // of the files of the interval, from 1
}

// interval is the saved state of an interval.
type interval struct {
	Request  json.RawMessage `json:"request"`
	Download uuid.UUID       `json:"download"`
	Files    []string        `json:"files"`    // of the file download, once it is over
	IsWhole  bool            `json:"is_whole"` // all files are here
}

const (
	rangeFormat = "range"
	stamp       = "2006-01-02T150405Z" // in names of files
	stateEnding = ".range"             // of the file of an interval
)

// HasBegun reports whether a folder has the state of an interval that begins at from. It has none if it cannot be read.
func HasBegun(folder string, from time.Time) bool {
	found, _ := os.ReadDir(folder)
	return slices.ContainsFunc(found, func(file os.DirEntry) bool {
		return strings.HasPrefix(file.Name(), from.UTC().Format(stamp)+"-") && strings.HasSuffix(file.Name(), stateEnding)
	})
}

// Files yields the files of a range, in the order of time. An error comes last.
func (r Range) Files(ctx context.Context, from, to time.Time) iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		unlock, err := Folder{FS: r.FS, Path: r.Path, Owner: rangeFormat}.lock()
		if err != nil {
			yield(Part{}, err)
			return
		}
		defer unlock()
		room := &durable.Room{Folder: r.Path, Most: r.MaxBytes}
		for ; from.Before(to); from = from.Add(r.Step) {
			end := from.Add(r.Step)
			if end.After(to) {
				end = to
			}
			paths, err := r.interval(ctx, from, end, room)
			for i, path := range paths {
				if !yield(Part{path, from, end, i + 1}, nil) {
					return
				}
			}
			if err != nil {
				yield(Part{}, err)
				return
			}
		}
	}
}

// interval returns the paths of the whole files of an interval.
func (r Range) interval(ctx context.Context, start, end time.Time, room *durable.Room) (paths []string, err error) {
	name := start.Format(stamp) + "-" + end.Format(stamp)
	saved := filepath.Join(r.Path, name+stateEnding)
	x, err := r.load(saved, start, end)
	if err != nil {
		return nil, err
	}
	if paths, err = r.present(x.Files); err != nil || x.IsWhole && len(paths) == len(x.Files) {
		return paths, err
	}
	for isNew := false; ; isNew = true {
		files, err := r.finished(ctx, saved, &x, start, end)
		if err != nil {
			return paths, err
		}
		x.IsWhole, x.Files = false, nil
		items := make([]Item, len(files))
		for i, file := range files {
			items[i] = Item{fmt.Sprintf("%s-%d%s", name, i+1, r.Extension), r.File(x.Download, file)}
			x.Files = append(x.Files, items[i].Name)
		}
		if err := r.save(saved, x); err != nil { // before its files, which belong together
			return nil, err
		}
		paths, err = Folder{FS: r.FS, Path: r.Path, Owner: x.Download.String(), Room: room}.Fill(ctx, items)
		if err == nil {
			x.IsWhole = true
			return paths, r.save(saved, x)
		}
		if isNew || !r.IsGone(err) {
			return paths, err
		}
		x.Download = uuid.Nil
	}
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

// finished returns the files of an interval once its file download is over. It creates one if there is no
// usable one, but not next to files of the last one: two file downloads may divide the rows in different ways.
func (r Range) finished(ctx context.Context, saved string, x *interval, start, end time.Time) (files []uuid.UUID, err error) {
	if x.Download != uuid.Nil {
		files, isGone, err := r.Wait(ctx, x.Download)
		if !isGone {
			return files, err
		}
	}
	if left, err := r.present(x.Files); err != nil || len(left) > 0 {
		return nil, cmp.Or(err, errtext.Errorf("the service no longer has the file download of %s, and not all of its files are here: "+
			"move the files of this interval away, to download and read all of them again", strings.Join(left, ", ")))
	}
	if x.Download, err = r.Create(ctx, start, end); err != nil {
		return nil, err
	}
	if err := r.save(saved, *x); err != nil {
		return nil, err
	}
	files, _, err = r.Wait(ctx, x.Download)
	return files, err
}

// load reads the saved state of an interval. It refuses a state of another request.
func (r Range) load(path string, start, end time.Time) (x interval, err error) {
	request, err := json.Marshal(r.Request(start, end))
	if err != nil {
		return x, err
	}
	file, err := durable.Read(r.FS, path)
	if errors.Is(err, fs.ErrNotExist) {
		return interval{Request: request}, nil
	}
	if err != nil {
		return x, err
	}
	text, ok := durable.Unseal(rangeFormat, file)
	if !ok || json.Unmarshal(text, &x) != nil {
		return x, errtext.Errorf("%s is in the way, since Range has not written it: move it away", path)
	}
	if string(x.Request) != string(request) {
		return x, &errtext.UnfitError{Field: "RangeOptions", Want: "the options with which the folder was begun, or another folder"}
	}
	return x, nil
}

func (r Range) save(path string, x interval) error {
	text, err := json.Marshal(x)
	if err == nil {
		err = durable.Replace(r.FS, path, durable.Seal(rangeFormat, text))
	}
	if err != nil {
		return errtext.Errorf("the state of an interval cannot be written: %v", err)
	}
	return nil
}
