// Command ustoeu moves the events of some days from one project to another, such as from the US to the EU: it lets the
// first project export them to files, downloads these, imports them into the second one with the same uuids, persons and
// times, waits until that project shows every event, and compares the two projects event by event.
//
//	ustoeu -from 2024-01-01 -to 2024-02-01 -folder state
//	ustoeu -folder state FILE…     # imports files of a batch export, and waits until all of their events are there
//
// These variables name the projects. The personal key of the first one needs the scopes batch_export:write and
// query:read, the key of the second one query:read. Files need the second project only:
//
//	POSTHOG_FROM_REGION, POSTHOG_TO_REGION                      us or eu, or …_HOST
//	POSTHOG_FROM_PROJECT_ID, POSTHOG_TO_PROJECT_ID
//	POSTHOG_FROM_PERSONAL_API_KEY, POSTHOG_TO_PERSONAL_API_KEY  phx_…
//	POSTHOG_TO_PROJECT_API_KEY                                  phc_…
//
// Without keys, both projects are fakes of the service. The folder keeps the files, the position and the rejects: the
// same command continues after a stop or a kill. The exit code is 0 only if every event is there.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/examples/internal/demo"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/parquet"
	"github.com/hogapi/hogapi/formats/posthogexport"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/reconcile"
)

func main() { demo.Main(run) }

const day = 24 * time.Hour

// move moves the days from begin up to end.
type move struct {
	from, to   *hogapi.Client       // from is nil where there are files
	watch      *hogapi.WatchOptions // nil: the intervals for the real service
	rate       int
	out        io.Writer
	begin, end time.Time
	id, folder string
}

func run(ctx context.Context, out io.Writer, args []string) error {
	m := &move{out: out}
	flags := flag.NewFlagSet("ustoeu", flag.ContinueOnError)
	from := flags.String("from", "", "the first `day` (2006-01-02, of UTC)")
	to := flags.String("to", "", "the `day` after the last one; at least 48 hours ago")
	flags.StringVar(&m.folder, "folder", "", "where the files and the position are kept; for each move its own")
	flags.StringVar(&m.id, "id", "us-to-eu", "the import's `name`, in $import_job_id of its events; it must not change")
	if err := flags.Parse(args); err != nil {
		return err
	}
	files := flags.Args()
	// Younger events are refused: the service would bill them.
	latest := time.Now().UTC().Add(-48 * time.Hour).Truncate(day)
	var errFrom, errTo error
	m.begin, errFrom = time.Parse(time.DateOnly, cmp.Or(*from, latest.AddDate(0, 0, -10).Format(time.DateOnly)))
	m.end, errTo = time.Parse(time.DateOnly, cmp.Or(*to, latest.Format(time.DateOnly)))
	switch err := errors.Join(errFrom, errTo); {
	case err != nil:
		return err
	case !m.begin.Before(m.end) || m.end.After(latest):
		return fmt.Errorf("-from must be before -to, and -to not after %s, 48 hours ago", latest.Format(time.DateOnly))
	}
	isFake, err := m.connect(len(files) == 0)
	switch {
	case err != nil:
		return err
	case isFake: // the fakes are gone after this run: their events must not count as imported
		if m.folder, err = os.MkdirTemp("", "hogapi-ustoeu-*"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(m.folder) }()
	case m.folder == "" || len(files) == 0 && (*from == "" || *to == ""):
		return errors.New("give -folder, and -from and -to or files")
	}
	return m.run(ctx, files)
}

func (m *move) run(ctx context.Context, files []string) (err error) {
	isDownloaded := len(files) == 0
	if isDownloaded {
		if files, err = m.download(ctx); err != nil {
			return err
		}
	}
	if len(files) > 0 {
		if err := m.send(ctx, files); err != nil {
			return err
		}
	}
	if !isDownloaded {
		return nil
	}
	return m.compare(ctx)
}

// download lets the first project export the days to files, by weeks, and returns them. They are Parquet, which the service
// writes unless it is asked for another format.
func (m *move) download(ctx context.Context) (files []string, err error) {
	options := &coverage.RangeOptions{
		Folder: filepath.Join(m.folder, "export"), File: hogapi.FileOptions{Compression: hogapi.FileCompressionZstd}, Watch: m.watch,
	}
	done, err := coverage.Download(ctx, m.from, m.begin, m.end, options)
	if err != nil {
		return nil, fmt.Errorf("the export: %w; the same command continues", err)
	}
	for _, file := range done.Files {
		files = append(files, file.Path)
	}
	fmt.Fprintf(m.out, "The export has %d rows in %d files.\n", done.Written, len(files))
	return files, nil
}

// send imports the files, and waits until the second project shows their events.
func (m *move) send(ctx context.Context, files []string) error {
	if err := os.MkdirAll(m.folder, 0o700); err != nil {
		return err
	}
	format := posthogexport.Format(nil)
	rows := parquet.Files(format, &parquet.Options{Without: posthogexport.Dropped()}, files...)
	if strings.HasSuffix(files[0], ".jsonl") || strings.Contains(files[0], ".jsonl.") {
		rows = history.Files(format, files...)
	}
	// Rows of an export have no order. Sorted, persons end as they are.
	source := formats.Sorted(rows, filepath.Join(m.folder, "sorted"))
	rejects := filepath.Join(m.folder, "rejects.jsonl")
	receipt, err := history.Import(ctx, m.to, source, &history.Options{
		ID: m.id, Rate: m.rate, OnProgress: demo.EachSecond(m.out),
		Checkpoint: history.CheckpointFile(filepath.Join(m.folder, "checkpoint")), Rejects: history.RejectFile(rejects),
	})
	fmt.Fprintln(m.out, receipt)
	if err != nil {
		return err
	}
	verification, err := history.Verify(ctx, m.to, receipt, &history.VerifyOptions{
		Source: source, Rejects: []string{rejects}, Dir: filepath.Join(m.folder, "verify"), Wait: true,
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(m.out, verification)
	if !verification.Complete() {
		return errors.New("not every event is there")
	}
	return nil
}

// compare names each event that only one of the projects has, or that is another one there.
func (m *move) compare(ctx context.Context) error {
	report, err := reconcile.Compare(ctx, reconcile.PostHog(m.from, nil), reconcile.PostHog(m.to, nil), &reconcile.Options{
		From: m.begin, To: m.end, Dir: filepath.Join(m.folder, "compare"),
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(m.out, report)
	if report.Verdict != reconcile.Complete {
		return fmt.Errorf("the projects differ: %s", report.Summary())
	}
	fmt.Fprintf(m.out, "Both projects have the same %d events of these days.\n", report.Counts[reconcile.Delivered])
	return nil
}
