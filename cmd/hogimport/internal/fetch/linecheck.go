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
)

// errNotWhole is in the errors of answers that end too early, or are not an export.
var errNotWhole = errors.New("the answer is not whole")

func notWhole(reason string) error { return fmt.Errorf("%w: %s", errNotWhole, reason) }

// longestLine is the most bytes of a line that are read as JSON: no longer record can be imported.
const longestLine = 8 << 20

type lineCheck struct {
	needsNewline bool                        // also after the last line
	needs        []string                    // that each line has
	at           func(line []byte) time.Time // of a line, where it says so; nil: no line does
	from, to     time.Time                   // the requested range

	count int64 // lines that were whole
	line  []byte
	long  bool // the line is longer than its kept part
	buf   []byte
}

// aside is how far a time may be outside of the requested days, which can be days of any zone.
const aside = 14 * time.Hour

// read reads all lines, also of one text after the other.
func (c *lineCheck) read(ctx context.Context, r io.Reader) error {
	if c.buf == nil {
		c.buf = make([]byte, 128<<10)
	}
	c.line, c.long = c.line[:0], false
	for {
		n, err := r.Read(c.buf)
		if problem := c.add(c.buf[:n]); problem != nil {
			return problem
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var path *fs.PathError
		switch {
		case errors.Is(err, io.EOF):
			return c.end()
		case errors.As(err, &path):
			return err // of the disk
		case err != nil:
			return notWhole("its packed form is damaged or cut off")
		}
	}
}

func (c *lineCheck) add(text []byte) error {
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			c.keep(text)
			return nil
		}
		var err error
		if len(c.line) == 0 && !c.long {
			err = c.judge(text[:end])
		} else {
			c.keep(text[:end])
			err = c.judge(c.line)
		}
		if err != nil {
			return err
		}
		c.line, c.long = c.line[:0], false
		text = text[end+1:]
	}
	return nil
}

func (c *lineCheck) keep(text []byte) {
	if len(c.line)+len(text) > longestLine {
		c.long = true
		text = text[:max(longestLine-len(c.line), 0)]
	}
	c.line = append(c.line, text...)
}

var terminated = []byte("terminated early")

// judge judges a line. Its text is in no error: it can be of a person.
func (c *lineCheck) judge(line []byte) error {
	line = bytes.TrimSpace(line)
	switch {
	case len(line) == 0:
		return nil
	case line[0] != '{' && bytes.Contains(line, terminated):
		return notWhole(fmt.Sprintf("line %d says that the service ended the export early", c.count+1))
	case line[0] != '{' || !c.long && !json.Valid(line):
		return notWhole(fmt.Sprintf("line %d is not a JSON object", c.count+1))
	}
	for _, part := range c.needs {
		if !c.long && !bytes.Contains(line, []byte(part)) {
			return notWhole(fmt.Sprintf("line %d has no %s, so it is not an event", c.count+1, part))
		}
	}
	if c.at != nil && !c.long {
		if at := c.at(line); !at.IsZero() && (at.Before(c.from.Add(-aside)) || !at.Before(c.to.Add(aside))) {
			return notWhole(fmt.Sprintf("line %d is an event of %s, which was not asked for", c.count+1, at.UTC().Format("2006-01-02 15:04 UTC")))
		}
	}
	c.count++
	return nil
}

func (c *lineCheck) end() error {
	if len(c.line) == 0 {
		return nil
	}
	if err := c.judge(c.line); err != nil {
		return err
	}
	if c.needsNewline {
		return notWhole("it ends in the middle of a line")
	}
	return nil
}
