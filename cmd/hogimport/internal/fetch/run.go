// Package fetch downloads the raw event exports of Mixpanel and Amplitude into a folder.
//
// An export is downloaded in parts: a day or more for Mixpanel, a day or less for Amplitude, since an answer of
// Amplitude cannot hold every day. A part is written under another name, read to its end, and synced to disk
// before it gets its own name; a log in the folder lists the parts. So a file with the name of a part is whole,
// whenever the process ends, and the next [Job.Run] downloads only missing parts.
//
// Both services include both ends of a requested range. Parts are whole days or hours that do not overlap, so
// no event is requested twice.
//
// No error, log line or file name has a key, a URL or a part of an answer.
package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/internal/durable"
)

// Job is an export to download into a folder.
type Job struct {
	Vendor   Vendor
	From, To time.Time // days, as midnight UTC; both are in the range
	Folder   string    // that holds this export and nothing else; it is made if it is not there

	// MaxBytes is the largest number of bytes that one run writes. The default is 64 GiB; below 0, there is no
	// limit.
	MaxBytes int64

	// Again downloads parts again if events may have been added to them.
	Again    bool
	Progress Progress

	transport http.RoundTripper // for tests
	fs        durable.FS
}

type run struct {
	export  *export
	folder  *folder
	show    Progress
	steps   Steps
	client  *http.Client
	pace    pace
	room    durable.Room
	reached bool // the service has answered
	fetched int
}

// Run downloads the parts that the folder does not have yet. Its errors are of type [*Problem]; after any of
// them, a later Run with the same folder downloads the rest. The summary counts the parts in the folder.
func (j Job) Run(ctx context.Context) (Summary, error) {
	e, err := j.Vendor.plan()
	if err != nil {
		return Summary{}, err
	}
	wanted := span{e.unitOf(j.From), e.unitOf(j.To.AddDate(0, 0, 1)) - 1}
	if wanted.units() < 1 {
		return Summary{}, optionsProblem("the first day is after the last one", "give --from a day that is not after that of --to")
	}
	over := sort.Search(wanted.units(), func(i int) bool { return e.settled(wanted.first + i).After(time.Now()) })
	ready := span{wanted.first, wanted.first + over - 1}
	if over == 0 {
		return Summary{}, e.notYet(wanted)
	}
	if j.fs == nil {
		j.fs = durable.OS{}
	}
	f, err := openFolder(ctx, j.fs, j.Folder, &e)
	if err != nil {
		return Summary{}, err
	}
	r := &run{export: &e, folder: f, show: j.Progress, client: newClient(), pace: pace{limits: e.limits}, room: durable.Room{Folder: j.Folder, Most: cmp.Or(j.MaxBytes, 64<<30)}}
	if j.transport != nil {
		r.client.Transport = j.transport
	}
	err = r.all(ctx, ready, j.Again)
	if err == nil && ready != wanted {
		err = e.notYet(span{ready.last + 1, wanted.last})
	}
	if closing := f.close(); err == nil && closing != nil {
		err = f.problem("be written", closing)
	}
	return r.summary(ready), err
}

// notYet returns the problem of a range that is not over yet.
func (e *export) notYet(s span) error {
	return &Problem{Kind: KindNotYet, Text: fmt.Sprintf("%s: %s can still change, and was not downloaded", e.vendor, e.spanText(s)),
		Todo: "run the same command again after " + e.settled(s.last).UTC().Format("2006-01-02 15:04 UTC")}
}

func (r *run) all(ctx context.Context, wanted span, again bool) error {
	repeat, missing := r.plan(wanted, again)
	units := 0
	for _, s := range slices.Concat(repeat, missing) {
		units += s.units()
	}
	r.steps = Steps{Unit: r.export.unitName, Total: wanted.units(), Held: wanted.units() - units}
	if r.steps.Held > 0 {
		r.show.Say(fmt.Sprintf("%s of %s %s are there already.", progress.Number(int64(r.steps.Held)), progress.Number(int64(r.steps.Total)), r.steps.Unit))
	}
	for _, s := range repeat {
		if err := r.part(ctx, s, false); err != nil {
			return err
		}
	}
	for _, gap := range missing {
		if err := r.fill(ctx, gap); err != nil {
			return err
		}
	}
	return nil
}

// plan returns the parts to download: missing parts, and parts that have changed or may have got more events.
func (r *run) plan(wanted span, again bool) (repeat, missing []span) {
	var held []span
	for s, p := range r.folder.parts {
		if at := p.At.Add(time.Second); at.After(time.Now().Add(-time.Hour)) { // it is kept to the second
			r.pace.past = append(r.pace.past, at)
		}
		if !s.overlaps(wanted) {
			continue
		}
		held = append(held, s)
		isThere := r.folder.isThere(p)
		if !isThere {
			r.show.Say(p.File + " is not as it was downloaded: it is downloaded again.")
		}
		if !isThere || again && p.Early {
			repeat = append(repeat, s)
		}
	}
	slices.SortFunc(r.pace.past, time.Time.Compare)
	slices.SortFunc(repeat, func(a, b span) int { return a.first - b.first })
	return repeat, wanted.gaps(held)
}

// fill downloads a range in pieces that are as large as the service allows.
func (r *run) fill(ctx context.Context, gap span) error {
	step, until := r.export.step, gap.first // below which only smaller pieces are asked for
	for gap.units() > 0 {
		if gap.first >= until {
			step = r.export.step
		}
		piece := gap.chunk(step)
		err := r.part(ctx, piece, piece.units() > 1)
		var large *tooLarge
		switch {
		case errors.As(err, &large):
			until = max(until, piece.last+1)
			for gap.chunk(step).units() >= piece.units() {
				step /= 2
			}
			r.show.Say(fmt.Sprintf("%s: %s %s: downloading smaller pieces.", r.export.vendor, r.export.spanText(piece), large.why))
		case err != nil:
			return err
		default:
			gap.first = piece.last + 1
		}
	}
	return nil
}

func (r *run) summary(wanted span) Summary {
	s := Summary{Fetched: r.fetched, Pattern: r.export.prefix + "*" + r.export.ending}
	for at, p := range r.folder.parts {
		if !at.overlaps(wanted) {
			continue
		}
		s.Parts++
		s.Events += p.Events
		s.Bytes += p.Bytes
		if p.Events == 0 {
			s.Empty++
		}
		if p.Early {
			s.Early = append(s.Early, p)
			if final := r.export.late(at.last); final.After(s.Final) {
				s.Final = final
			}
		}
	}
	slices.SortFunc(s.Early, func(a, b Part) int { return strings.Compare(a.First, b.First) })
	return s
}

// Kind is the kind of problem that ended a download. The command chooses its exit code by it.
type Kind int

// The kinds of problems.
const (
	KindOther   Kind = iota
	KindOptions      // the options make no sense, or differ from the folder's first options
	KindKey          // the service refused the key
	KindStopped      // the context was cancelled, or the service asks for a long wait; Run resumes
	KindNotYet       // the end of the range is not over yet; all before it is there
)

// Problem is the reason why a download is not complete.
type Problem struct {
	Kind  Kind
	Text  string // the problem and its place
	Todo  string // advice
	Cause error  // may be nil
}

// Error implements error.
func (p *Problem) Error() string { return p.Text + ": " + p.Todo }

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Cause }

func optionsProblem(text, todo string) error {
	return &Problem{Kind: KindOptions, Text: text, Todo: todo}
}

// Progress receives the steps of a download. Its methods are called one at a time.
type Progress interface {
	// Show is called before each request, while its answer arrives, and for each part that is in its place.
	Show(s Steps)
	// Say is called with a sentence that the user should read.
	Say(text string)
}

// Steps is the progress of a download.
type Steps struct {
	Unit          string // days or hours
	Total, Held   int    // units: all, and the ones that the folder has
	Events, Bytes int64  // of this run
	Doing         string
}

// Part is a whole file of a download.
type Part struct {
	First  string    `json:"first"` // day or hour, which is in it
	Last   string    `json:"last"`  // day or hour, which is in it
	File   string    `json:"file"`  // name in the folder
	Bytes  int64     `json:"bytes"`
	Events int64     `json:"events"`
	At     time.Time `json:"at"`              // of the download
	Early  bool      `json:"early,omitempty"` // events that arrived after it was requested may not be in it
}

// Summary counts the parts of the range that the folder has.
type Summary struct {
	Parts   int
	Empty   int // parts without an event
	Events  int64
	Bytes   int64
	Fetched int       // parts that this run has downloaded
	Early   []Part    // parts to which late events may still be added
	Final   time.Time // after this time, no events are added to Early
	Pattern string    // of the files, for the commands that read them
}
