package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/hogapi/hogapi"
)

// progress shows how an import goes on: a bar on a terminal, else a line now and then.
type progress struct {
	out  io.Writer
	bar  *progressbar.ProgressBar // nil where there is no terminal
	wait time.Duration            // between two lines

	begin   time.Time // of the first report of this run
	settled int64     // by then, in earlier runs too
	line    string    // the newest
	printed time.Time
}

func newProgress(out io.Writer, total int64) *progress {
	p := &progress{out: out, wait: 2 * time.Second}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(out), progressbar.OptionSetWidth(20),
			progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false))
	}
	return p
}

// show is told by the import twice a second.
func (p *progress) show(s hogapi.Stats) {
	now, settled := time.Now(), s.Acknowledged+s.Rejected
	if p.begin.IsZero() {
		p.begin, p.settled = now, settled
	}
	p.line = fmt.Sprintf("%d of %d acknowledged, %d rejected", s.Acknowledged, s.Total, s.Rejected)
	if rate := float64(settled-p.settled) / now.Sub(p.begin).Seconds(); rate > 0 && settled < s.Total {
		left := time.Duration(float64(s.Total-settled) / rate * float64(time.Second))
		p.line += fmt.Sprintf(", %.0f/s, %v left", rate, left.Round(time.Second))
	}
	if !s.FailingSince.IsZero() {
		p.line += fmt.Sprintf(", no good answer for %v", now.Sub(s.FailingSince).Round(time.Second))
	}
	switch {
	case p.bar != nil:
		p.bar.Describe(p.line)
		_ = p.bar.Set64(min(settled, p.bar.GetMax64()))
	case now.Sub(p.printed) >= p.wait:
		fmt.Fprintln(p.out, p.line)
		p.printed, p.line = now, ""
	}
}

// end leaves the newest state on the screen.
func (p *progress) end() {
	switch {
	case p.bar != nil:
		fmt.Fprintln(p.out)
	case p.line != "":
		fmt.Fprintln(p.out, p.line)
	}
}
