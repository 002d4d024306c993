package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/beam"
)

// files are what the globs match. They are a source for looking at them without a job.
type files []hogbeam.MatchedFile

// find lists the files, and says what is wrong with the globs before a job says it among other things.
func (s *settings) find(ctx context.Context) (files, error) {
	return hogbeam.MatchFiles(ctx, s.globs...)
}

// checkScheme says that no filesystem is known for a path, which Beam does with a panic.
func checkScheme(path string) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%v: files are of this machine, gs:// or s3://", fault)
		}
	}()
	filesystem.ValidateScheme(path)
	return nil
}

// isRemote says that a path is not of this machine.
func isRemote(path string) bool { return strings.Contains(path, "://") }

// print says what will be read. Both the number and the names depend on how a glob is written.
func (f files) print(out io.Writer) {
	fmt.Fprintf(out, "Files: %d. In positions, and so in the uuids, the first is %s and the last %s.\n", len(f), f[0].Name, f[len(f)-1].Name)
}

// checkFiles looks at all events and sends nothing.
func (s *settings) checkFiles(ctx context.Context, out io.Writer) error {
	for _, glob := range s.globs {
		if isRemote(glob) {
			return errors.New("-check reads files of this machine only: not " + glob)
		}
	}
	found, err := s.find(ctx)
	if err != nil {
		return err
	}
	found.print(out)
	report, err := hogapi.Check(ctx, found, hogapi.ImportOptions{ID: s.options.ID, Gate: s.options.Gate})
	fmt.Fprintf(out, "\n%v\n\nNothing was sent.\n", report)
	return err
}

// Name implements hogapi.Source.
func (f files) Name() string { return fmt.Sprintf("%d files", len(f)) }

// Events implements hogapi.Source, with the positions of the job.
func (f files) Events(ctx context.Context, _ hogapi.Position) iter.Seq2[hogapi.Event, error] {
	return func(yield func(hogapi.Event, error) bool) {
		for _, in := range f {
			for ev, err := range hogapi.JSONLinesFile(in.Path).Events(ctx, hogapi.Position{}) {
				ev.Position.Key = in.Name
				if !yield(ev, err) || err != nil {
					return
				}
			}
		}
	}
}
