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

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"
)

// ReadJSONLines reads files with one JSON object a line into a collection of [Event]. The format is that of [hogapi.JSONLinesFile],
// plain or gzip, which shows in the content of a file. Globs may name any filesystem that the program has registered with Beam.
//
// A position is the file's name below the base of its glob, and the byte offset behind the line in the plain text. The base is the folder
// before the glob's first wildcard, or the file's own: part-1.jsonl is the name under history/*.jsonl, and b/part-1.jsonl under
// history/*/part-1.jsonl. So choose the glob once, and keep it with the import's ID: where another spelling has another base, every
// event gets another uuid, and the service has them twice. Names must differ within a job, and should over all jobs of one import:
// two different events at one position have one uuid. They are the names, and the uuids those, of [hogapi.JSONLinesFile] where no
// folder in a glob has a wildcard, wherever the folder is. `head -c OFFSET FILE | tail -n 1` shows the line of a position.
//
// Large plain files are read in parts at the same time; a gzip file is read by one worker. A line that makes no event, or is over 1 MiB,
// becomes a reject. A glob without a file, a folder that cannot be listed, a file that cannot be read to its end, one that grows
// meanwhile, and one that is no text end the job.
//
// It panics where the globs are wrong: see [CheckGlobs].
func ReadJSONLines(s beam.Scope, globs ...string) beam.PCollection {
	s = s.Scope("hogbeam.ReadJSONLines")
	if err := CheckGlobs(globs...); err != nil {
		panic(err)
	}
	for _, glob := range globs {
		filesystem.ValidateScheme(glob)
	}
	files := beam.ParDo(s, &matchFn{Globs: globs}, beam.Impulse(s))
	looked := beam.ParDo(s, &lookFn{}, beam.Reshuffle(s, files))
	return beam.ParDo(s, &readFn{}, looked)
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
