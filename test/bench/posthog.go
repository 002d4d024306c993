package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/posthog/posthog-go"
)

// preparePostHog sends by posthog-go: as it is, or tuned by all that its configuration offers for throughput.
func preparePostHog(mode posthog.CaptureMode, tuned, zipped bool) prepare {
	return func(j job) (func() (string, error), error) {
		var failed failures
		config := posthog.Config{Endpoint: j.URL, HistoricalMigration: true, Callback: &failed, Logger: silent{}, CaptureMode: mode}
		if tuned {
			config.BatchSize = 1000
			config.MaxQueueSize = 100_000
			config.BatchSubmitTimeout = time.Minute
			config.Transport = readOut{&http.Transport{MaxIdleConnsPerHost: 64}}
		}
		if zipped {
			config.Compression = posthog.CompressionGzip
		}
		client, err := posthog.NewWithConfig(apiKey, config)
		if err != nil {
			return nil, err
		}
		ring := newRing(j.Events)
		return func() (string, error) {
			for i := range j.Events {
				if err := enqueuePostHog(client, &ring[i%len(ring)], i); err != nil {
					return "", err
				}
			}
			if err := client.Close(); err != nil {
				return "", err
			}
			if n := failed.count.Load(); n > 0 {
				return "", fmt.Errorf("%d events failed by callback", n)
			}
			return "", nil
		}, nil
	}
}

// enqueuePostHog tries again where the queue is full: Enqueue would drop the event.
func enqueuePostHog(client posthog.Client, ev *event, n int) error {
	message := posthog.Capture{
		Uuid: eventID(n).String(), DistinctId: ev.person, Event: ev.name, Timestamp: ev.time, Properties: ev.properties,
	}
	for {
		err := client.Enqueue(message)
		if !errors.Is(err, posthog.ErrQueueFull) {
			return err
		}
		runtime.Gosched()
	}
}

type failures struct{ count atomic.Int64 }

func (*failures) Success(posthog.APIMessage)          {}
func (f *failures) Failure(posthog.APIMessage, error) { f.count.Add(1) }

// readOut reads every answer to its end, so that its connection is used again.
type readOut struct{ http.RoundTripper }

func (t readOut) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, err
}

type silent struct{}

func (silent) Debugf(string, ...any) {}
func (silent) Logf(string, ...any)   {}
func (silent) Warnf(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
