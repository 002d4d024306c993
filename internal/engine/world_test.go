package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/wire"
)

var errFinal = fmt.Errorf("final: %w", errtext.ErrInvalid)

// world simulates the service, the checkpoint and the handler of rejects around a pipeline. It logs their calls in
// order.
type world struct {
	Config

	answer    func(Request) httptry.Try // nil: the service takes everything
	saves     func(n int)               // the n-th save, while it lasts
	saved     int
	saveErr   error
	rejectErr error

	mu      sync.Mutex
	log     []string
	sent    []string // the events, as their names
	ids     []string // their uuids
	rejects []event.Reject
}

// bubble runs a test in virtual time, beside other tests.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

func answered(status int, body string) httptry.Try {
	return httptry.Try{Status: status, Header: http.Header{}, Body: []byte(body)}
}

// byKind answers each kind of request with a status of its own.
func byKind(events, question, preflight int) func(Request) httptry.Try {
	return func(r Request) httptry.Try {
		return answered([]int{events, question, preflight}[r.Kind], `{"status":"Ok"}`)
	}
}

// slowly answers after a second of virtual time.
func slowly(answer func(Request) httptry.Try) func(Request) httptry.Try {
	return func(r Request) httptry.Try {
		time.Sleep(time.Second)
		return answer(r)
	}
}

// asks lets a pipeline ask the server for the protocol.
func (w *world) asks(answer func(Request) httptry.Try) *world {
	if w.Protocol, w.answer = "", answer; w.Files != nil {
		w.Files.Protocol = ""
	}
	return w
}

func newWorld() *world {
	w := &world{}
	w.Config = Config{
		ID: "imp", Stamps: wire.NewStamps("test", "1", "imp"), Seed: maphash.MakeSeed(),
		Client: w, Handler: w, Protocol: event.ProtocolBatch,
		Limits: delivery.Limits{
			Lanes: 2, BatchItems: 10, MostBatchItems: 10, BatchBytes: 1 << 20, LeastBatchBytes: 1 << 20, Linger: 10 * time.Millisecond,
			GiveUpAfter: time.Minute, UnreachableAfter: time.Minute, NoCompression: true,
		},
		Room:   delivery.Held{Events: 100, Bytes: 1 << 20},
		Logger: slog.New(slog.DiscardHandler),
	}
	return w
}

// keeps gives the import a checkpoint.
func (w *world) keeps() *world {
	w.Files = &Files{Of: Of{Import: "imp"}, Checkpoint: w, Protocol: w.Protocol}
	return w
}

func (w *world) note(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, text)
}

// Open, Save and Close make world a checkpoint.
func (w *world) Open(context.Context) ([]byte, error) { return nil, nil }
func (w *world) Close() error                         { return nil }

func (w *world) Save(context.Context, []byte) error {
	w.note("save")
	if w.saved++; w.saves != nil {
		w.saves(w.saved)
	}
	return w.saveErr
}

// The methods of a client and a handler.
func (w *world) Key() string                       { return "phc_test" }
func (w *world) SDK() string                       { return "test/1" }
func (w *world) Now() time.Time                    { return time.Now() }
func (w *world) Tried(path string, t delivery.Try) { w.note(fmt.Sprintf("tried %s %d", path, t.Items)) }
func (w *world) Saved(place event.Position, _ time.Duration) {
	w.note(fmt.Sprint("saved ", place.Offset))
}
func (w *world) Settled(_ context.Context, place event.Position) {
	w.note(fmt.Sprint("settled ", place.Offset))
}

func (w *world) Reject(_ context.Context, r event.Reject) error {
	w.note("reject " + string(r.Err.Reason))
	w.rejects = append(w.rejects, r)
	return w.rejectErr
}

func (w *world) Post(_ context.Context, r Request) httptry.Try {
	text, _ := io.ReadAll(r.Body.Open())
	w.note([]string{"events", "question", "preflight"}[r.Kind])
	answer := answered(200, `{"status":"Ok"}`)
	if w.answer != nil {
		answer = w.answer(r)
	}
	var body struct {
		Batch []struct{ Event, UUID string }
	}
	if r.Kind == Events && answer.Status == 200 && json.Unmarshal(text, &body) == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, ev := range body.Batch {
			w.sent, w.ids = append(w.sent, ev.Event), append(w.ids, ev.UUID)
		}
	}
	return answer
}

// takenByV1 is the answer of capture v1 that takes all events.
func takenByV1(r Request) httptry.Try {
	if r.Kind == Preflight {
		return answered(200, "{}")
	}
	var body struct {
		Batch []struct{ UUID string }
	}
	_ = json.NewDecoder(r.Body.Open()).Decode(&body)
	results := map[string]map[string]string{}
	for _, ev := range body.Batch {
		results[ev.UUID] = map[string]string{"result": "ok"}
	}
	text, _ := json.Marshal(map[string]map[string]map[string]string{"results": results}) //nolint:errchkjson // it has texts only
	return answered(200, string(text))
}

func at(offset int64) event.Position { return event.Position{Key: "f", Offset: offset} }

// past is a good event at a place.
func past(name string, offset int64) *Event {
	return &Event{
		Fields: wire.Fields{Name: name, DistinctID: "ann", Timestamp: time.Date(1999, 5, 1, 0, 0, 0, 0, time.UTC)}, Position: at(offset),
	}
}

// source gives events, and then an error.
func source(err error, events ...*Event) Source {
	return func(_ context.Context, after event.Position) iter.Seq2[*Event, error] {
		return func(yield func(*Event, error) bool) {
			for _, ev := range events {
				if (ev.Position.IsZero() || ev.Position.Offset > after.Offset) && !yield(ev, nil) {
					return
				}
			}
			if err != nil {
				yield(&Event{}, err)
			}
		}
	}
}

// run is an import.
func (w *world) run(ctx context.Context, t *testing.T, s Source) (event.Receipt, error) {
	t.Helper()
	p, err := New(w.Config)
	require.NoError(t, err)
	return p.Import(ctx, s)
}

func reasonOf(err error) event.StopReason {
	if s, ok := errors.AsType[*event.StopError](err); ok {
		return s.Reason
	}
	return ""
}
