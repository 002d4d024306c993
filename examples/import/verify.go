package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hogapi/hogapi"
)

// verifyKept compares the receipt of an earlier run with the project, until it is complete or
// stands still.
func (s settings) verifyKept(ctx context.Context, out io.Writer, c *hogapi.Client, source hogapi.Source) error {
	raw, err := os.ReadFile(s.receipt)
	if err != nil {
		return fmt.Errorf("an import has to have ended before it can be verified: %w", err)
	}
	var receipt hogapi.Receipt
	if err := json.Unmarshal(raw, &receipt); err != nil {
		return err
	}
	options := &hogapi.VerifyOptions{
		Source: source, Dir: s.id + ".verify", Wait: true,
		OnProgress: func(p hogapi.VerifyProgress) {
			if p.Step == "wait" {
				fmt.Fprintln(out, p)
			}
		},
	}
	if _, err := os.Stat(s.rejects); err == nil {
		options.Rejects = []string{s.rejects}
	}
	return compare(ctx, out, c, receipt, options)
}

// compare prints what the project shows of an import. The error is nil only if it is complete.
func compare(ctx context.Context, out io.Writer, c *hogapi.Client, r hogapi.Receipt, o *hogapi.VerifyOptions) error {
	v, err := c.Verify(ctx, r, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%v\n", v)
	if !v.Complete() {
		return errors.New("the import is not complete")
	}
	return nil
}
