package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
)

// verifyKept compares the receipt of an earlier run with the project, until the import is complete or
// stands still.
func (s settings) verifyKept(ctx context.Context, out io.Writer, c *hogapi.Client, source history.Source) error {
	raw, err := os.ReadFile(s.receipt)
	if err != nil {
		return fmt.Errorf("an import has to have ended before it can be verified: %w", err)
	}
	var receipt hogapi.Receipt
	if err := json.Unmarshal(raw, &receipt); err != nil {
		return err
	}
	options := &history.VerifyOptions{
		Source: source, Dir: s.id + ".verify", Wait: true,
		OnProgress: func(p history.VerifyProgress) {
			if p.Step == "wait" {
				fmt.Fprintln(out, p)
			}
		},
	}
	if _, err := os.Stat(s.rejects); err == nil {
		options.Rejects = []string{s.rejects}
	}
	v, err := history.Verify(ctx, c, receipt, options)
	return s.report(out, receipt, v, err)
}

// report prints the events of an import in the project, and advice about unconfirmed events. The error
// is nil only if all events are there.
func (s settings) report(out io.Writer, r hogapi.Receipt, v history.Verification, err error) error {
	err = show(out, v, err)
	if errors.Is(err, errNotComplete) && r.Unconfirmed > 0 {
		fmt.Fprintf(out, unconfirmedAre, r.Unconfirmed, s.rejects, s.id, s.rejects)
	}
	return err
}

var errNotComplete = errors.New("the import is not complete")

func show(out io.Writer, v history.Verification, err error) error {
	if v.State != "" {
		fmt.Fprintf(out, "\n%v\n", v)
	}
	if err == nil && !v.Complete() {
		return fmt.Errorf("%w: %s", errNotComplete, v.State)
	}
	return err
}
