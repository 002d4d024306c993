package main

import (
	"bufio"
	"context"
	"os"
	"path/filepath"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
)

func newClient(url string) (*hogapi.Client, error) {
	return hogapi.NewClient(hogapi.WithCaptureURL(url), hogapi.WithProjectAPIKey(apiKey))
}

// prepareCapture sends with Capture: events with their own uuids or with derived uuids.
func prepareCapture(protocol hogapi.Protocol, zipped, ownIDs bool) prepare {
	return func(j job) (func() (string, error), error) {
		client, err := newClient(j.URL)
		if err != nil {
			return nil, err
		}
		ring := newRing(j.Events)
		return func() (string, error) {
			capture, err := client.NewCapture(&hogapi.CaptureOptions{
				ID: "benchmark", Rate: hogapi.RateUnlimited, Delivery: hogapi.DeliveryOptions{Protocol: protocol, Compression: map[bool]hogapi.Compression{false: hogapi.CompressionNone}[zipped]},
			})
			if err != nil {
				return "", err
			}
			ctx := context.Background()
			for i := range j.Events {
				if err := capture.Enqueue(ctx, ourEvent(&ring[i%len(ring)], i, ownIDs)); err != nil {
					return "", err
				}
			}
			receipt, err := capture.Close(ctx)
			return receipt.Digest, err
		}, nil
	}
}

func ourEvent(ev *event, n int, ownID bool) hogapi.Event {
	e := hogapi.Event{Name: ev.name, DistinctID: ev.person, Timestamp: ev.time, Properties: ev.properties}
	if ownID {
		e.UUID = eventID(n)
	} else {
		e.Position = hogapi.Position{Key: "events", Offset: int64(n + 1)}
	}
	return e
}

func prepareImport(protocol hogapi.Protocol) prepare {
	return func(j job) (func() (string, error), error) {
		client, err := newClient(j.URL)
		if err != nil {
			return nil, err
		}
		return func() (string, error) {
			receipt, err := history.Import(context.Background(), client, history.JSONLines(j.File), &history.Options{
				ID: "benchmark", Rate: hogapi.RateUnlimited, Delivery: hogapi.DeliveryOptions{Protocol: protocol},
				Checkpoint: history.CheckpointFile(filepath.Join(j.Folder, "checkpoint.json")),
				Rejects:    history.RejectFile(filepath.Join(j.Folder, "rejects.jsonl")),
			})
			return receipt.Digest, err
		}, nil
	}
}

// writeEvents writes the file for the import: n events in the line format of the service's managed migrations, with uuids.
func writeEvents(path string, n int) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	out := bufio.NewWriterSize(file, 1<<20)
	ring := newRing(n)
	var line []byte
	for i := range n {
		line = append(appendEvent(line[:0], &ring[i%len(ring)], eventID(i)), '\n')
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if err := file.Sync(); err != nil { // nothing may be left to write while a client is measured
		return err
	}
	return file.Close()
}
