package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/beam"
)

func init() {
	register.Function1x1(rejectLine)
	register.DoFn3x1[context.Context, hogapi.Receipt, func(*string) bool, error](&outputsFn{})
	register.Iter1[string]()
}

// write writes what a job has to say: the refused events, in the form that can be mended and imported, and the receipt.
func (s *settings) write(root beam.Scope, written hogbeam.Written) {
	lines := beam.ParDo(root, rejectLine, written.Rejects)
	sink := &outputsFn{Source: s.source(), Rejects: s.rejects, Receipt: s.receipt, Place: s.runner != "local"}
	beam.ParDo0(root, sink, written.Receipt, beam.SideInput{Input: lines})
}

func rejectLine(r hogbeam.Reject) string { return string(r.Line) }

// outputsFn writes both files under other names. The program gives them their names when the job has ended well: the local runner does
// the last steps of a job that has failed too. Elsewhere such a job does not come so far, and the program may be gone.
type outputsFn struct {
	Source           string // of the receipt: what was imported
	Rejects, Receipt string
	Place            bool // give them their names here
}

// ProcessElement writes both files.
func (f *outputsFn) ProcessElement(ctx context.Context, r hogapi.Receipt, lines func(*string) bool) error {
	r.Source = f.Source
	err := errors.Join(f.writeRejects(ctx, r.Rejected, lines), f.writeReceipt(ctx, r))
	if err != nil || !f.Place {
		return err
	}
	return place(ctx, f.Receipt, f.Rejects)
}

// writeRejects writes the refused events, and demands as many as were counted: a job that has failed may give fewer.
func (f *outputsFn) writeRejects(ctx context.Context, want int64, lines func(*string) bool) error {
	var n int64
	err := writeFile(ctx, partial(f.Rejects), func(out io.Writer) {
		for line := ""; lines(&line); n++ {
			_, _ = io.WriteString(out, line+"\n") // the writer keeps its error
		}
	})
	if err == nil && n != want {
		err = fmt.Errorf("the receipt counts %d refused events, and %d came to be written", want, n)
	}
	return err
}

func (f *outputsFn) writeReceipt(ctx context.Context, r hogapi.Receipt) error {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(ctx, partial(f.Receipt), func(out io.Writer) { _, _ = out.Write(append(raw, '\n')) })
}
