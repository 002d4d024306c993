package hogbeam

import (
	"context"
	"fmt"
	"hash/fnv"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
)

// Written is what [WriteHistorical] tells of its work.
type Written struct {
	Batches beam.PCollection // of BatchReceipt: one for each batch that was settled
	Rejects beam.PCollection // of Reject: one for each event that was refused
	Receipt beam.PCollection // of hogapi.Receipt: one, for the whole import; only that of a job that has ended well says all
}

// WriteHistorical sends a collection of [Event] to the service as historical events. It must be bounded.
//
// Each event gets its uuid first. Then the events are divided into lanes by a hash of their person and grouped, so that a repeated
// bundle sees what the first one saw. A lane sorts its events by time and position and sends them through one [hogapi.Capture], with
// its pace, retries, splitting and rejects. A job that is run again, as a whole or in parts, sends the same events with the same uuids.
//
// A job that fails has sent a part of the events, and its receipt is not there: run it again with the same options. The
// counters of namespace "hogbeam" are files (matched by [ReadJSONLines]), read, acknowledged, rejected, resent (events) and throttled_ms.
//
// It panics where the options are wrong: see [Options.Check].
func WriteHistorical(s beam.Scope, o Options, events beam.PCollection) Written {
	if err := o.Check(); err != nil {
		panic(err)
	}
	o = o.withDefaults()
	s = s.Scope("hogbeam.WriteHistorical")
	events = beam.WindowInto(s, window.NewGlobalWindows(), events)
	lanes := beam.GroupByKey(s, beam.ParDo(s, &stampFn{ID: o.ID, Lanes: o.Lanes}, events))
	batches, rejects, receipts := beam.ParDo3(s, &laneFn{Options: o}, lanes)
	none := beam.Create(s, newLedger(o.ID).receipt()) // an import without events has a receipt too
	receipt := beam.ParDo(s, &totalFn{ID: o.ID}, beam.GroupByKey(s, beam.AddFixedKey(s, beam.Flatten(s, receipts, none))))
	return Written{Batches: batches, Rejects: rejects, Receipt: receipt}
}

const namespace = "hogbeam"

// The counters. Those of a bundle that is repeated count once.
var (
	countFiles        = beam.NewCounter(namespace, "files")
	countRead         = beam.NewCounter(namespace, "read")
	countAcknowledged = beam.NewCounter(namespace, "acknowledged")
	countRejected     = beam.NewCounter(namespace, "rejected")
	countResent       = beam.NewCounter(namespace, "resent")
	countThrottled    = beam.NewCounter(namespace, "throttled_ms")
)

// stampFn gives each event its uuid and its lane. It packs events of a lane, since an engine has work with each element that it shuffles.
type stampFn struct {
	ID    string
	Lanes int

	packs map[int][]byte // of this bundle, by lane
}

const packBytes = 32 << 10

// ProcessElement stamps one event.
func (f *stampFn) ProcessElement(ctx context.Context, ev Event, emit func(int, []byte)) {
	countRead.Inc(ctx, 1)
	if ev.UUID == uuid.Nil && !ev.Position.IsZero() {
		ev.UUID = ev.Position.UUID(f.ID)
	}
	if f.packs == nil {
		f.packs = map[int][]byte{}
	}
	lane := f.lane(&ev)
	pack := appendPacked(f.packs[lane], &ev)
	if len(pack) >= packBytes {
		emit(lane, pack)
		pack = nil
	}
	f.packs[lane] = pack
}

// FinishBundle hands on what is not yet.
func (f *stampFn) FinishBundle(_ context.Context, emit func(int, []byte)) {
	for lane, pack := range f.packs {
		if len(pack) > 0 {
			emit(lane, pack)
		}
	}
	f.packs = nil
}

// lane is the same for all events of a person, on every machine. What has no person is spread by its uuid.
func (f *stampFn) lane(ev *Event) int {
	h := fnv.New64a()
	if person := ev.person(); person != "" {
		_, _ = h.Write([]byte(person))
	} else {
		_, _ = h.Write(ev.UUID[:])
	}
	return int(h.Sum64() % uint64(f.Lanes))
}

// totalFn adds up the receipts of all lanes. They are no side input: in a job that is being broken off that may be empty.
type totalFn struct{ ID string }

// ProcessElement makes the one receipt.
func (f *totalFn) ProcessElement(_ int, lanes func(*hogapi.Receipt) bool, emit func(hogapi.Receipt)) error {
	total := newLedger(f.ID)
	for r := (hogapi.Receipt{}); lanes(&r); r = (hogapi.Receipt{}) {
		if err := total.add(r); err != nil {
			return fmt.Errorf("the receipt of a lane: %w", err)
		}
	}
	emit(total.receipt())
	return nil
}
