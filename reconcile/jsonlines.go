package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/hogapi/hogapi/internal/lines"
	"github.com/hogapi/hogapi/internal/mask"
)

// JSONLines reads files of JSON lines as a batch export writes them, plain or packed with gzip or zstd. The paths may be
// patterns, such as exports/*.jsonl.gz, below fsys: a folder by [os.DirFS], or a bucket by the file system of the module
// formats/s3files. Without the permission to list a bucket, name each object: a file that is refused, or a list that is,
// makes all rows [CannotTell]; [NamedObjects] knows the names. Unpack files that are packed with brotli. A second run of
// an export can leave parts of the first one behind: such a part is one of the files, and its rows are doubled or, where
// they are gone from the project, only there. [CheckObjects] finds such parts.
func JSONLines(fsys fs.FS, paths ...string) (RowReader, error) {
	found, err := lines.Find(fsys, paths)
	if errors.Is(err, fs.ErrPermission) {
		return &jsonLines{files: lines.NewFilesOf(fsys, paths), refused: err}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reconcile: the files: %w", err)
	}
	if len(found) == 0 {
		return nil, errors.New("reconcile: no file has such a name: give paths or patterns below the folder")
	}
	return &jsonLines{files: lines.NewFilesOf(fsys, found)}, nil
}

type jsonLines struct {
	files   *lines.Files
	refused error // the list of the files
}

func (j *jsonLines) Name() string { return "files " + mask.OneLine(j.files.Name()) }

// Rows implements [RowReader]. A line that is not a row ends it: the missing rows are unknown then.
func (j *jsonLines) Rows(ctx context.Context, yield func(FileRow) error) error {
	if j.refused != nil {
		return fmt.Errorf("%w: the files could not be listed: %w", ErrCannotTell, j.refused)
	}
	var failed error
	const longest = 64 << 20
	options := lines.Options{Layout: lines.Lines, Longest: longest}
	err := j.files.Read(ctx, "", 0, lines.Walk{Options: options, Take: func(f *lines.File, l lines.Line) bool {
		var row struct {
			UUID       string  `json:"uuid"`
			Event      *string `json:"event"`
			DistinctID string  `json:"distinct_id"`
			Timestamp  string  `json:"timestamp"`
			TeamID     int64   `json:"team_id"`
		}
		if err := json.Unmarshal(l.Text, &row); err != nil || l.Long {
			failed = fmt.Errorf("%w: %s, line %d: not a row of JSON: the file may be cut, so download it again", ErrCannotTell, f.Name(), l.Number)
			return false
		}
		if row.Event == nil {
			failed = fmt.Errorf("%w: %s, line %d: event is missing: give the files of an export of events", ErrCannotTell, f.Name(), l.Number)
			return false
		}
		at, err := parseTimestamp(row.Timestamp)
		if err != nil {
			failed = fmt.Errorf("%w: %s, line %d: %w", ErrCannotTell, f.Name(), l.Number, err)
			return false
		}
		failed = yield(FileRow{UUID: row.UUID, Event: *row.Event, DistinctID: row.DistinctID, Timestamp: at, TeamID: row.TeamID})
		return failed == nil
	}})
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w: %w", ErrCannotTell, err)
	}
	return errors.Join(failed, err)
}

// parseTimestamp reads a time as exports write it. One without a zone is UTC.
func parseTimestamp(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999",
	} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("timestamp is not a time: %s", mask.OneLine(text))
}
