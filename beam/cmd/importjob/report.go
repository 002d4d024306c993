package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hogapi/hogapi"
)

// failed says why a job has failed, and what to do then.
func failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("interrupted: what was sent stays; run the same command again, it sends the same events")
	}
	return fmt.Errorf("the job has failed: %s\nWhat was sent stays. When the cause is mended run the same command again: it sends the same events", cause(err.Error()))
}

// cause is what is below a runner's plans and stages.
func cause(text string) string {
	for _, above := range []string{"] failed:\n", "caused by:\n"} {
		if i := strings.LastIndex(text, above); i >= 0 {
			return text[i+len(above):]
		}
	}
	return text
}

// printResult shows the receipt that the job has written, where this machine can read it, and what to do with it.
func (s *settings) printResult(ctx context.Context, out io.Writer) error {
	var r hogapi.Receipt
	raw, err := readAll(ctx, s.receipt)
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	if err != nil {
		return fmt.Errorf("the job has ended well, but its receipt cannot be read here: %w", err)
	}
	fmt.Fprintf(out, "\n%v\n", r)
	if s.fake != nil && s.fake.isDemo {
		return nil // its files are gone when the program ends
	}
	if r.Rejected > 0 {
		s.printRejects(out, r)
	}
	fmt.Fprintf(out, "\nThe receipt is in %s.", s.receipt)
	switch {
	case r.Acknowledged == 0:
		fmt.Fprint(out, "\nNOTHING WAS IMPORTED.")
	case s.fake == nil:
		fmt.Fprintf(out, " Compare it some hours later:\n\n%s", r.HogQL())
	}
	fmt.Fprintln(out)
	return nil
}

// printRejects says where the refused events are, and how to find the lines.
func (s *settings) printRejects(out io.Writer, r hogapi.Receipt) {
	noEvent := r.Rejected
	for _, day := range r.Days {
		noEvent -= day.Rejected
	}
	if noEvent > 0 {
		fmt.Fprintf(out, "  %-40s %12d acknowledged %8d rejected\n", "(no event, or one without name or time)", 0, noEvent)
	}
	fmt.Fprintf(out, "\nWhat was rejected, and why, is in %s. An offset is that behind the line in the plain text:\n"+
		"head -c OFFSET FILE | tail -1 shows it.\n", s.rejects)
}
