package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
)

// consumer moves records from a topic into a Capture.
type consumer struct {
	kafka   *kgo.Client
	capture *hogapi.Capture
	trail   trail
	topic   string
	fail    context.CancelCauseFunc
}

// read enqueues records until ctx ends or the Capture stops.
func (c *consumer) read(ctx context.Context) error {
	for {
		fetches := c.kafka.PollRecords(ctx, 1000)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := fetches.Err(); err != nil {
			return err
		}
		for _, record := range fetches.Records() {
			c.trail.add(record) // before Enqueue: it may be settled before Enqueue returns
			if err := c.capture.Enqueue(ctx, eventOf(record)); err != nil {
				return err
			}
		}
		c.kafka.AllowRebalance()
	}
}

// settled receives the position up to which every event is settled, in the order in which records were
// enqueued.
func (c *consumer) settled(_ context.Context, upTo hogapi.Position) {
	c.kafka.MarkCommitOffsets(c.trail.settled(upTo))
}

// revoked waits until the records of revoked partitions are settled, before another consumer gets them.
func (c *consumer) revoked(ctx context.Context, kafka *kgo.Client, _ map[string][]int32) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second) // below kgo.RebalanceTimeout
	defer cancel()
	err := c.capture.Flush(ctx)
	if err == nil {
		err = kafka.CommitMarkedOffsets(ctx)
	}
	if err != nil { // the next owner sends the events again, with the same uuids
		c.fail(fmt.Errorf("partitions were revoked before their events were settled: %w", err))
	}
}

// reject stores a record that cannot be imported. An error stops the import, so that no record is
// passed over silently.
func (c *consumer) reject(ctx context.Context, r hogapi.Reject) error {
	value := r.Raw
	if value == nil {
		value = r.Event
	}
	record := &kgo.Record{Topic: c.topic + ".rejects", Value: value, Headers: []kgo.RecordHeader{
		{Key: "position", Value: []byte(r.Position.String())}, {Key: "reason", Value: []byte(r.Err.Reason)},
	}}
	return c.kafka.ProduceSync(ctx, record).FirstErr()
}

// uuids is the namespace of the uuids that this program derives.
var uuids = uuid.NewSHA1(uuid.NameSpaceURL, []byte("kafka"))

func positionOf(r *kgo.Record) hogapi.Position {
	return hogapi.Position{Key: fmt.Sprintf("%s/%d", r.Topic, r.Partition), Offset: r.Offset}
}

// eventOf converts a record to an event: the one function to change for another form of records. The
// uuid depends on the record alone, so that an event that is sent twice is one event in PostHog.
func eventOf(r *kgo.Record) hogapi.Event {
	at := positionOf(r)
	var v struct {
		UUID       uuid.UUID      `json:"uuid"`
		Event      string         `json:"event"`
		DistinctID string         `json:"distinct_id"`
		Timestamp  time.Time      `json:"timestamp"`
		Properties map[string]any `json:"properties"`
	}
	if r.Value == nil {
		return event.Skip(at, "a record without a value")
	}
	decoder := json.NewDecoder(bytes.NewReader(r.Value))
	decoder.UseNumber() // large numbers stay as they are
	if err := decoder.Decode(&v); err != nil {
		return event.Bad(at, r.Value, err)
	}
	if v.UUID == uuid.Nil {
		v.UUID = uuid.NewSHA1(uuids, []byte(at.String()))
	}
	return hogapi.Event{
		UUID: v.UUID, Name: v.Event, DistinctID: v.DistinctID, Timestamp: v.Timestamp, Properties: v.Properties, Position: at,
	}
}
