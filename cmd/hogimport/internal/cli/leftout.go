package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/durable"
)

// leftOutName is the file to which a printed command writes the left-out records. No pattern of exports matches
// it.
const leftOutName = "left-out.txt"

type leftOut struct {
	Where  string          `json:"where"`
	Reason string          `json:"reason"`
	Record json.RawMessage `json:"record,omitempty"`
}

const leftOutStart = `{"where":`

// listCommand returns the command that lists the left-out records of an input. It repeats flags that do not
// change the list, so that the check prints the same report again.
func listCommand(in input, more string) string {
	return "hogimport check " + commandLine(in) + more + in.orderFlags() + listAt(leftOutName).Free(in.Files)
}

const listHint = "To list all of them, with the records:"

// leftOutList writes the list to a file, as a whole or not at all.
type leftOutList struct {
	in     *input
	places lineFinder
	lines  *json.Encoder
	n      int64

	record []byte // that was read last
}

// writeLeftOut reads the files again and writes each left-out record. It returns an error unless their number
// is the given one.
func (in *input) writeLeftOut(ctx context.Context, path string, want int64) error {
	paths := in.paths()
	l := &leftOutList{in: in, places: lineFinder{paths: paths}}
	defer l.places.close()
	temp := path + durable.TempEnding
	err := l.create(ctx, temp)
	if err == nil && l.n != want {
		err = &shell.Fault{Code: shell.CodeOther, Text: fmt.Sprintf("of the files %s, and a moment ago it was %s", page.Predicate(l.n, "record", "are left out"), progress.Number(want)),
			Todo: "let nothing write to the files, and check again"}
	}
	if err == nil {
		err = listAt(path).Check(paths)
	}
	if err == nil {
		err = durable.OS{}.Rename(temp, path)
	}
	if err == nil {
		err = durable.OS{}.SyncFolder(filepath.Dir(path))
	} else {
		_ = os.Remove(temp)
	}
	if _, isSaid := errors.AsType[*shell.Fault](err); err != nil && !isSaid {
		return &shell.Fault{Code: shell.CodeOther, Text: fmt.Sprintf("the list %s cannot be written: %v", path, shell.Cause(err)), Err: err,
			Todo: "give a path that can be written with --left-out FILE"}
	}
	return err
}

// create writes a new file and syncs it. It removes a file that a crash has left, and never opens an existing
// file.
func (l *leftOutList) create(ctx context.Context, path string) (err error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := durable.OS{}.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	l.lines = json.NewEncoder(w)
	l.lines.SetEscapeHTML(false)
	if err := l.read(ctx); err != nil {
		return err
	}
	return errors.Join(w.Flush(), f.Sync())
}

func (l *leftOutList) read(ctx context.Context) error {
	until := l.in.until()
	for ev, err := range l.source().Events(ctx, hogapi.Position{}) {
		if err != nil {
			return checkFault(err)
		}
		reason, isOut := ev.Skipped()
		if l.record == nil && !until.IsZero() && !ev.Timestamp.IsZero() && !ev.Timestamp.Before(until) { // a line that is an event
			isOut, reason = true, page.SkipUntil
		}
		if !isOut {
			continue
		}
		line := leftOut{Where: l.places.place(ev.Position), Reason: reason}
		if json.Valid(l.record) {
			line.Record = l.record
		}
		if err := l.lines.Encode(line); err != nil {
			return err
		}
		l.n++
	}
	if ctx.Err() != nil {
		return checkFault(context.Cause(ctx))
	}
	return nil
}

// source returns the files as a check reads them, and notes each record with the reason why it is left out.
func (l *leftOutList) source() history.Source {
	format := l.in.format()
	if format.Convert == nil {
		return l.in.editedLines(history.JSONLines(l.places.paths...))
	}
	convert := l.in.cutRecords(format.Convert)
	format.Convert = func(record []byte) ([]hogapi.Event, error) {
		l.record = append(l.record[:0], record...)
		return convert(record)
	}
	return l.in.open(format, l.places.paths)
}

// placeText returns the place of a record, for people: with the number of its line if that can be found
// quickly.
func placeText(paths []string, at hogapi.Position) string {
	const most = 64 << 20 // that is read for it
	if at.Offset > most && fileOfRow(paths, at.Key) == "" {
		return plainPlace(at)
	}
	f := lineFinder{paths: paths}
	defer f.close()
	return f.place(at)
}

// plainPlace returns the place of a record with an unknown line number.
func plainPlace(at hogapi.Position) string {
	if at.Key == "" || at.Offset == 0 {
		return at.String()
	}
	return fmt.Sprintf("%s (byte %d of the unpacked text)", at.Key, at.Offset)
}

// withPlaces returns a text of the library with the place of a record in the form of placeText.
func withPlaces(text string, paths []string, at hogapi.Position) string {
	if at.Key == "" || !strings.Contains(text, at.String()) {
		return text
	}
	return strings.ReplaceAll(text, at.String(), placeText(paths, at))
}

// lineFinder finds the numbers of lines in files that are read from the first to the last. It unpacks each file
// once.
type lineFinder struct {
	paths []string

	key   string // of the file that is open
	file  *os.File
	text  io.Reader // nil: an archive, or nothing
	end   func()    // of the text
	at    int64     // how far it is read
	lines lineCounter
}

// place returns the place of a record, for people. In one file, it must be called with ascending places.
func (f *lineFinder) place(at hogapi.Position) string {
	at = inFile(f.paths, at)
	if file := fileOfRow(f.paths, at.Key); file != "" {
		return rowPlace(file, at.Offset)
	}
	if at.Key != f.key {
		f.close()
		f.key = at.Key
		if file, err := os.Open(fileOf(f.paths, at.Key)); err == nil {
			f.file = file
			f.text, _, f.end = unpacked(file)
		}
	}
	if f.text != nil && at.Offset > 0 {
		n, err := io.CopyN(&f.lines, f.text, at.Offset-f.at)
		if f.at += n; err == nil {
			return fmt.Sprintf("%s:%d", at.Key, f.lines.number())
		}
		f.text = nil
	}
	return plainPlace(at)
}

func (f *lineFinder) close() {
	if f.file != nil {
		f.end()
		_ = f.file.Close()
	}
	*f = lineFinder{paths: f.paths}
}

type lineCounter struct {
	n       int64
	isWhole bool // the last byte ends a line
}

func (c *lineCounter) Write(p []byte) (int, error) {
	c.n += int64(bytes.Count(p, []byte{'\n'}))
	if len(p) > 0 {
		c.isWhole = p[len(p)-1] == '\n'
	}
	return len(p), nil
}

func (c *lineCounter) number() int64 {
	if c.isWhole {
		return c.n
	}
	return c.n + 1 // the last line has no end
}

// fileOf returns the file that the key of a position names by its path below the folder that all files share,
// or "".
func fileOf(paths []string, key string) string {
	found := slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		return path != key && !strings.HasSuffix(filepath.ToSlash(path), "/"+key)
	})
	if key == "" || len(found) == 0 {
		return ""
	}
	return slices.MinFunc(found, func(a, b string) int { return len(a) - len(b) })
}
