// Command ustoeu imports the files of a PostHog batch export into another project, such as one of another region,
// and waits until that project shows every event: see docs/recipes/us-to-eu.md.
//
//	ustoeu ID FOLDER FILE…
//
// The files are all Parquet, or all JSON lines (.jsonl, packed or not).
//
// The project is that of hogapi.FromEnv: POSTHOG_REGION, POSTHOG_PROJECT_ID, POSTHOG_PROJECT_API_KEY, and
// POSTHOG_PERSONAL_API_KEY with the scope query:read. The ID names the import and must not change. The folder
// keeps the position and the rejects of the import: the same command continues after a stop or a kill.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/parquet"
	"github.com/hogapi/hogapi/formats/posthogexport"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends it at once
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, args []string) error {
	if len(args) < 3 {
		return errors.New("usage: ustoeu ID FOLDER FILE…")
	}
	id, folder, files := args[0], args[1], args[2:]
	client, err := hogapi.NewClient(hogapi.FromEnv())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	rejects := filepath.Join(folder, "rejects.jsonl")

	// Rows of an export have no order. Sorted, persons end as they are.
	format := posthogexport.Format(nil)
	var read hogapi.Source
	if strings.HasSuffix(files[0], ".jsonl") || strings.Contains(files[0], ".jsonl.") {
		read = hogapi.FileSource(format, files...)
	} else { // as the service writes them by default
		read = parquet.FileSource(format, nil, files...)
	}
	rows := hogapi.MapSource(read, renameJob)
	source := formats.Sorted(rows, filepath.Join(folder, "sorted"))
	printed := time.Now()
	receipt, err := client.Import(ctx, source, &hogapi.ImportOptions{
		ID:         id,
		Checkpoint: hogapi.FileCheckpoint(filepath.Join(folder, "checkpoint")),
		Rejects:    hogapi.RejectFile(rejects),
		OnProgress: func(s hogapi.Stats) {
			if time.Since(printed) > 10*time.Second {
				fmt.Fprintln(out, s)
				printed = time.Now()
			}
		},
	})
	fmt.Fprintln(out, receipt)
	if err != nil {
		return err
	}

	verification, err := client.Verify(ctx, receipt, &hogapi.VerifyOptions{
		Source: source, Rejects: []string{rejects}, Dir: filepath.Join(folder, "verify"), Wait: true,
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, verification)
	if !verification.Complete() {
		return errors.New("not every event is there")
	}
	return nil
}

// renameJob keeps the id of an earlier import under another name. Verify counts events by the id of this import, which
// an event with an id of its own would not get.
func renameJob(ev hogapi.Event) ([]hogapi.Event, error) {
	const job = "$import_job_id"
	if !bytes.Contains(ev.RawProperties, []byte(job)) {
		return []hogapi.Event{ev}, nil
	}
	var properties map[string]json.RawMessage
	err := json.Unmarshal(ev.RawProperties, &properties)
	if earlier, ok := properties[job]; ok {
		properties["earlier_import_job_id"] = earlier
		delete(properties, job)
	}
	if err == nil {
		ev.RawProperties, err = json.Marshal(properties)
	}
	return []hogapi.Event{ev}, err
}
