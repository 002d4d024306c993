package fetch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/hogapi/hogapi/internal/lines"
)

// errNotWhole matches the errors of answers that end too early or are not an export.
var errNotWhole = errors.New("the answer is not whole")

func notWhole(reason string) error { return fmt.Errorf("%w: %s", errNotWhole, reason) }

// longestLine is the largest size of a line that is read as JSON. Longer records cannot be imported.
const longestLine = 8 << 20

type lineCheck struct {
	needsNewline bool                        // also after the last line
	needs        []string                    // that each line has
	at           func(line []byte) time.Time // of a line, where it says so; nil: no line does
	from, to     time.Time                   // the requested range

	count int64 // lines that were whole
}

// zoneMargin is the largest distance of a time from the requested days, which can be days of any zone.
const zoneMargin = 14 * time.Hour

// read reads all lines, also of several texts one after another.
func (c *lineCheck) read(ctx context.Context, r io.Reader) error {
	for text := lines.NewReader(r, 0, longestLine); ; {
		line, err := text.Next()
		var path *fs.PathError
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &path):
			return err // of the disk
		case err != nil:
			return notWhole("the compressed data is damaged or cut off")
		}
		if err := c.judge(line.Text, line.Long); err != nil {
			return err
		}
		if line.Open && c.needsNewline {
			return notWhole("the answer ends in the middle of a line")
		}
	}
}

var terminated = []byte("terminated early")

// judge checks a line, or the beginning of a line that is too long. No error has its text, which can be
// personal data.
func (c *lineCheck) judge(line []byte, isLong bool) error {
	line = bytes.TrimSpace(line)
	switch {
	case len(line) == 0:
		return nil
	case line[0] != '{' && bytes.Contains(line, terminated):
		return notWhole(fmt.Sprintf("line %d says that the service ended the export early", c.count+1))
	case line[0] != '{' || !isLong && !json.Valid(line):
		return notWhole(fmt.Sprintf("line %d is not a JSON object", c.count+1))
	}
	for _, part := range c.needs {
		if !isLong && !bytes.Contains(line, []byte(part)) {
			return notWhole(fmt.Sprintf("line %d has no %s, so it is not an event", c.count+1, part))
		}
	}
	if c.at != nil && !isLong {
		if at := c.at(line); !at.IsZero() && (at.Before(c.from.Add(-zoneMargin)) || !at.Before(c.to.Add(zoneMargin))) {
			return notWhole(fmt.Sprintf("line %d is an event of %s, which was not asked for", c.count+1, at.UTC().Format("2006-01-02 15:04 UTC")))
		}
	}
	c.count++
	return nil
}
