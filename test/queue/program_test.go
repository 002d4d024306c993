package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/hogapitest"
)

const (
	stream   = "HISTORY"
	consumer = "importer"
	ackWait  = 500 * time.Millisecond
)

// TestMain is one of the programs when a test starts it.
func TestMain(m *testing.M) {
	kind := os.Getenv("QUEUE_PROGRAM")
	if kind == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := run(ctx, kind); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// message is a message of the queue, with zero or more events.
type message struct{ N, Events int }

// recordOf returns the events of a message, without uuids. Their Origin is the message.
func recordOf(m message, origin, position hogapi.Position) (record []hogapi.Event) {
	for i := range m.Events {
		record = append(record, hogapi.Event{
			Name: "ordered", DistinctID: fmt.Sprintf("person-%d", m.N%17), Timestamp: time.Date(2024, 1, 1, 0, 0, m.N, 0, time.UTC),
			Properties: map[string]any{"n": m.N, "i": i}, Origin: origin, Position: position,
		})
	}
	if len(record) == 0 {
		record = []hogapi.Event{event.Skip(position, "no events")}
	}
	return record
}

// program reads the queue. Each message is delivered to it at least twice: it does not acknowledge the first delivery.
type program struct {
	messages jetstream.Consumer
	client   *hogapi.Client
	options  hogapi.CaptureOptions

	mu       sync.Mutex
	unacked  map[int64]jetstream.Msg // by the number of the delivery; of "settled"
	delivery int64
}

func run(ctx context.Context, kind string) error {
	connection, err := nats.Connect(os.Getenv("QUEUE_URL"))
	if err != nil {
		return err
	}
	defer connection.Close()
	js, err := jetstream.New(connection)
	if err != nil {
		return err
	}
	p := &program{unacked: map[int64]jetstream.Msg{}}
	if p.messages, err = js.Consumer(ctx, stream, consumer); err != nil {
		return err
	}
	p.client, err = hogapi.NewClient(hogapi.WithCaptureURL(os.Getenv("QUEUE_CAPTURE")), hogapi.WithProjectAPIKey(hogapitest.DefaultProjectKey))
	if err != nil {
		return err
	}
	p.options = hogapi.CaptureOptions{ID: "queue", Rate: hogapi.RateUnlimited, Delivery: hogapi.DeliveryOptions{GiveUpAfter: -1, Tuning: hogapi.Tuning{Linger: 5 * time.Millisecond}}}
	if kind == "settled" {
		p.options.OnSettled = func(_ context.Context, upTo hogapi.Position) { p.settled(upTo) }
	}
	capture, err := p.client.NewCapture(&p.options)
	if err != nil {
		return err
	}
	for ctx.Err() == nil && err == nil {
		capture, err = p.take(ctx, kind, capture)
	}
	if ctx.Err() != nil {
		err = nil
	}
	closing, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, closeErr := capture.Close(closing)
	if _, ok := errors.AsType[*event.UnsettledError](closeErr); ok {
		closeErr = nil // the queue delivers again what is open
	}
	return errors.Join(err, closeErr)
}

// take takes some messages from the queue until they are acknowledged, or returned to be delivered again.
func (p *program) take(ctx context.Context, kind string, capture *hogapi.Capture) (*hogapi.Capture, error) {
	batch, err := p.messages.Fetch(40, jetstream.FetchMaxWait(100*time.Millisecond))
	if err != nil {
		return capture, err
	}
	var all []jetstream.Msg
	for msg := range batch.Messages() {
		if err := p.enqueue(ctx, capture, msg); err != nil {
			return capture, err
		}
		if all = append(all, msg); kind == "early" {
			p.end(msg, false) // the second delivery comes while the first one is under way
		}
	}
	switch kind {
	case "settled":
		return capture, nil
	case "put back":
		if capture, err = p.putBack(ctx, capture, all); err != nil {
			return capture, err
		}
	}
	if err := capture.Flush(ctx); err != nil {
		return capture, err
	}
	for _, msg := range all {
		p.end(msg, true)
	}
	return capture, nil
}

func (p *program) enqueue(ctx context.Context, capture *hogapi.Capture, msg jetstream.Msg) error {
	m, origin := read(msg)
	position := origin
	if p.options.OnSettled != nil {
		p.mu.Lock()
		p.delivery++
		position = hogapi.Position{Key: "delivery", Offset: p.delivery}
		p.unacked[p.delivery] = msg
		p.mu.Unlock()
	}
	return capture.Enqueue(ctx, recordOf(m, origin, position)...)
}

// settled ends all deliveries up to one.
func (p *program) settled(upTo hogapi.Position) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for number, msg := range p.unacked {
		if number <= upTo.Offset {
			p.end(msg, true)
			delete(p.unacked, number)
		}
	}
}

// putBack ends the Capture with its open events, and puts them into another one, one by one.
func (p *program) putBack(ctx context.Context, capture *hogapi.Capture, all []jetstream.Msg) (*hogapi.Capture, error) {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err := capture.Close(ended)
	next, newErr := p.client.NewCapture(&p.options)
	unsettled, ok := errors.AsType[*event.UnsettledError](err)
	if !ok || newErr != nil {
		return next, newErr
	}
	messages := map[hogapi.Position]message{}
	for _, msg := range all {
		m, origin := read(msg)
		messages[origin] = m
	}
	for u := range unsettled.Events() {
		ev := recordOf(messages[u.Position], u.Position, u.Position)[u.Number]
		ev.UUID = u.UUID
		if err := next.Enqueue(ctx, ev); err != nil {
			return next, err
		}
	}
	return next, nil
}

// end acknowledges a message that was delivered before, and returns another one to the queue.
func (p *program) end(msg jetstream.Msg, isSettled bool) {
	switch of, err := msg.Metadata(); {
	case err != nil:
		panic(err)
	case of.NumDelivered == 1:
		_ = msg.Nak()
	case isSettled:
		_ = msg.Ack()
	}
}

func read(msg jetstream.Msg) (m message, origin hogapi.Position) {
	of, err := msg.Metadata()
	if err == nil {
		err = json.Unmarshal(msg.Data(), &m)
	}
	if err != nil {
		panic(err)
	}
	return m, hogapi.Position{Key: stream, Offset: int64(of.Sequence.Stream)}
}
