// Command kafka imports past events from a Kafka topic. It commits an offset once PostHog has taken the
// events before it, so that a kill loses no event: see docs/recipes/kafka.md.
//
//	KAFKA_BROKERS   host:port, with commas between several
//	KAFKA_TOPIC     the topic; each record is one event as JSON
//	KAFKA_GROUP     the consumer group
//	KAFKA_INSTANCE  a name of this process that stays the same, such as the host's
//
// It also reads the variables of hogapi.FromEnv. Records that cannot be imported go to the topic
// KAFKA_TOPIC.rejects.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/hogapi/hogapi"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends it at once
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run imports until ctx ends, which is not an error.
func run(ctx context.Context, out io.Writer) error {
	posthog, err := hogapi.NewClient(hogapi.FromEnv())
	if err != nil {
		return err
	}
	running, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	c := &consumer{topic: os.Getenv("KAFKA_TOPIC"), fail: fail}
	c.kafka, err = kgo.NewClient(
		kgo.SeedBrokers(strings.Split(os.Getenv("KAFKA_BROKERS"), ",")...),
		kgo.ConsumeTopics(c.topic),
		kgo.ConsumerGroup(os.Getenv("KAFKA_GROUP")),
		kgo.InstanceID(os.Getenv("KAFKA_INSTANCE")), // after a restart, it has its partitions at once
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.AutoCommitMarks(), // commits only the offsets that settled marks
		kgo.AutoCommitInterval(time.Second),
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsRevoked(c.revoked),
	)
	if err != nil {
		return err
	}
	defer c.kafka.CloseAllowingRebalance()
	c.capture, err = posthog.NewCapture(&hogapi.CaptureOptions{
		ID:        "kafka-" + c.topic,
		Rejects:   hogapi.RejectFunc(c.reject),
		OnSettled: c.settled,
	})
	if err != nil {
		return err
	}
	readErr := c.read(running)

	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	receipt, closeErr := c.capture.Close(closing) // events that are not settled come again with the next run
	fmt.Fprintln(out, receipt)
	commitErr := c.kafka.CommitMarkedOffsets(closing)
	if ctx.Err() != nil && errors.Is(readErr, context.Canceled) {
		readErr = nil
	}
	return errors.Join(readErr, closeErr, commitErr)
}
