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
	register.DoFn4x1[context.Context, []byte, func(*string) bool, func(string), error](&rejectsFn{})
	register.DoFn3x1[context.Context, hogapi.Receipt, func(*string) bool, error](&receiptFn{})
	register.Iter1[string]()
	register.Emitter1[string]()
}

// write writes what a job has to say: the refused events, anew in each run and in the form that can be mended and imported, and when they
// are written the receipt.
func (s *settings) write(root beam.Scope, written hogbeam.Written) {
	lines := beam.ParDo(root, rejectLine, written.Rejects)
	rejects := beam.ParDo(root, &rejectsFn{Path: s.rejects}, beam.Impulse(root), beam.SideInput{Input: lines})
	beam.ParDo0(root, &receiptFn{Path: s.receipt}, written.Receipt, beam.SideInput{Input: rejects})
}

func rejectLine(r hogbeam.Reject) string { return string(r.Line) }

// rejectsFn writes one file, also where nothing was refused.
type rejectsFn struct{ Path string }

// ProcessElement writes the file and gives its path.
func (f *rejectsFn) ProcessElement(ctx context.Context, _ []byte, lines func(*string) bool, emit func(string)) error {
	err := writeFile(ctx, f.Path, func(out io.Writer) {
		for line := ""; lines(&line); {
			_, _ = io.WriteString(out, line+"\n") // the writer keeps its error
		}
	})
	if err == nil {
		emit(f.Path)
	}
	return err
}

// receiptFn writes the receipt once there is one: a job that fails leaves none, and none of a part of it.
type receiptFn struct{ Path string }

// ProcessElement writes the file. It waits for the side input and demands it: a job that is being broken off may give none.
func (f *receiptFn) ProcessElement(ctx context.Context, r hogapi.Receipt, rejects func(*string) bool) error {
	if path := ""; !rejects(&path) {
		return errors.New("the file of the rejects was not written")
	}
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(ctx, f.Path, func(out io.Writer) { _, _ = out.Write(append(raw, '\n')) })
}

// writeFile writes a file of any of Beam's filesystems. The writer that it hands out keeps its first error.
func writeFile(ctx context.Context, path string, write func(io.Writer)) error {
	fs, err := filesystem.New(ctx, path)
	if err != nil {
		return err
	}
	defer fs.Close()
	file, err := fs.OpenWrite(ctx, path)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	write(out)
	return errors.Join(out.Flush(), file.Close())
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
