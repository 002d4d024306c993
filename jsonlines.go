package hogapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hogapi/hogapi/internal/lines"
	"github.com/hogapi/hogapi/internal/statefile"
	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/ops"
)

// JSONLinesFile reads events from files with one JSON object a line, in the order given. It is the
// format of the service's own managed migrations:
//
//	{"event":"order placed","distinct_id":"ann","timestamp":"2024-05-01T12:30:00+02:00","properties":{"price":12.5}}
//
// A line may have a uuid, $set and $set_once, and no other key that is not null; "$reject", as
// [RejectFile] writes it, is ignored. The distinct_id may be in the properties instead, and may be a
// whole number. Times are RFC 3339 with an offset. Properties are sent as they are, with every digit,
// and with those that [Client.Import] adds.
//
// Files may be gzip, which is recognized by their content. Blank lines, a byte order mark and CRLF are
// fine. A line that makes no event, or is over 1 MiB, is a [BadEvent] that names its line, has its uuid
// where that can be read, and never stops the import. These do stop it, with the file's name and line:
// a file that cannot be read to its end, one that was cut or rewritten while it was read, and a last
// line that is not finished, which is either still being written or was cut off. A gzip file of up to
// ImportOptions.VerifyGzip is read to its end before its first event is sent, so nothing of a damaged
// one is.
//
// A position is the base name of the file, which must be unique, and the byte offset after the line in
// the plain text. An import resumes from there: at once in a plain file, at the speed of unpacking in a
// gzip file. Between runs the file that it is in, and those after it, may grow by whole lines. Lines
// that an earlier file has gained are not read. A resume compares the first 64 KiB of the file, and of
// a plain file the last 4 KiB before the place, with what they were; it does not see other changes. Of
// a file that changes while it is read, it is seen that it has become shorter, or other in its first
// 64 KiB.
//
// Canceling the context closes the file that is read, which also ends a read of a pipe.
func JSONLinesFile(paths ...string) Source { return &jsonLines{newLineFiles(paths)} }

// longestLine is the most bytes of a line.
const longestLine = 1 << 20

// jsonLines is the source of JSONLinesFile.
type jsonLines struct{ lineFiles }

// Events implements Source.
func (s *jsonLines) Events(ctx context.Context, after Position) iter.Seq2[Event, error] {
	return s.walk(ctx, after, func() lineFunc { return newLineParser().events })
}

// lineFunc makes the events of a line. They are valid until the next call.
type lineFunc func(l lines.Line) []Event

// lineFiles are files of lines.
type lineFiles struct {
	paths, names []string

	opened  *sync.Map // the file that a name led to when it was opened last
	drained *sync.Map // the paths of pipes that Check has read
}

func newLineFiles(paths []string) lineFiles {
	s := lineFiles{paths: slices.Clone(paths), opened: new(sync.Map), drained: new(sync.Map)}
	for _, path := range paths {
		s.names = append(s.names, filepath.Base(path))
	}
	return s
}

// Name lists the files; of very many, the first, the last and a digest.
func (s *lineFiles) Name() string {
	const most = 8
	list := strings.Join(s.names, ",")
	if len(s.names) <= most {
		return list
	}
	digest := sha256.Sum256([]byte(list))
	return fmt.Sprintf("%s … %s (%d files, %x)", s.names[0], s.names[len(s.names)-1], len(s.names), digest[:6])
}

// walk gives the events of all files after a position. Each walk has a lineFunc of its own.
func (s *lineFiles) walk(ctx context.Context, after Position, begin func() lineFunc) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		first, err := s.begin(after)
		if err != nil {
			yield(Event{}, err)
			return
		}
		w := linesWalk{ctx: ctx, notes: notesOf(ctx), opened: s.opened, drained: s.drained, events: begin(), yield: yield, known: map[string]string{}}
		for i := first; i < len(s.paths); i++ {
			if !w.file(s.paths[i], Position{Key: s.names[i], Offset: after.Offset}) {
				return
			}
			after = Position{}
		}
	}
}

// begin finds the file to continue with, and checks that all remaining files exist and differ.
func (s *lineFiles) begin(after Position) (first int, err error) {
	bad := func(value, want string) error {
		return &InputError{Op: ops.Import, Field: "paths", Value: value, Want: want}
	}
	if len(s.paths) == 0 {
		return 0, bad("", "at least one file")
	}
	for i, name := range s.names {
		if !utf8.ValidString(name) {
			return 0, bad(name, "files whose base names are UTF-8, since they are a part of positions")
		}
		if slices.Contains(s.names[:i], name) {
			return 0, bad(name, "files with different base names, which tell positions apart")
		}
	}
	if !after.IsZero() {
		if first = slices.Index(s.names, after.Key); first < 0 || after.Offset < 0 {
			return 0, fmt.Errorf("there is no position %s in these files", after)
		}
	}
	var missing []error
	found := map[int64][]int{} // files by their size
	infos := make([]os.FileInfo, len(s.paths))
	for i, path := range s.paths {
		info, err := os.Stat(path)
		if err != nil {
			if i >= first {
				missing = append(missing, err)
			}
			continue
		}
		infos[i] = info
		for _, other := range found[info.Size()] {
			if os.SameFile(info, infos[other]) {
				return 0, bad(s.names[i], fmt.Sprintf("each file once: this is the same file as %q, and its events would get other uuids", s.names[other]))
			}
		}
		found[info.Size()] = append(found[info.Size()], i)
	}
	return first, errors.Join(missing...)
}

// fingerprint implements fingerprinter. Where the name does not lead to the file any more that was read,
// the fingerprint fits none.
func (s *lineFiles) fingerprint(at Position) lines.Fingerprint {
	i := slices.Index(s.names, at.Key)
	if i < 0 {
		return lines.Fingerprint{}
	}
	known, isKnown := s.opened.Load(at.Key)
	now, err := os.Stat(s.paths[i])
	if isKnown && (err != nil || !os.SameFile(known.(os.FileInfo), now)) {
		return lines.Replaced
	}
	return lines.FingerprintAt(s.paths[i], at.Offset)
}

// files implements fileSource.
func (s *lineFiles) files() []string { return s.paths }

// linesWalk reads file after file.
type linesWalk struct {
	ctx     context.Context //nolint:containedctx // of one walk
	notes   *sourceNotes
	opened  *sync.Map
	drained *sync.Map
	events  lineFunc
	yield   func(Event, error) bool
	known   map[string]string // the files by their beginning
}

var errDrained = errors.New("it is a pipe, which can be read once, and Check has read it: import it without Check, or write it to a file first")

// openLines is a file that is read.
type openLines struct {
	*lines.File

	name string
}

// locate implements locator.
func (f *openLines) locate(line int64) string {
	number, known := f.Number(lines.Line{Number: line})
	if !known {
		return ""
	}
	return fmt.Sprintf("%s:%d", printable(f.name), number)
}

// fail ends the walk.
func (w *linesWalk) fail(name string, err error) bool {
	if w.ctx.Err() != nil {
		err = context.Cause(w.ctx) // and not that the file is closed
	} else {
		err = fmt.Errorf("%s: %w", printable(name), err)
	}
	w.yield(Event{}, err)
	return false
}

// file gives the events of one file after a position. It reports false where no more are wanted.
func (w *linesWalk) file(path string, at Position) bool {
	if w.ctx.Err() != nil {
		return w.fail(at.Key, nil)
	}
	if _, isDrained := w.drained.Load(path); isDrained {
		return w.fail(at.Key, errDrained)
	}
	options := lines.Options{Longest: longestLine, Verify: w.notes.verifyGzip}
	if w.notes.resumed != nil && at == w.notes.resumed.State.Place {
		options.Known = w.notes.resumed.File
	}
	opened, err := lines.Open(w.ctx, path, at.Offset, options)
	if errors.Is(err, lines.ErrOtherFile) || errors.Is(err, lines.ErrReplaced) {
		w.yield(Event{}, unfitState(fieldSource, w.notes.resumed.Source, fmt.Sprintf("the file %q as it was: %v. "+
			"If it is another file of the same name, import it with an ID and a checkpoint of its own", at.Key, err)))
		return false
	}
	if err != nil {
		return w.fail(at.Key, err)
	}
	w.opened.Store(at.Key, opened.Info())
	if w.notes.isCheck && !opened.Info().Mode().IsRegular() {
		w.drained.Store(path, true)
	}
	f := &openLines{opened, at.Key}
	defer f.Close()
	for compared := false; ; {
		l, err := f.Next()
		compared = compared || w.compare(f)
		if errors.Is(err, io.EOF) {
			return true
		}
		if err != nil || w.ctx.Err() != nil {
			return w.fail(at.Key, err)
		}
		if isBlank(l.Text) && !l.Long {
			continue
		}
		if l.Open && !l.Long && isUnfinished(l.Text) {
			return w.fail(at.Key, fmt.Errorf("the last line (%s) is not finished: if the file is still being written, run again when it is complete; "+
				"if it was cut off, complete or remove that line", f.locate(l.Number)))
		}
		at.Offset = l.End
		for _, ev := range w.events(l) {
			ev.Position, ev.file, ev.line = at, f, l.Number
			if !w.yield(ev, nil) {
				return false
			}
		}
	}
}

// lineParser makes events of lines. It is not safe for concurrent use.
type lineParser struct {
	wire *wire.LineParser
	made [1]Event // see events
}

func newLineParser() *lineParser {
	return &lineParser{wire: wire.NewLineParser(statefile.CheckCorrected)}
}

// parse makes the event of a record, which is valid until the next call.
func (p *lineParser) parse(text []byte, ev *Event) error {
	f, err := p.wire.Parse(text)
	if err == nil {
		ev.Name, ev.DistinctID, ev.Timestamp, ev.UUID = f.Name, f.DistinctID, f.Timestamp, f.UUID
		ev.RawProperties, ev.noted = f.RawProperties, f.Noted
		return nil
	}
	if refusal, ok := errors.AsType[*wire.Refusal](err); ok {
		return newEventError(refusal)
	}
	return err
}

// events implements lineFunc.
func (p *lineParser) events(l lines.Line) []Event {
	p.made[0] = p.event(l)
	return p.made[:]
}

func (p *lineParser) event(l lines.Line) Event {
	if l.Long {
		ev := BadEvent(Position{}, l.Text, fmt.Errorf("the line has %d bytes, and at most %d are read%s", l.Length, longestLine, wire.Hint(l.Text)))
		ev.UUID = wire.OwnUUID(l.Text)
		return ev
	}
	return p.eventOf(l.Text)
}

// eventOf is the event of a record, or a bad one.
func (p *lineParser) eventOf(text []byte) (ev Event) {
	if fault := p.parse(text, &ev); fault != nil {
		ev = BadEvent(Position{}, text, fault)
		ev.UUID = wire.OwnUUID(text)
	}
	ev.record = text
	return ev
}

// isUnfinished reports the beginning of a JSON text.
func isUnfinished(text []byte) bool {
	var value json.RawMessage
	return errors.Is(json.NewDecoder(bytes.NewReader(text)).Decode(&value), io.ErrUnexpectedEOF)
}

// compare reports a file that begins as an earlier one does, once it is known how it begins.
func (w *linesWalk) compare(f *openLines) (known bool) {
	begins := f.Beginning()
	if begins == "" {
		return false
	}
	if earlier, again := w.known[begins]; again {
		w.notes.warn(WarnSameContent, fmt.Sprintf("%s begins with the same megabyte as %s: if it is a copy, leave it out, since its events get other uuids", printable(f.name), printable(earlier)))
	}
	w.known[begins] = f.name
	return true
}

func isBlank(text []byte) bool {
	return len(text) == 0 || text[0] <= ' ' && len(bytes.TrimLeft(text, " \t\r")) == 0
}

// fileSource is a source of files.
type fileSource interface{ files() []string }

// fingerprinter is a source whose places are in files that can be recognized.
type fingerprinter interface {
	fingerprint(at Position) lines.Fingerprint
}
