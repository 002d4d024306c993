package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/page"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/progress"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/term"
	"github.com/hogapi/hogapi/formats/mixpanel"
	"github.com/hogapi/hogapi/warnings"
)

// sampleRecords is how many records a run checks before it begins.
const sampleRecords = 5000

// sample is the result of checking the first records of the files.
type sample struct {
	report hogapi.CheckReport
	isAll  bool  // there are no more
	isFix  bool  // they are rejects, for which there is no --sort
	total  int64 // about how many records there are in all; 0: not known
	bytes  int64 // of the files as they are

	in      *input
	paths   []string
	zone    *mixpanel.ZoneTest           // nil: not of Mixpanel
	skipped map[string][]hogapi.Position // the first records that are left out, by reason
}

// takeSample checks the first records of the files. An error that is not a *fault is an error of the files.
func takeSample(ctx context.Context, in *input, options hogapi.ImportOptions) (s sample, err error) {
	s.in, s.skipped = in, map[string][]hogapi.Position{}
	first := &firstRecords{most: sampleRecords, read: map[string]int64{}, skipped: s.skipped}
	if in.Format == "mixpanel" {
		s.zone = new(mixpanel.ZoneTest)
	}
	first.Source = in.files(func(record []byte, err error) {
		if skip, ok := errors.AsType[*hogapi.SkipError](err); ok {
			first.reason = skip.Reason
		}
		if s.zone != nil {
			s.zone.Add(record)
		}
	})
	options.MaxRejects = 0 // of all records, not of a sample
	s.report, err = hogapi.Check(ctx, first, &options)
	s.isAll = !first.isCut
	s.paths = in.paths()
	packed, plain := sizes(ctx, s.paths)
	s.bytes = packed
	switch {
	case s.isAll:
		s.total = s.report.Read
	case first.bytes() > 0 && plain > 0:
		s.total = max(int64(float64(s.report.Read)*float64(plain)/float64(first.bytes())), s.report.Read)
	}
	return s, err
}

type firstRecords struct {
	hogapi.Source
	most int

	isCut bool
	read  map[string]int64 // bytes by file

	reason  string                       // for which the record that was read last is left out
	skipped map[string][]hogapi.Position // the first ones by reason
}

const mostPlaces = 3

// Unwrap returns the source.
func (f *firstRecords) Unwrap() hogapi.Source { return f.Source }

// Events implements hogapi.Source.
func (f *firstRecords) Events(ctx context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
	return func(yield func(hogapi.Event, error) bool) {
		records, last := 0, after
		for ev, err := range f.Source.Events(ctx, after) {
			if err == nil && ev.Position != last {
				if records == f.most {
					f.isCut = true
					return
				}
				records, last = records+1, ev.Position
				f.read[last.Key] = last.Offset
			}
			if f.reason != "" && err == nil {
				if list := f.skipped[f.reason]; len(list) < mostPlaces {
					f.skipped[f.reason] = append(list, ev.Position)
				}
				f.reason = ""
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

func (f *firstRecords) bytes() (sum int64) {
	for _, n := range f.read {
		sum += n
	}
	return sum
}

// show writes the sample to the terminal or the log.
func (a *app) show(s sample) {
	switch r := s.report; {
	case r.Read == 0:
	case a.log == "json":
		a.logger().Info("checked", "records", r.Read, "good", r.Good, "rejected", r.Rejected, "skipped", r.Skipped, "oldest", r.Oldest, "newest", r.Newest,
			"reasons", r.Reasons, "skips", r.Skips, "warnings", r.Warnings, "total", s.total)
	default:
		s.show(a.stderr)
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
	return w == warnings.Backwards || w == warnings.WideBatch
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
	names := mostFirst(counts)
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
func (s sample) finding(w io.Writer, what string, f hogapi.CheckFinding, said string) {
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
	f := &fault{code: codeRejects, text: text, err: err,
		todo: in.looksLike(ctx) + "Is it the right " + in.readBy() + "?"}
	if s.report.Good > 0 {
		percent := 100 * float64(s.report.Rejected) / float64(s.report.Good+s.report.Rejected)
		const margin = 1.5 // the rest of the files may have more
		f.todo += fmt.Sprintf(" To import the rest all the same, and the rejects later with hogimport fix, add --max-rejects %d%%",
			min(max(int(math.Ceil(margin*percent)), 2), 100))
	}
	step, shown := page.Step{Text: "All reasons with examples:"}, *in
	if other := in.otherFormat(ctx); other != "" {
		step.Text, shown.Format = "Check them as that format:", other
	}
	step.Command = "hogimport check " + commandLine(shown)
	f.next = []page.Step{step}
	return f
}

// isNothing reports whether all records of a sample are left out, so that an import would be complete at once.
func (s sample) isNothing(ctx context.Context, in *input) bool {
	r := s.report
	return r.Skipped > 0 && r.Good+r.Rejected == 0 && (s.isAll || in.otherFormat(ctx) != "")
}

// isTooMuch reports whether too much of the sample is rejected.
func isTooMuch(err error) bool {
	stop, ok := errors.AsType[*hogapi.StopError](err)
	return ok && stop.Reason == hogapi.StopTooManyRejects
}

// zoneWarning explains why the times of an export do not fit the zone, with advice. It returns "" if they fit,
// or if the user gave the zone and the times do not contradict it.
func zoneWarning(t *mixpanel.ZoneTest, zone string) string {
	if t == nil || t.Records == 0 {
		return ""
	}
	clock, err := time.LoadLocation(zone)
	switch {
	case err != nil, t.Live > 0 && t.Share(clock) > 0.5, t.Live == 0 && zone != "":
		return ""
	case t.Live == 0:
		return "the time zone could not be tested, since no record has the time of Mixpanel's servers. Projects made before 2023 export " +
			"local time: if this is one, stop, and add --zone with the zone of its settings."
	}
	text := misfit(t, clock) + ". "
	if best := page.BestZone(t); best != "" {
		return text + "The clocks of " + best + " fit: stop, and add --zone " + best + ", or another zone with these clocks."
	}
	return text + "Stop, and give the zone of the project's settings in Mixpanel with --zone."
}

func misfit(t *mixpanel.ZoneTest, clock *time.Location) string {
	text := "the times do not fit " + clock.String()
	if t.IsLocal() && clock == time.UTC {
		text = "the times look local, not UTC"
	}
	return text + ": most events would be stored at the wrong hour"
}

// zoneFault refuses to send local times as UTC if nobody can be asked and --zone is not given.
func zoneFault(t *mixpanel.ZoneTest, zone string) error {
	if t == nil || zone != "" || !t.IsLocal() {
		return nil
	}
	todo := "give --zone with the zone of the project's settings in Mixpanel"
	if best := page.BestZone(t); best != "" {
		todo = "give --zone " + best + ", which fits, or another zone with these clocks"
	}
	return usageError(misfit(t, time.UTC)+". Nothing was sent", todo+"; or --zone UTC to send the times as they are")
}

func identityAdvice(t *mixpanel.ZoneTest, in *input) string {
	if t == nil || t.Devices == 0 || in.Devices {
		return ""
	}
	flags := "--device-prefix --links"
	if in.Links {
		flags = "--device-prefix"
	}
	return counted(t.Devices, "record") + " are from before login: add " + flags + ", or each person appears twice."
}
