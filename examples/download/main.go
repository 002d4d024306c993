// Command download exports the events of some days on demand and downloads them to local files. To
// continue after an interruption, give it the -id that it printed.
//
// Without keys it works with a fake of the service.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/examples/internal/demo"
	"github.com/hogapi/hogapi/hogapitest"
)

func main() { demo.Main(run) }

func run(ctx context.Context, out io.Writer, args []string) error {
	flags := flag.NewFlagSet("download", flag.ExitOnError)
	days := flags.Int("days", 1, "how many days to export, up to the last midnight of UTC; at most 7")
	folder := flags.String("folder", filepath.Join(os.TempDir(), "hogapi-download"), "where the files go")
	started := flags.String("id", "", "of a file download that an earlier run has started")
	if err := flags.Parse(args); err != nil {
		return err
	}
	client, fake, err := demo.Connect(out, hogapitest.WithPolls(2))
	if err != nil {
		return err
	}
	downloads := client.FileDownloads

	end := time.Now().UTC().Truncate(24 * time.Hour)
	request := hogapi.FileDownloadRequest{
		Model:             hogapi.ModelEvents,
		DataIntervalStart: end.AddDate(0, 0, -*days), DataIntervalEnd: end,
		File: hogapi.FileOptions{Format: hogapi.FileFormatJSONLines, Compression: hogapi.FileCompressionGzip},
	}
	id, err := uuid.Parse(cmp.Or(*started, uuid.Nil.String()))
	if err != nil {
		return fmt.Errorf("-id: %w", err)
	}
	if id == uuid.Nil {
		if id, err = downloads.Create(ctx, request); err != nil {
			return err
		}
		// Only the same id continues: a new file download makes new files, with the same events again.
		fmt.Fprintf(out, "Started. To continue after an interruption: -id %s\n", id)
	}
	var last hogapi.FileDownload
	for state, err := range downloads.Watch(ctx, id, demo.Watch(fake)) {
		if err != nil {
			return err
		}
		fmt.Fprintln(out, state.Status)
		last = state
	}
	paths, err := downloads.DownloadAll(ctx, id, *folder, &hogapi.FolderOptions{Extension: request.File.Extension()})
	for _, path := range paths {
		fmt.Fprintln(out, path)
	}
	if err == nil && len(paths) == 0 {
		fmt.Fprintln(out, "There were no events in these days.")
	} else if err == nil && last.RecordsCompleted != nil {
		fmt.Fprintf(out, "%d records in %d files.\n", *last.RecordsCompleted, len(paths))
	}
	return err
}
