package parquet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/google/uuid"
	parquetgo "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hogapi/hogapi/internal/lines"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/reconcile"
)

// Rows reads the Parquet files of a batch export for [reconcile.Files]: of each file only the columns uuid, event,
// distinct_id, timestamp and, if it is there, team_id. The paths may be patterns, such as exports/*.parquet, below
// fsys: a folder by [os.DirFS], or a bucket by the file system of the module formats/s3files. The files must be
// [io.ReaderAt].
//
// A uuid is a text, a UUID, or 16 bytes; a timestamp is a timestamp of any unit, INT96, or a text of ISO 8601. A time
// without a zone is UTC.
//
// A file that lacks a column, has it with another type, or is damaged or cut makes all rows [reconcile.CannotTell],
// with the file named. So does a file that is refused, or a list of files that is. A storage that does not answer ends
// the comparison, which can be continued.
func Rows(fsys fs.FS, pathsOrPatterns ...string) (reconcile.RowReader, error) {
	found, err := lines.Find(fsys, pathsOrPatterns)
	if errors.Is(err, fs.ErrPermission) {
		return &rowReader{fsys: fsys, files: lines.NewFilesOf(fsys, pathsOrPatterns), refused: err}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	return &rowReader{fsys: fsys, files: lines.NewFilesOf(fsys, found)}, nil
}

type rowReader struct {
	fsys    fs.FS
	files   *lines.Files
	refused error // the list of the files
}

// Name implements [reconcile.RowReader].
func (r *rowReader) Name() string { return "files " + mask.OneLine(r.files.Name()) }

// Rows implements [reconcile.RowReader].
func (r *rowReader) Rows(ctx context.Context, yield func(reconcile.FileRow) error) error {
	if r.refused != nil {
		return fmt.Errorf("%w: the files could not be listed: %w", reconcile.ErrCannotTell, r.refused)
	}
	for i, path := range r.files.Paths() {
		if err := r.readFile(ctx, path, r.files.Names()[i], yield); err != nil {
			return err
		}
	}
	return nil
}

// compared are the columns that are read.
var compared = []string{"uuid", "event", "distinct_id", "timestamp", "team_id"}

func (r *rowReader) readFile(ctx context.Context, path, name string, yield func(reconcile.FileRow) error) error {
	disk, err := openStorage(r.fsys, path)
	if err != nil {
		return judged(name, err, nil)
	}
	f, err := disk.open(Options{Columns: compared})
	if err != nil {
		return judged(name, disk.failed, err)
	}
	defer f.close()
	columns, err := columnsOf(f)
	if err != nil {
		return judged(name, nil, err)
	}
	var failed, bad error
	number := int64(0)
	err = f.rows(0, func() bool {
		number++
		var row reconcile.FileRow
		if row, bad = columns.row(); bad == nil && ctx.Err() == nil {
			failed = yield(row)
		}
		return bad == nil && failed == nil && ctx.Err() == nil
	})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case failed != nil:
		return failed
	case bad != nil:
		return judged(name, nil, fmt.Errorf("row %d: %w", number, bad))
	case err != nil:
		return judged(name, disk.failed, fmt.Errorf("row %d: %w", number+1, err))
	case number != f.read.NumRows():
		return judged(name, nil, fmt.Errorf("the file is damaged: %d rows, but the footer says %d", number, f.read.NumRows()))
	}
	return nil
}

// judged is the error of a file: of its storage, which the comparison ends with, or of its content.
func judged(name string, storage, content error) error {
	switch name = mask.Shown(name); {
	case storage == nil:
		return fmt.Errorf("%w: %s: %w", reconcile.ErrCannotTell, name, content)
	case errors.Is(storage, fs.ErrPermission):
		return fmt.Errorf("%w: %s: %w", reconcile.ErrCannotTell, name, storage)
	}
	return fmt.Errorf("parquet: %s: %w", name, storage)
}

// rowColumns are the columns of the row at hand.
type rowColumns struct {
	uuid, event, distinctID, timestamp, team *leaf // team may be nil
	timeOf                                   func(parquetgo.Value) (time.Time, error)
}

// columnsOf finds the columns of a file, and refuses one that lacks them.
func columnsOf(f *file) (*rowColumns, error) {
	c := &rowColumns{}
	to := map[string]**leaf{"uuid": &c.uuid, "event": &c.event, "distinct_id": &c.distinctID, "timestamp": &c.timestamp, "team_id": &c.team}
	for _, l := range f.leaves {
		column := f.read.Root().Column(l.name)
		if column == nil || !column.Leaf() || l.isRepeated {
			return nil, errors.New("one of the columns uuid, event, distinct_id, timestamp and team_id is a group or a list: it is not a file of the model events")
		}
		kind := column.Type().Kind()
		isText := kind == parquetgo.ByteArray || kind == parquetgo.FixedLenByteArray && l.name == "uuid"
		isNumber := kind == parquetgo.Int32 || kind == parquetgo.Int64
		switch {
		case l.name == "timestamp":
			if c.timeOf = timesOf(column.Type()); c.timeOf == nil {
				return nil, fmt.Errorf("its column timestamp has the type %s, which is not a time", column.Type())
			}
		case l.name == "team_id" && !isNumber, l.name != "team_id" && !isText:
			return nil, fmt.Errorf("its column %s has the type %s", l.name, column.Type())
		}
		*to[l.name] = l
	}
	for _, name := range compared[:len(compared)-1] {
		if *to[name] == nil {
			return nil, fmt.Errorf("no column %s: not a file of the model events, or the export leaves the column out", name)
		}
	}
	return c, nil
}

// row is the row at hand. A row with a null for its name or distinct id has no uuid, so that it counts as one that
// cannot be compared.
func (c *rowColumns) row() (r reconcile.FileRow, err error) {
	if c.team != nil {
		if v := c.team.row[0]; !v.IsNull() {
			r.TeamID = v.Int64()
			if v.Kind() == parquetgo.Int32 {
				r.TeamID = int64(v.Int32())
			}
		}
	}
	if v := c.timestamp.row[0]; !v.IsNull() {
		if r.Timestamp, err = c.timeOf(v); err != nil {
			return r, err
		}
	}
	id, event, who := c.uuid.row[0], c.event.row[0], c.distinctID.row[0]
	if id.IsNull() || event.IsNull() || who.IsNull() {
		return r, nil
	}
	r.UUID, r.Event, r.DistinctID = string(id.ByteArray()), string(event.ByteArray()), string(who.ByteArray())
	if raw, err := uuid.FromBytes(id.ByteArray()); err == nil { // 16 bytes, which no text of a uuid has
		r.UUID = raw.String()
	}
	return r, nil
}

// timesOf reads the times of a type, or is nil.
func timesOf(t parquetgo.Type) func(parquetgo.Value) (time.Time, error) {
	logical := t.LogicalType()
	if logical != nil {
		if of, ok := logical.Value.(*format.TimestampType); ok && t.Kind() == parquetgo.Int64 {
			at := timeIn(of)
			return func(v parquetgo.Value) (time.Time, error) { return at(v.Int64()).UTC(), nil }
		}
	}
	switch {
	case t.Kind() == parquetgo.Int96:
		return func(v parquetgo.Value) (time.Time, error) { return int96Time(v), nil }
	case t.Kind() == parquetgo.ByteArray:
		return func(v parquetgo.Value) (time.Time, error) { return parseTime(string(v.ByteArray())) }
	}
	return nil
}

// parseTime reads a time of ISO 8601. One without a zone is UTC.
func parseTime(text string) (time.Time, error) {
	const day = len(time.DateOnly)
	if len(text) > day && text[day] == ' ' {
		text = text[:day] + "T" + text[day+1:]
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("timestamp is not a time: %s", mask.OneLine(text))
}
