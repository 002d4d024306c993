package parquet

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/lines"
)

// Options select the columns to read. Nil stands for the defaults.
type Options struct {
	// Columns are the columns to read. A column that a file lacks is absent from its records. By default, all
	// columns are read. Without ids of the vendor, uuids are derived from the columns that are read, so every
	// import of a file must read the same columns.
	Columns []string
	// Without are columns that are not read, such as posthogexport.Dropped. The same holds for them.
	Without []string
	// JSON are columns with texts of JSON that become values of the record, as in JSON lines. The same holds for them. A
	// text that is not JSON stays a text. By default, all texts stay texts.
	JSON []string
}

// Files reads events from Parquet files of a format, in the order given. It is [history.Files] for
// another form of files: a row is a record, as the package documentation describes. A path may be a pattern of
// path/filepath.Match that matches at least one file.
//
// A position is the name of the file with a digest of its footer, and the number of the row. An import resumes
// at that row, in its row group, and refuses a changed file. A file that cannot be read, or is damaged, stops
// the import with an error that names the file and the row.
func Files(format history.Format, options *Options, pathsOrPatterns ...string) history.Source {
	s := &source{}
	if options != nil {
		s.options = Options{slices.Clone(options.Columns), slices.Clone(options.Without), slices.Clone(options.JSON)}
	}
	paths, err := lines.Find(lines.Disk{}, pathsOrPatterns)
	files := lines.NewFilesOf(lines.Disk{}, paths)
	s.paths, s.names, s.unfit = paths, files.Names(), err
	name := files.Name()
	if len(s.options.Columns) > 0 {
		name += " [" + strings.Join(s.options.Columns, ",") + "]"
	}
	if len(s.options.Without) > 0 {
		name += " without [" + strings.Join(s.options.Without, ",") + "]"
	}
	if len(s.options.JSON) > 0 {
		name += " json [" + strings.Join(s.options.JSON, ",") + "]"
	}
	return fileSource{history.Records(name, format, s.read), files}
}

// fileSource is a source that says which files it reads.
type fileSource struct {
	history.Source

	files *lines.Files
}

// Unwrap returns the source of the rows.
func (s fileSource) Unwrap() history.Source { return s.Source }

// Contents are the files, for sources that keep their sorted events.
func (s fileSource) Contents() ([]lines.Content, error) { return s.files.Contents() }

type source struct {
	paths, names []string
	options      Options
	unfit        error // why there is nothing to read
}

func (s *source) read(ctx context.Context, after hogapi.Position) iter.Seq2[history.Record, error] {
	return func(yield func(history.Record, error) bool) {
		if err := s.readFiles(ctx, after, yield); err != nil {
			yield(history.Record{}, err)
		}
	}
}

func (s *source) readFiles(ctx context.Context, after hogapi.Position, yield func(history.Record, error) bool) error {
	if s.unfit != nil {
		return fmt.Errorf("parquet: %w", s.unfit)
	}
	first, err := s.find(after)
	if err != nil {
		return err
	}
	for i := first; i < len(s.paths); i++ {
		done, err := s.readFile(ctx, i, after, yield)
		if err != nil || done {
			return err
		}
		after = hogapi.Position{}
	}
	return nil
}

func (s *source) find(after hogapi.Position) (int, error) {
	if after.IsZero() {
		return 0, nil
	}
	name := after.Key // with a digest after the last #
	if i := strings.LastIndexByte(name, '#'); i >= 0 {
		name = name[:i]
	}
	i := slices.Index(s.names, name)
	if i < 0 {
		return 0, fmt.Errorf("parquet: there is no position %s in these files", after)
	}
	return i, nil
}

func (s *source) readFile(ctx context.Context, i int, after hogapi.Position, yield func(history.Record, error) bool) (done bool, err error) {
	f, err := open(lines.Disk{}, s.paths[i], s.options)
	if err != nil {
		return false, fmt.Errorf("parquet: %s: %w", s.names[i], err)
	}
	defer f.close()
	key := s.names[i] + "#" + f.digest
	if !after.IsZero() && after.Key != key {
		return false, fmt.Errorf("parquet: %s is not the file that it was at position %s: "+
			"import it with an ID and a checkpoint of its own", s.names[i], after)
	}
	row := after.Offset
	var record []byte
	err = f.rows(row, func() bool {
		row++
		var bad error
		if record, bad = f.tree.object(record[:0]); bad != nil {
			record = record[:0]
		}
		done = ctx.Err() != nil || !yield(history.Record{Raw: slices.Clip(record), Position: hogapi.Position{Key: key, Offset: row}, Err: bad}, nil)
		return !done
	})
	switch {
	case done:
		return true, nil
	case err != nil:
		return false, fmt.Errorf("parquet: %s, row %d: %w. Compare the file with its original, or leave it out", s.names[i], row+1, err)
	}
	return false, nil
}
