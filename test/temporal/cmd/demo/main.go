// Command demo shows an import on Temporal that outlives its worker. It starts a real Temporal server, three workers and a fake of
// PostHog, begins an import, kills the worker that sends, and compares the events that arrived with the files.
//
//	go run -C test/temporal ./cmd/demo
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	hogtemporal "github.com/hogapi/hogapi/temporal"
	"github.com/hogapi/hogapi/test/temporal/internal/engine"
)

const (
	events  = 30_000
	shards  = 6
	persons = 200
	rate    = 2500
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

// run runs the demo or, with arguments, one of the processes that it starts.
func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 3 && args[0] == "engine":
		port, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		return engine.Run(ctx, port, args[2])
	case len(args) == 4 && args[0] == "worker":
		return work(ctx, args[1], args[2], args[3])
	case len(args) == 0:
		return (&demo{began: time.Now()}).run(ctx)
	}
	return errors.New("no arguments are needed")
}

func work(ctx context.Context, address, identity, store string) error {
	c, err := dial(ctx, address)
	if err != nil {
		return err
	}
	defer c.Close()
	w, err := hogtemporal.NewWorker(c, &hogtemporal.WorkerOptions{Identity: identity, Store: hogtemporal.FolderStore(store)})
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

func dial(ctx context.Context, address string) (client.Client, error) {
	return client.DialContext(ctx, client.Options{HostPort: address, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
}

type demo struct {
	began   time.Time
	dir     string
	fake    *hogapitest.Server
	workers map[string]*exec.Cmd
}

func (d *demo) say(format string, args ...any) {
	fmt.Printf("%5.1f s  %s\n", time.Since(d.began).Seconds(), fmt.Sprintf(format, args...))
}

func (d *demo) run(ctx context.Context) (err error) {
	ctx, end := context.WithCancel(ctx)
	defer end() // kills the processes
	if d.dir, err = os.MkdirTemp("", "hogapi-demo-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(d.dir) }()
	d.fake = hogapitest.New()
	service := httptest.NewServer(d.fake)
	defer service.Close()

	port, err := engine.FreePort(ctx)
	if err != nil {
		return err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	if _, err := d.start(ctx, nil, "engine", strconv.Itoa(port), filepath.Join(d.dir, "temporal.sqlite")); err != nil {
		return err
	}
	var c client.Client
	for c == nil {
		if c, err = dial(ctx, address); err != nil && time.Since(d.began) > time.Minute {
			return err
		}
	}
	defer c.Close()
	d.say("a Temporal server runs on %s, with its data in SQLite", address)

	d.workers = map[string]*exec.Cmd{}
	for _, name := range []string{"worker-1", "worker-2", "worker-3"} {
		env := []string{
			"POSTHOG_HOST=" + service.URL, "POSTHOG_PROJECT_ID=" + hogapitest.DefaultProject,
			"POSTHOG_PROJECT_API_KEY=" + hogapitest.DefaultProjectKey, "POSTHOG_PERSONAL_API_KEY=" + hogapitest.DefaultPersonalKey,
		}
		if d.workers[name], err = d.start(ctx, env, "worker", address, name, filepath.Join(d.dir, "store")); err != nil {
			return err
		}
	}
	d.say("three workers run, each a process; a fake of PostHog takes events on %s", service.URL)

	ids, files, err := d.write()
	if err != nil {
		return err
	}
	if err := hogtemporal.Start(ctx, c, hogtemporal.ImportParams{ID: "demo", Shards: files, Rate: rate, Heartbeat: 2 * time.Second}); err != nil {
		return err
	}
	d.say("the import %q has begun: %d events in %d files, at %d a second", "demo", events, shards, rate)
	if err := d.follow(ctx, c); err != nil {
		return err
	}
	return d.judge(ctx, c, ids)
}

func (d *demo) start(ctx context.Context, env []string, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), env...)
	return cmd, cmd.Start()
}

func (d *demo) write() (ids []uuid.UUID, files []hogtemporal.Shard, err error) {
	for s := range shards {
		path := filepath.Join(d.dir, fmt.Sprintf("events-%d.jsonl", s+1))
		f, err := os.Create(path)
		if err != nil {
			return nil, nil, err
		}
		for i := events / shards * s; i < events/shards*(s+1); i++ {
			id := uuid.New()
			ids = append(ids, id)
			if err := json.NewEncoder(f).Encode(map[string]any{
				"uuid": id, "event": "page viewed", "distinct_id": fmt.Sprint("person-", i%persons),
				"timestamp": time.Date(2024, 1, 1, 0, i, 0, 0, time.UTC), "properties": map[string]int{"number": i},
			}); err != nil {
				return nil, nil, err
			}
		}
		if err := f.Close(); err != nil {
			return nil, nil, err
		}
		files = append(files, hogtemporal.Shard{Path: path})
	}
	return ids, files, nil
}

// follow shows the import until it has ended, and kills the worker that sends, once.
func (d *demo) follow(ctx context.Context, c client.Client) error {
	killed, last := "", ""
	for {
		s, err := hogtemporal.GetStatus(ctx, c, "demo")
		if err != nil && ctx.Err() != nil {
			return err
		}
		text := fmt.Sprintf("%s: shard %d of %d, %5d of %d events", s.Stage, min(s.Shard+1, s.Shards), s.Shards, s.Acknowledged, events)
		if s.Beat != nil {
			text += ", by " + s.Beat.Worker
		}
		if err == nil && text != last && s.State == hogtemporal.StateRunning {
			d.say("%s", text)
			last = text
		}
		switch {
		case err == nil && s.State == hogtemporal.StateComplete:
			return nil
		case err == nil && s.Problem != nil && s.Problem.Final():
			return fmt.Errorf("the import stands still: %s", s.Problem)
		case killed == "" && s.Beat != nil && s.Stage == hogtemporal.StageSend && s.Acknowledged > events*4/10:
			killed = s.Beat.Worker
			if err := d.workers[killed].Process.Kill(); err != nil {
				return err
			}
			d.say("kill -9 of %s, in the middle of shard %d", killed, s.Shard+1)
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (d *demo) judge(ctx context.Context, c client.Client, ids []uuid.UUID) error {
	out, err := hogtemporal.Wait(ctx, c, "demo")
	if err != nil {
		return err
	}
	ledger := d.fake.Ledger()
	lost, changed, swapped := len(ledger.Missing(ids)), len(ledger.Changed()), ledger.Inversions(ids)
	d.say("the import is %s in the project\n", out.Arrival.State)
	fmt.Printf("  events in the files            %6d\n  lost                           %6d\n  sent twice, all identical      %6d\n  sent twice, and changed        %6d\n"+
		"  a person's events out of order %6d\n\n%s\n", events, lost, ledger.Duplicates(), changed, swapped, out.Receipt)
	if lost+changed+swapped > 0 || out.Arrival.State != history.VerificationComplete || out.Receipt.Acknowledged != events {
		return errors.New("that is not what was promised")
	}
	return nil
}
