package hogbeam

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"path"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"
)

// ReadJSONLines reads files with one JSON object a line into a collection of [Event]. The format is that of [hogapi.JSONLinesFile],
// plain or gzip, which shows in the content of a file. Globs may name any filesystem that the program has registered with Beam.
//
// A position is the file's name below the folder where its glob begins, and the byte offset behind the line in the plain text. So an
// import of one folder gives the same uuids as [hogapi.Client.Import] does, wherever the folder is. Names must differ.
//
// Large plain files are read in parts at the same time; a gzip file is read by one worker. A line that makes no event, or is over 1 MiB,
// becomes a reject. A glob without a file, a file that cannot be read to its end, and one that is no text end the job.
func ReadJSONLines(s beam.Scope, globs ...string) beam.PCollection {
	s = s.Scope("hogbeam.ReadJSONLines")
	for _, glob := range globs {
		filesystem.ValidateScheme(glob)
	}
	files := beam.ParDo(s, &matchFn{Globs: globs}, beam.Impulse(s))
	looked := beam.ParDo(s, &lookFn{}, beam.Reshuffle(s, files))
	return beam.ParDo(s, &readFn{}, looked)
}

// file is one file to read.
type file struct {
	Path string
	Name string // of its positions
	Size int64
	Gzip bool
}

// matchFn finds the files. It is one call for all globs, so that names can be compared.
type matchFn struct{ Globs []string }

// ProcessElement lists the files.
func (f *matchFn) ProcessElement(ctx context.Context, _ []byte, emit func(file)) error {
	if len(f.Globs) == 0 {
		return errors.New("hogbeam: there is no file to read: name at least one glob")
	}
	byName := map[string]string{}
	for _, glob := range f.Globs {
		paths, err := list(ctx, glob)
		if err != nil {
			return fmt.Errorf("hogbeam: %s: %w", glob, err)
		}
		if len(paths) == 0 {
			return fmt.Errorf("hogbeam: no file matches %s", glob)
		}
		root := folderOf(glob)
		for _, p := range paths {
			name := strings.TrimPrefix(p, root)
			if other, taken := byName[name]; taken {
				return fmt.Errorf("hogbeam: %s and %s both have the name %q in positions: read a folder that is above both", other, p, name)
			}
			byName[name] = p
			emit(file{Path: p, Name: name})
		}
	}
	return nil
}

func list(ctx context.Context, glob string) ([]string, error) {
	fs, err := filesystem.New(ctx, glob)
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	return fs.List(ctx, glob)
}

// folderOf is the part of a glob up to the last slash before its first wildcard.
func folderOf(glob string) string {
	if i := strings.IndexAny(glob, `*?[\`); i >= 0 {
		glob = glob[:i]
	}
	return glob[:strings.LastIndexByte(glob, '/')+1]
}

// lookFn finds out what a file is.
type lookFn struct{}

// ProcessElement completes one file. An empty one is left out.
func (f *lookFn) ProcessElement(ctx context.Context, in file, emit func(file)) error {
	fs, err := filesystem.New(ctx, in.Path)
	if err != nil {
		return err
	}
	defer fs.Close()
	if in.Size, err = fs.Size(ctx, in.Path); err != nil {
		return fmt.Errorf("hogbeam: %s: %w", in.Path, err)
	}
	text, err := fs.OpenRead(ctx, in.Path)
	if err != nil {
		return fmt.Errorf("hogbeam: %s: %w", in.Path, err)
	}
	defer text.Close()
	const enough = 512 // to tell a text
	head := make([]byte, enough)
	n, err := io.ReadFull(text, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("hogbeam: %s: %w", in.Path, err)
	}
	head = head[:n]
	in.Gzip = bytes.HasPrefix(head, []byte("\x1f\x8b"))
	switch {
	case n == 0 && path.Ext(in.Path) == ".gz":
		return fmt.Errorf("hogbeam: %s is empty, and an empty gzip file is not", in.Path)
	case !in.Gzip:
		if err := checkText(in.Path, head); err != nil {
			return err
		}
	}
	if n > 0 {
		emit(in)
	}
	return nil
}

// checkText refuses what is no text of lines at all: a million rejects would help nobody.
func checkText(path string, head []byte) error {
	if kind := http.DetectContentType(head); kind != "text/plain; charset=utf-8" {
		return fmt.Errorf("hogbeam: %s is no text of JSON lines; it looks like %s", path, kind)
	}
	return nil
}

// readFn reads lines. Its restriction is a range of offsets: a line belongs to the range in which it begins. A gzip file, which cannot be
// read from the middle, is one unit.
type readFn struct{}

// blockSize is how much of a plain file is read by one worker, as Beam's own reader of text has it.
const blockSize = 64 << 20

// CreateInitialRestriction is the whole file.
func (f *readFn) CreateInitialRestriction(in file) offsetrange.Restriction {
	if in.Gzip {
		return offsetrange.Restriction{End: 1}
	}
	return offsetrange.Restriction{End: in.Size}
}

// SplitRestriction divides a large plain file.
func (f *readFn) SplitRestriction(_ file, r offsetrange.Restriction) []offsetrange.Restriction {
	return r.EvenSplits((r.End - r.Start + blockSize - 1) / blockSize)
}

// RestrictionSize is in bytes of the file.
func (f *readFn) RestrictionSize(in file, r offsetrange.Restriction) float64 {
	if in.Gzip {
		return float64(in.Size)
	}
	return r.Size()
}

// CreateTracker tracks a range.
func (f *readFn) CreateTracker(r offsetrange.Restriction) *sdf.LockRTracker {
	return sdf.NewLockRTracker(offsetrange.NewTracker(r))
}

// ProcessElement reads the lines of a range.
func (f *readFn) ProcessElement(ctx context.Context, rt *sdf.LockRTracker, in file, emit func(Event)) error {
	ended := false
	claim := func(offset int64) bool {
		ended = !rt.TryClaim(offset)
		return !ended
	}
	if in.Gzip {
		if !claim(0) {
			return nil
		}
		claim = func(int64) bool { return true }
	}
	start := rt.GetRestriction().(offsetrange.Restriction).Start
	if err := readLines(ctx, in, start, claim, emit); err != nil {
		return fmt.Errorf("hogbeam: %s: %w", in.Path, err)
	}
	if !ended {
		rt.TryClaim(int64(math.MaxInt64 - 1)) // no line begins in the rest of the range; one more would overflow in the tracker
	}
	return nil
}
