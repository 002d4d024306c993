package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/beam"
)

func init() {
	register.Function1x1(rejectLine)
	register.Function2x2(receiptText)
	register.DoFn4x1[context.Context, []byte, func(*string) bool, func(string), error](&writeFn{})
	register.Iter1[string]()
	register.Emitter1[string]()
}

// write writes what a job has to say: the refused events, anew in each run and in the form that can be mended and imported, and when they
// are written the receipt.
func (s *settings) write(root beam.Scope, written hogbeam.Written) {
	rejects := writeFile(root, s.rejects, beam.ParDo(root, rejectLine, written.Rejects))
	writeFile(root, s.receipt, beam.ParDo(root, receiptText, written.Receipt, beam.SideInput{Input: rejects}))
}

func rejectLine(r hogbeam.Reject) string { return string(r.Line) }

// receiptText is the file of the receipt. It waits for the side input.
func receiptText(r hogapi.Receipt, _ func(*string) bool) (string, error) {
	raw, err := json.MarshalIndent(r, "", "  ")
	return string(raw), err
}

// writeFile writes lines to one file, also where there are none. What it gives is there when the file is.
func writeFile(s beam.Scope, path string, lines beam.PCollection) beam.PCollection {
	return beam.ParDo(s, &writeFn{Path: path}, beam.Impulse(s), beam.SideInput{Input: lines})
}

type writeFn struct{ Path string }

// ProcessElement writes the file and gives its path.
func (f *writeFn) ProcessElement(ctx context.Context, _ []byte, lines func(*string) bool, emit func(string)) error {
	fs, err := filesystem.New(ctx, f.Path)
	if err != nil {
		return err
	}
	defer fs.Close()
	file, err := fs.OpenWrite(ctx, f.Path)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	for line := ""; lines(&line); {
		_, _ = out.WriteString(line + "\n") // the writer keeps its error for Flush
	}
	if err := errors.Join(out.Flush(), file.Close()); err != nil {
		return err
	}
	emit(f.Path)
	return nil
}

// printReceipt shows the receipt that the job has written, where this machine can read it.
func (s *settings) printReceipt(ctx context.Context, out io.Writer) error {
	var receipt hogapi.Receipt
	raw, err := readAll(ctx, s.receipt)
	if err == nil {
		err = json.Unmarshal(raw, &receipt)
	}
	if err != nil {
		return fmt.Errorf("the job has ended well, but its receipt cannot be read here: %w", err)
	}
	fmt.Fprintf(out, "\n%v\n\nThe receipt is in %s. Compare it some hours later:\n\n%s\n", receipt, s.receipt, receipt.HogQL())
	if receipt.Rejected > 0 {
		fmt.Fprintf(out, "\nWhat was refused, and why, is in %s.\n", s.rejects)
	}
	return nil
}

func readAll(ctx context.Context, path string) ([]byte, error) {
	fs, err := filesystem.New(ctx, path)
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	f, err := fs.OpenRead(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}
