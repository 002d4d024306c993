package proof_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/durable/simdisk"
	"github.com/hogapi/hogapi/internal/statefile"
	"github.com/hogapi/hogapi/internal/testevents"
	"github.com/hogapi/hogapi/ops"
)

// An import is ended in every way, again and again, under faults. Every checkpoint agrees with the model. The resumed import neither
// loses, changes nor hides anything, and sends at most the events again that were in flight.
func TestModelOfImport(t *testing.T) {
	t.Parallel()
	eachSeed(t, testevents.Sized(250, 2000, 200_000), func(t *testing.T, random *rand.Rand) {
		w := &importWorld{
			t: t, random: random, model: newModel(random, random.IntN(250), false), server: modelServer(random),
			disk: new(simdisk.Disk), stored: map[uuid.UUID]int{},
		}
		var err error
		w.client, err = hogapi.NewClient(w.server.ClientOptions("1")...)
		require.NoError(t, err)
		for range random.IntN(6) {
			w.run(newImportPlan(random, []ending{crashes, crashes, crashes, diskIsFull, isCanceled, sourceFails, isTurnedOff}[random.IntN(7)]))
		}
		w.run(newImportPlan(random, endsWell))
		w.server.ClearScript(ops.Capture)
		w.server.Verify(t)
	})
}

// importPlan is one run of an import, and how it ends.
type importPlan struct {
	delivery   hogapi.DeliveryOptions
	rate       int
	chaos      float64
	faults     []hogapitest.Fault
	pauseAfter int           // after this many events the source rests, so that these are settled
	pause      time.Duration //
	end        ending
	at         int // the event at which the run ends, counted from its first
	operation  int // the number of disk operations after that event until the disk fails
}

// ending is how a run ends. A run that is over before its ending is due ends well.
type ending string

const (
	endsWell    ending = "well"
	crashes     ending = "crash"
	diskIsFull  ending = "full disk"
	isCanceled  ending = "cancel"
	sourceFails ending = "source fails"
	isTurnedOff ending = "an answer that stops"
)

func newImportPlan(random *rand.Rand, end ending) importPlan {
	p := importPlan{
		delivery: modelDelivery(random), rate: hogapi.RateUnlimited, chaos: 0.4 * random.Float64(), faults: modelFaults(random),
		end: end, at: random.IntN(120), operation: 1 + random.IntN(12),
	}
	if random.IntN(4) == 0 {
		p.rate = 20 + random.IntN(500)
	}
	if random.IntN(2) == 0 {
		p.pauseAfter, p.pause = 1+random.IntN(60), time.Duration(random.IntN(3000))*time.Millisecond
	}
	if p.end == isTurnedOff {
		p.faults = append(p.faults, []hogapitest.Fault{
			hogapitest.Status(401), hogapitest.Status(200, `{"status":"Ok","quota_limited":["events"]}`), hogapitest.HTML(200), testevents.Redirect("/batch/"),
		}[random.IntN(4)])
	}
	return p
}

func (p importPlan) String() string {
	return fmt.Sprintf("%+v, rate %d, %.0f %% of %v, rests %v after each %d, ends by %q at event %d, operation %d",
		p.delivery, p.rate, 100*p.chaos, p.faults, p.pause, p.pauseAfter, p.end, p.at, p.operation)
}

// importWorld is the state that outlives the runs of an import.
type importWorld struct {
	t      *testing.T
	random *rand.Rand
	model  *model
	server *hogapitest.Server
	client *hogapi.Client
	disk   *simdisk.Disk

	runs   int
	given  int                // events up to here were given by this run, or settled before it
	saved  int                // events that the newest checkpoint covers
	seen   int                // commits of the ledger that stored knows
	stored map[uuid.UUID]int  // the run that first stored an event
	again  map[uuid.UUID]bool // stored by a run before this one, and by this one too
	window int                // the greatest window of the runs before
}

var errSource = errors.New("the table is gone")

func (w *importWorld) run(p importPlan) {
	t := w.t
	defer func() {
		if t.Failed() {
			t.Logf("%s", p)
		}
	}()
	w.server.Chaos(ops.Capture, w.random.Uint64(), p.chaos, p.faults...)
	w.runs, w.given, w.again = w.runs+1, 0, map[uuid.UUID]bool{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	receipt, err := history.Import(ctx, w.client, w.source(p, cancel), &history.Options{
		ID: modelID, MaxRejectShare: -1, Rate: p.rate, Delivery: p.delivery,
		Checkpoint: &modelCheckpoint{statefile.NewCheckpoint(w.disk, "d/checkpoint"), w}, Rejects: rejectsOn(w.disk, "d/rejects"),
	})
	w.look()
	require.LessOrEqual(t, len(w.again), w.window, "sent again")
	w.window = max(w.window, p.delivery.MaxInFlight, 31) // or one record
	if w.disk.FailAt(0, nil); p.end == crashes || w.random.IntN(2) == 0 {
		w.disk = w.disk.Crashed(w.random.Uint64())
	}
	if err != nil {
		require.NotEqual(t, endsWell, p.end, "%v", err)
		w.requireTrue(receipt, err)
		return
	}
	n := len(w.model.events)
	require.Equal(t, w.model.receipt(n), fixed(receipt))
	w.model.requireLedger(t, w.server, n)
	w.requireRejects(n)
}

// source returns the events of the model, and carries out the plan at its moment.
func (w *importWorld) source(p importPlan, cancel func()) history.Source {
	return history.Func("model", func(ctx context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(yield func(hogapi.Event, error) bool) {
			first := w.model.behind(after)
			for i, e := range w.model.events[first:] {
				if i == p.at {
					switch p.end {
					case crashes:
						w.disk.CrashAt(p.operation)
					case diskIsFull:
						w.disk.FailAt(p.operation, syscall.ENOSPC)
					case isCanceled:
						cancel()
					case sourceFails:
						yield(hogapi.Event{}, errSource)
						return
					default:
					}
				}
				if p.pauseAfter > 0 && i%p.pauseAfter == p.pauseAfter-1 {
					select {
					case <-time.After(p.pause):
					case <-ctx.Done():
						yield(hogapi.Event{}, ctx.Err())
						return
					}
				}
				if !yield(e.Event, nil) {
					return
				}
				w.given = first + i + 1
			}
		}
	})
}

// modelCheckpoint compares each saved and each loaded state with the model.
type modelCheckpoint struct {
	history.Checkpointer

	world *importWorld
}

func (c *modelCheckpoint) Open(ctx context.Context) ([]byte, error) {
	state, err := c.Checkpointer.Open(ctx)
	if err == nil && state != nil {
		n := c.world.requireState(state)
		assert.GreaterOrEqual(c.world.t, n, c.world.saved, "a saved checkpoint is gone")
	}
	return state, err
}

func (c *modelCheckpoint) Save(ctx context.Context, state []byte) error {
	n := c.world.requireState(state)
	err := c.Checkpointer.Save(ctx, state)
	if err == nil {
		c.world.saved = n
	}
	return err
}

// requireState requires that a state of n events agrees with the model, and that the service and the reject file have these events.
func (w *importWorld) requireState(state []byte) (n int) {
	receipt, place, err := testevents.SavedState(state)
	assert.NoError(w.t, err)
	n = int(receipt.Read)
	want := w.model.receipt(n)
	if n == 0 {
		want.Source = "" // another one may still be named
	}
	assert.Equal(w.t, w.model.place(n), place)
	assert.Equal(w.t, want, fixed(receipt))
	w.look()
	lost := slices.DeleteFunc(w.model.stored(n), func(id uuid.UUID) bool { return w.stored[id] > 0 })
	assert.Empty(w.t, lost, "the checkpoint is ahead of the service")
	file, err := durable.Read(w.disk, "d/rejects")
	assert.NoError(w.t, err)
	assert.Subset(w.t, parsedRejects(w.t, file), w.model.rejects(n), "the checkpoint is ahead of the reject file")
	return n
}

// look reads the commits that are new in the ledger since the last call.
func (w *importWorld) look() {
	ledger := w.server.Ledger()
	for ; w.seen < ledger.Len(); w.seen++ {
		switch id := ledger.Event(w.seen).UUID; w.stored[id] {
		case 0:
			w.stored[id] = w.runs
		case w.runs:
		default:
			w.again[id] = true
		}
	}
}

// requireTrue requires that the receipt that comes with an error hides nothing.
func (w *importWorld) requireTrue(r hogapi.Receipt, err error) {
	if r.Read == 0 && r.Source == "" {
		return // it did not begin
	}
	testevents.RequireBalanced(w.t, r)
	require.GreaterOrEqual(w.t, r.Read, int64(w.given), "events that the source gave are not accounted for")
	require.LessOrEqual(w.t, r.Acknowledged, int64(w.server.Ledger().Unique()))
	require.GreaterOrEqual(w.t, r.Read-r.Pending, int64(w.saved))
	if r.Pending > 0 {
		var unsettled *event.UnsettledError
		require.ErrorAs(w.t, err, &unsettled)
		require.EqualValues(w.t, r.Pending, unsettled.Count)
	}
}

// requireRejects requires that the file has each reject, also after a loss of power.
func (w *importWorld) requireRejects(n int) {
	w.disk = w.disk.Crashed(w.random.Uint64())
	file, err := durable.Read(w.disk, "d/rejects")
	require.NoError(w.t, err)
	want, all := w.model.rejects(n), parsedRejects(w.t, file)
	require.Subset(w.t, all, want, "lost")
	require.Subset(w.t, want, all, "nobody's")
}

// parsedRejects reads a reject file and omits the traces of a loss of power: zeros, the text before them in a line, and torn lines.
func parsedRejects(t *testing.T, file []byte) (all []modelReject) {
	for line := range strings.Lines(string(file)) {
		hole := strings.LastIndexByte(line, 0)
		if line = line[hole+1:]; !strings.HasSuffix(line, "\n") || !json.Valid([]byte(line)) {
			continue
		}
		var r struct {
			UUID uuid.UUID   `json:"uuid"`
			Note modelReject `json:"$reject"`
		}
		assert.NoError(t, json.Unmarshal([]byte(line), &r), "%s", line)
		r.Note.UUID = r.UUID
		all = append(all, r.Note)
	}
	return all
}
