package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/hogapi/hogapi"
)

// latencies are the sink's latencies while it serves one Capture, in turn.
var latencies = []time.Duration{0, 50 * time.Millisecond, 500 * time.Millisecond, 50 * time.Millisecond, 0}

// runAdapt shows how one Capture follows a sink that gets slower and faster.
func runAdapt(out io.Writer, stage time.Duration) error {
	sink, err := startSink()
	if err != nil {
		return err
	}
	defer sink.stop()
	task, err := json.Marshal(job{URL: sink.url, Stages: latencies, Stage: stage})
	if err != nil {
		return err
	}
	cmd, err := command(string(task))
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	return cmd.Run()
}

// adaptClient feeds a Capture at full speed, changes the sink's latency and prints the Capture's state, four times a stage.
func adaptClient(out io.Writer, j job) error {
	client, err := newClient(j.URL)
	if err != nil {
		return err
	}
	capture, err := client.NewCapture(&hogapi.CaptureOptions{ID: "benchmark", Rate: hogapi.Unpaced})
	if err != nil {
		return err
	}
	var end atomic.Bool
	fed := make(chan error, 1)
	go func() { fed <- feed(capture, &end) }()
	fmt.Fprintln(out, "| s | sink answers after | events/s | permits | requests | events a request | in flight | MiB held | MiB resident (peak) |")
	fmt.Fprintln(out, "| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	sink := &sinkProcess{url: j.URL}
	begun, last := time.Now(), capture.Stats()
	for _, latency := range j.Stages {
		if err := sink.get("/latency/"+latency.String(), nil); err != nil {
			return err
		}
		const looks = 4
		tick := time.NewTicker(j.Stage / looks)
		for range looks {
			<-tick.C
			last = show(out, time.Since(begun), j.Stage/looks, latency, last, capture.Stats())
		}
		tick.Stop()
		if err := sink.get("/forget", nil); err != nil {
			return err
		}
	}
	end.Store(true)
	if err := <-fed; err != nil {
		return err
	}
	receipt, err := capture.Close(context.Background())
	if err == nil && receipt.Acknowledged != receipt.Read {
		err = fmt.Errorf("%d of %d events are acknowledged", receipt.Acknowledged, receipt.Read)
	}
	return err
}

func feed(capture *hogapi.Capture, end *atomic.Bool) error {
	ring := newRing(ringSize)
	for i := 0; !end.Load(); i++ {
		if err := capture.Enqueue(context.Background(), ourEvent(&ring[i%len(ring)], i, true)); err != nil {
			return err
		}
	}
	return nil
}

func show(out io.Writer, at, since time.Duration, latency time.Duration, last, now hogapi.Stats) hogapi.Stats {
	requests := now.Requests - last.Requests
	events := now.Acknowledged - last.Acknowledged
	resident, peak := residentMemory()
	fmt.Fprintf(out, "| %.1f | %v | %.0f | %d | %d | %d | %d | %.1f | %d (%d) |\n", at.Seconds(), latency, float64(events)/since.Seconds(),
		now.Permits, requests, events/max(requests, 1), now.InFlight, float64(now.Bytes)/(1<<20), resident>>20, peak>>20)
	return now
}
