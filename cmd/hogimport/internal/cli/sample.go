package cli

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/page"
	pages "github.com/hogapi/hogapi/cmd/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/formats/mixpanel"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/survey"
)

// sampleRecords is how many records a run checks before it begins.
const sampleRecords = 5000

// sample is the result of checking the first records of the files.
type sample struct {
	report history.CheckReport
	isAll  bool  // there are no more
	isFix  bool  // they are rejects, for which there is no --sort
	total  int64 // about how many records there are in all; 0: not known

	in      *input
	paths   []string
	zone    *mixpanel.ZoneTest           // nil: not of Mixpanel
	skipped map[string][]hogapi.Position // the first records that are left out, by reason
}

// takeSample checks the first records of the files. An error that is not a *shell.Fault is an error of the files.
func takeSample(ctx context.Context, in *input, options history.Options) (s sample, err error) {
	s.in, s.paths, s.isAll, s.skipped = in, in.paths(), true, map[string][]hogapi.Position{}
	if in.Format == "mixpanel" {
		s.zone = new(mixpanel.ZoneTest)
	}
	watched := survey.Watched(ctx, survey.Watch{Record: func(record []byte, _ []hogapi.Event, _ error) {
		if s.zone != nil {
			s.zone.Add(record)
		}
	}})
	read := map[string]int64{} // bytes by file
	first := walked{in.files(nil), func(events iter.Seq2[hogapi.Event, error], yield func(hogapi.Event, error) bool) {
		records, last := 0, hogapi.Position{}
		for ev, err := range events {
			if err == nil && ev.Position != last {
				if records == sampleRecords {
					s.isAll = false
					return
				}
				records, last = records+1, ev.Position
				read[last.Key] = last.Offset
			}
			if reason, isOut := ev.Skipped(); isOut && err == nil && reason != page.SkipUntil { // of which each newer one is an example
				if list := s.skipped[reason]; len(list) < maxPlaces && !slices.Contains(list, ev.Position) {
					s.skipped[reason] = append(list, ev.Position)
				}
			}
			if !yield(ev, err) {
				return
			}
		}
	}}
	options.MaxRejects = 0 // of all records, not of a sample
	s.report, err = history.Check(watched, first, &options)
	plain := textSize(ctx, s.paths)
	var length int64
	for _, n := range read {
		length += n
	}
	rows := countRows(s.paths)
	switch {
	case s.isAll:
		s.total = s.report.Read
	case rows > 0:
		s.total = rows
	case length > 0 && plain > 0:
		s.total = max(int64(float64(s.report.Read)*float64(plain)/float64(length)), s.report.Read)
	}
	return s, err
}

const maxPlaces = 3

// walked is a source with another walk over its events.
type walked struct {
	history.Source
	walk func(events iter.Seq2[hogapi.Event, error], yield func(hogapi.Event, error) bool)
}

// Unwrap returns the source.
func (w walked) Unwrap() history.Source { return w.Source }

// Events implements history.Source.
func (w walked) Events(ctx context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
	return func(yield func(hogapi.Event, error) bool) { w.walk(w.Source.Events(ctx, after), yield) }
}

// show writes the sample to the terminal or the log.
func (a *app) show(s sample) {
	switch r := s.report; {
	case r.Read == 0:
	case a.Log == "json":
		a.Logger().Info("checked", "records", r.Read, "good", r.Good, "rejected", r.Rejected, "skipped", r.Skipped, "oldest", r.Oldest, "newest", r.Newest,
			"reasons", r.Reasons, "skips", r.Skips, "warnings", r.Warnings, "total", s.total)
	default:
		s.show(a.Err)
	}
}

func (s sample) show(w io.Writer) {
	r := s.report
	what := "the first " + counted(r.Read, "record")
	if s.isAll {
		what = strings.Replace("all "+counted(r.Read, "record"), "all 1 ", "the only ", 1)
	}
	fmt.Fprintf(w, "Checked %s: %s good, %s rejected, %s left out.\n", what,
		progress.Number(r.Good), progress.Number(r.Rejected), progress.Number(r.Skipped))
	if r.Good > 0 {
		fmt.Fprintf(w, "  from %s to %s (UTC)\n", r.Oldest.UTC().Format(time.DateTime), r.Newest.UTC().Format(time.DateTime))
	}
	s.names(w)
	for _, reason := range slices.SortedFunc(maps.Keys(r.Reasons), func(a, b hogapi.Reason) int { return cmp.Compare(r.Reasons[b].Count, r.Reasons[a].Count) }) {
		s.finding(w, "rejected, "+string(reason), r.Reasons[reason], "event refused: "+string(reason)+": ")
	}
	places := s.places()
	for _, reason := range slices.Sorted(maps.Keys(r.Skips)) {
		fmt.Fprintln(w, term.Flow("  "+page.SkipText(s.in.Format, reason, r.Skips[reason], places[reason])))
	}
	for _, warning := range slices.Sorted(maps.Keys(r.Warnings)) {
		if !isOfOrder(warning) || !s.in.Sort && !s.isFix {
			fmt.Fprintln(w, term.Flow("  "+page.WarningText(warning, r.Warnings[warning].Count)))
		}
	}
	if advice := identityAdvice(s.zone, s.in); advice != "" {
		fmt.Fprintln(w, term.Flow("  "+advice))
	}
}

// isOfOrder reports whether a warning is about the order of events, which --sort changes. Sorted events have
// the warning too if there are few a day and, once, if the oldest events follow the links of --links: then
// nothing can be done.
func isOfOrder(w hogapi.Warning) bool {
	return w == event.WarningBackwards || w == event.WarningWideBatch
}

// places has the places of left-out records, by reason.
func (s sample) places() map[string][]string {
	places := map[string][]string{}
	for reason, list := range s.skipped {
		for _, at := range list {
			places[reason] = append(places[reason], placeText(s.paths, at))
		}
	}
	return places
}

func (s sample) names(w io.Writer) {
	const most = 8
	counts := map[string]int64{}
	for _, day := range s.report.Days {
		counts[day.Event] += day.Events
	}
	names := largestFirst(counts)
	table := term.NewTable(w)
	for _, name := range names[:min(len(names), most)] {
		fmt.Fprintf(table, "  %s\t%s\n", short(name), progress.Number(counts[name]))
	}
	_ = table.Flush()
	if len(names) > most {
		fmt.Fprintf(w, "  and %s more names\n", progress.Number(int64(len(names)-most)))
	}
}

// finding writes the count and the first example, without words that the line has already.
func (s sample) finding(w io.Writer, what string, f history.CheckFinding, said string) {
	line := fmt.Sprintf("  %s: %s", what, progress.Number(f.Count))
	if len(f.Examples) > 0 {
		e := f.Examples[0]
		text := strings.TrimPrefix(page.Plain(page.InFlags(e.Text)), said)
		line += ", such as " + cmp.Or(withPlaces(text, s.paths, e.Position), placeText(s.paths, e.Position))
	}
	fmt.Fprintln(w, term.Flow(line))
}

// short returns a name that fits into a table.
func short(name string) string {
	const most = 50
	return term.Cut(term.Line(name), most)
}

// tooMuch returns the error if too much of a sample would be rejected.
func (s sample) tooMuch(ctx context.Context, in *input, err error) error {
	text := "too much of this would be rejected; nothing was sent"
	if s.report.Good+s.report.Rejected == 0 {
		text = "all of this would be left out; nothing was sent"
	}
	f := &shell.Fault{Code: shell.CodeRejects, Text: text, Err: err,
		Todo: in.looksLike(ctx) + "Is it the right " + in.readBy() + "?"}
	if s.report.Good > 0 {
		percent := 100 * float64(s.report.Rejected) / float64(s.report.Good+s.report.Rejected)
		const margin = 1.5 // the rest of the files may have more
		f.Todo += fmt.Sprintf(" To import the rest all the same, and the rejects later with hogimport fix, add --max-rejects %d%%",
			min(max(int(math.Ceil(margin*percent)), 2), 100))
	}
	step, shown := shell.Step{Text: "All reasons with examples:"}, *in
	if other := in.otherFormat(ctx); other != "" {
		step.Text, shown.Format = "Check them as that format:", other
	}
	step.Command = "hogimport check " + commandLine(shown)
	f.Next = []shell.Step{step}
	return f
}

// isTooMuch reports whether too much of the sample is rejected.
func isTooMuch(err error) bool {
	stop, ok := errors.AsType[*hogapi.StopError](err)
	return ok && stop.Reason == hogapi.StopTooManyRejects
}

// zoneWarning explains why the times of an export do not fit the zone, with advice. It returns "" if they fit,
// or if the user gave the zone and the times do not contradict it.
func zoneWarning(t *mixpanel.ZoneTest, zone string) string {
	if t == nil || t.Records == 0 || t.Live == 0 && zone != "" {
		return ""
	}
	clock, _ := time.LoadLocation(zone) // which was checked
	said := page.ZoneVerdict(t, clock)
	if said.Level == pages.Good {
		return ""
	}
	return said.Title + ". " + said.Text
}

// zoneFault refuses to send local times as UTC if nobody can be asked and --zone is not given.
func zoneFault(t *mixpanel.ZoneTest, zone string) error {
	if t == nil || zone != "" || !t.IsLocal() {
		return nil
	}
	said := page.ZoneVerdict(t, time.UTC)
	return shell.UsageError(said.Title+". Nothing was sent", said.Text+" To send the times as they are, give --zone UTC.")
}

func identityAdvice(t *mixpanel.ZoneTest, in *input) string {
	if t == nil || t.Devices == 0 || in.DevicePrefix {
		return ""
	}
	flags := "--device-prefix --links"
	if in.Links {
		flags = "--device-prefix"
	}
	return counted(t.Devices, "record") + " are from before login: add " + flags + ", or each person appears twice."
}

// textSize returns about the size of the unpacked text of files: an estimate from the beginning of each packed file,
// for a bar. It is 0 if it is not known.
func textSize(ctx context.Context, paths []string) (sum int64) {
	for _, path := range paths {
		text, isKnown := textOf(path)
		if ctx.Err() != nil || !isKnown {
			return 0
		}
		sum += text
	}
	return sum
}

// emptyFiles returns the files without a byte of text, plain or packed with gzip.
func emptyFiles(paths []string) (empty []string) {
	isEmpty := func(path string) bool {
		f, err := os.Open(path)
		if err != nil {
			return false
		}
		defer f.Close()
		packed, err := gzip.NewReader(f)
		if err != nil {
			return sizeOfFile(path) == 0
		}
		n, err := packed.Read(make([]byte, 1))
		return n == 0 && errors.Is(err, io.EOF)
	}
	for _, path := range paths {
		if isEmpty(path) {
			empty = append(empty, path)
		}
	}
	return empty
}

func textOf(path string) (text int64, isKnown bool) {
	size := sizeOfFile(path)
	if size == 0 {
		return 0, true
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	if archive, err := zip.NewReader(f, size); err == nil {
		text = zipSize(archive)
	} else {
		_, _ = f.Seek(0, io.SeekStart)
		text = int64(float64(size) * expansion(f))
	}
	return text, text > 0
}

// zipSize returns the unpacked size of the members of an archive, which may be packed themselves.
func zipSize(archive *zip.Reader) (plain int64) {
	factor := 0.0
	for _, member := range archive.File {
		if factor == 0 && member.UncompressedSize64 > 0 {
			if r, err := member.Open(); err == nil {
				factor = expansion(r)
				_ = r.Close()
			}
		}
		plain += int64(float64(member.UncompressedSize64) * factor)
	}
	return plain
}

// expansion returns the ratio by which the beginning of a file grows when it is unpacked: 1 for text, 0 if it
// cannot be unpacked.
func expansion(r io.Reader) float64 {
	const most = 4 << 20 // of text
	packed := &counter{r: r}
	text, isPacked, end := unpacked(packed)
	defer end()
	switch {
	case text == nil:
		return 0
	case !isPacked:
		return 1
	}
	n, _ := io.CopyN(io.Discard, text, most)
	return float64(n) / float64(max(packed.n, 1))
}

// unpacked returns the text of a file, which may be packed with gzip or zstd. It returns nil for a zip archive,
// and if the file cannot be unpacked. The caller must call end.
func unpacked(r io.Reader) (text io.Reader, isPacked bool, end func()) {
	in := bufio.NewReaderSize(r, 4<<10)
	head, _ := in.Peek(4)
	switch end = func() {}; {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return nil, true, end
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		if z, err := gzip.NewReader(in); err == nil {
			return z, true, end
		}
		return nil, true, end
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, true, end
		}
		return z, true, z.Close
	}
	return in, false, end
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
