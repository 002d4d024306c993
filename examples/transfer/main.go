// Command transfer copies the events of some days from one project to another, such as from the US to
// the EU: it lets the first project export them to files, downloads these, imports them into the second
// one with the same uuids and times, and compares the counts of both projects.
//
//	transfer -from 2024-01-01 -to 2024-02-01 -folder us-to-eu
//
// These variables name the projects. The personal key of the first one needs the scopes
// batch_export:write and query:read, the key of the second one query:read:
//
//	POSTHOG_FROM_REGION, POSTHOG_TO_REGION                      us or eu, or …_HOST
//	POSTHOG_FROM_PROJECT_ID, POSTHOG_TO_PROJECT_ID
//	POSTHOG_FROM_PERSONAL_API_KEY, POSTHOG_TO_PERSONAL_API_KEY  phx_…
//	POSTHOG_TO_PROJECT_API_KEY                                  phc_…
//
// The second project must have no other events of these days. Without keys both are fakes of the
// service.
//
// The folder keeps the files, the checkpoint and the rejects: the same command continues after a stop
// or a kill. The exit code is 0 only if both projects have the same number of events of each name on
// each day. Events may become visible hours after the service has taken them: -wait says how long to
// look again. An event that arrives in the first project during the transfer is a difference: start
// again in a new folder.
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
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/examples/internal/demo"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/parquet"
	"github.com/hogapi/hogapi/formats/posthogexport"
)

func main() { demo.Main(run) }

const day = 24 * time.Hour

// transfer is one transfer of the days from begin up to end.
type transfer struct {
	from, to   *hogapi.Client
	watch      *hogapi.WatchOptions // nil: the intervals for the real service
	rate       int
	out        io.Writer
	begin, end time.Time
	id, folder string
	wait       time.Duration
}

func run(ctx context.Context, out io.Writer, args []string) error {
	t := &transfer{out: out}
	flags := flag.NewFlagSet("transfer", flag.ExitOnError)
	from := flags.String("from", "", "the first `day` (2006-01-02, of UTC)")
	to := flags.String("to", "", "the `day` after the last one; at least 48 hours ago")
	flags.StringVar(&t.folder, "folder", "", "where the files and the place are kept; for each transfer its own")
	flags.StringVar(&t.id, "id", "transfer", "the import's `name`, in $import_job_id of its events")
	flags.DurationVar(&t.wait, "wait", 24*time.Hour, "how long to wait until the second project shows all events")
	if err := flags.Parse(args); err != nil {
		return err
	}
	// Younger events are refused: the service would bill them.
	latest := time.Now().UTC().Add(-48 * time.Hour).Truncate(day)
	var errFrom, errTo error
	t.begin, errFrom = time.Parse(time.DateOnly, cmp.Or(*from, latest.AddDate(0, 0, -10).Format(time.DateOnly)))
	t.end, errTo = time.Parse(time.DateOnly, cmp.Or(*to, latest.Format(time.DateOnly)))
	switch err := errors.Join(errFrom, errTo); {
	case err != nil:
		return err
	case !t.begin.Before(t.end) || t.end.After(latest):
		return fmt.Errorf("-from must be before -to, and -to not after %s, 48 hours ago", latest.Format(time.DateOnly))
	}
	var isFake bool
	var err error
	if t.from, t.to, isFake, err = connect(ctx, out, t.begin, t.end); err != nil {
		return err
	}
	switch {
	case isFake: // the fake is gone after this run: its events must not count as imported
		if t.folder, err = os.MkdirTemp("", "hogapi-transfer-*"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(t.folder) }()
		t.watch = &hogapi.WatchOptions{Interval: 20 * time.Millisecond, MaxInterval: 20 * time.Millisecond}
		t.rate, t.wait = hogapi.Unpaced, 0
	case *from == "" || *to == "" || t.folder == "":
		return errors.New("give -from, -to and -folder")
	}
	return t.run(ctx)
}

func (t *transfer) run(ctx context.Context) error {
	if err := os.MkdirAll(t.folder, 0o700); err != nil {
		return err
	}
	var paths []string
	for begin := t.begin; begin.Before(t.end); begin = begin.Add(longest) {
		files, err := t.download(ctx, begin, earlier(begin.Add(longest), t.end))
		if err != nil {
			return err
		}
		paths = append(paths, files...)
	}
	if len(paths) > 0 {
		if err := t.send(ctx, paths); err != nil {
			return err
		}
	}
	return t.compare(ctx)
}

// send imports the files, oldest event first, so that persons end as they are.
func (t *transfer) send(ctx context.Context, paths []string) error {
	rows := parquet.FileSource(posthogexport.Format(nil), nil, paths...)
	receipt, err := t.to.Import(ctx, formats.Sorted(rows, filepath.Join(t.folder, "sorted")), &hogapi.ImportOptions{
		ID: t.id, Rate: t.rate,
		Checkpoint: hogapi.FileCheckpoint(filepath.Join(t.folder, "checkpoint")),
		Rejects:    hogapi.RejectFile(filepath.Join(t.folder, "rejects.jsonl")),
		OnProgress: demo.EachSecond(t.out),
	})
	if receipt.Source != "" {
		fmt.Fprintf(t.out, "\n%v\n\n", receipt)
	}
	if receipt.Rejected > 0 { // so the projects cannot agree
		fmt.Fprintf(t.out, "The rejects are in %s, each with its reason.\n", filepath.Join(t.folder, "rejects.jsonl"))
		t.wait = 0
	}
	return err
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
