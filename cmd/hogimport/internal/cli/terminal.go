package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/progress"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/term"
)

// canAnswer reports whether somebody can read a question and answer it.
func (a *app) canAnswer() bool { return term.IsTerminal(a.stdin) && term.IsTerminal(a.stderr) }

// ask puts a question that can be answered with yes. Anything else is no.
func (a *app) ask(ctx context.Context, question string) (bool, error) {
	fmt.Fprint(a.stderr, term.Flow(question+" [y/N] "))
	answer := make(chan string, 1)
	go func() { // which ends with the program: a read of a terminal cannot be ended
		line, _ := bufio.NewReader(a.stdin).ReadString('\n')
		answer <- line
	}()
	select {
	case line := <-answer:
		word := strings.ToLower(strings.TrimSpace(line))
		return word == "y" || word == "yes", nil
	case <-ctx.Done():
		fmt.Fprintln(a.stderr)
		return false, context.Cause(ctx)
	}
}

// meter shows progress in the form that fits: a bar on a terminal, otherwise lines.
func (a *app) meter() *progress.Meter {
	form := progress.Lines
	switch {
	case a.log == "json":
		form = progress.JSON
	case term.IsTerminal(a.stderr) && a.env("TERM") != "dumb":
		form = progress.Bar
	}
	return progress.New(a.stderr, form, a.stderr.Width, time.Now)
}
