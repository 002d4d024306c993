package cli

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/progress"
)

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// canAnswer reports whether somebody can read a question and answer it.
func (a *app) canAnswer() bool { return isTerminal(a.stdin) && isTerminal(a.stderr) }

// ask puts a question that can be answered with yes. Anything else is no.
func (a *app) ask(ctx context.Context, question string) (bool, error) {
	fmt.Fprint(a.stderr, wrapped(question+" [y/N]")+" ")
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
	case isTerminal(a.stderr) && a.env("TERM") != "dumb":
		form = progress.Bar
	}
	width := func() int {
		if f, ok := a.stderr.(*os.File); ok {
			if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
				return columns
			}
		}
		return helpWidth
	}
	return progress.New(a.stderr, form, width, time.Now)
}
