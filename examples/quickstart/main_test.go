package main

import (
	"context"
	"iter"
	"os"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/examples/internal/demotest"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// TestMain is also the import process, which the program starts from its own binary.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == importCommand {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestWithoutKeys(t *testing.T) {
	out := demotest.Run(t, nil, run)
	for _, want := range []string{
		"1. Create", "✓ backfilled", "7 runs completed, 0 failed", "✓ paused",
		"2. List", "✓ hogapi quickstart", "✓ events to the lake",
		"3. Check", "11,576 events from 2012 to 2026, all good",
		"4. Import", "✗ killed (SIGKILL) after",
		"5. Start the same command again", "✓ resumed at the checkpoint: 11,576 acknowledged, 0 rejected",
		"✓ none lost: 11,576 events in the file, 11,576 acknowledged, 11,576 held", "✓ none doubled: ",
		"7. Verify", "✓ complete: 11,576 events of ",
	} {
		assert.Contains(t, out, want)
	}
}

func TestNothingIsDoneInTheRealServiceWithoutYes(t *testing.T) {
	server := hogapitest.New()
	out := demotest.Run(t, server, run)
	assert.Contains(t, out, "import 11,576 past events")
	assert.Contains(t, out, "Nothing has been done. Say -yes")
	assert.Empty(t, server.Calls(), "not even a read")
}

func TestAnImportThatTheServiceRefusesIsAnError(t *testing.T) {
	server := hogapitest.New()
	server.Script(ops.Capture, hogapitest.Always(hogapitest.Status(401)))
	q := &quickstart{screen: screen{out: t.Output()}, client: server.Client(t), fake: server}
	require.ErrorContains(t, q.importPastEvents(t.Context()), "the import process: exit status 1")
	assert.Zero(t, server.Ledger().Len())
}

func TestADifferenceBetweenBothSidesIsAnError(t *testing.T) {
	q := &quickstart{screen: screen{out: t.Output()}, fake: hogapitest.New()}
	t.Cleanup(q.fake.Close)
	source := history.Func("one", func(context.Context, hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(yield func(hogapi.Event, error) bool) { yield(hogapi.Event{UUID: uuid.New()}, nil) }
	})
	err := q.compare(t.Context(), source, hogapi.Receipt{Acknowledged: 1})
	require.ErrorContains(t, err, "the service holds 0 events, 1 are missing")
}
