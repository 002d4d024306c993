package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// spread is the median and the range of one figure over the rounds.
type spread struct{ median, least, most float64 }

func spreadOf(n int, at func(i int) float64) spread {
	all := make([]float64, n)
	for i := range all {
		all[i] = at(i)
	}
	slices.Sort(all)
	return spread{(all[(n-1)/2] + all[n/2]) / 2, all[0], all[n-1]}
}

func (s spread) format(verb string) string {
	return fmt.Sprintf(verb+" ("+verb+"–"+verb+")", s.median, s.least, s.most)
}

func (r result) rate(events int) float64 { return float64(events) / r.Wall.Seconds() }

func micros(d time.Duration, events int) float64 {
	return float64(d.Nanoseconds()) / 1e3 / float64(events)
}

// report prints the table. Ratios are computed per round, so a load that slows the whole machine for a while does not count.
func report(out io.Writer, chosen []client, all map[string][]result, events int) {
	head := []string{
		"client", "events/s", "speed ÷ posthog", "speed ÷ posthog tuned", "CPU µs/event", "CPU ÷ limit", "allocs/event", "B/event", "peak MiB (before)",
		"wire B/event", "requests", "connections", "at one time", "sink CPU µs/event", "sink got",
	}
	fmt.Fprintf(out, "\n| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat(" --- |", len(head)))
	for _, c := range chosen {
		rows := all[c.name]
		n := len(rows)
		median := func(f func(r result) float64) float64 {
			return spreadOf(n, func(i int) float64 { return f(rows[i]) }).median
		}
		fmt.Fprintf(out, "| %s |\n", strings.Join([]string{
			c.name,
			spreadOf(n, func(i int) float64 { return rows[i].rate(events) }).format("%.0f"),
			versus(rows, all["posthog"], faster(events)),
			versus(rows, all[c.peer()], faster(events)),
			spreadOf(n, func(i int) float64 { return micros(rows[i].measurement.CPU, events) }).format("%.2f"),
			versus(rows, all[c.bound()], dearer),
			fmt.Sprintf("%.2f", median(func(r result) float64 { return float64(r.Allocs) / float64(events) })),
			fmt.Sprintf("%.0f", median(func(r result) float64 { return float64(r.Bytes) / float64(events) })),
			fmt.Sprintf("%.0f (%.0f)", median(func(r result) float64 { return float64(r.Peak) / (1 << 20) }), median(func(r result) float64 { return float64(r.Base) / (1 << 20) })),
			fmt.Sprintf("%.0f", median(func(r result) float64 { return float64(r.Wire) / float64(events) })),
			fmt.Sprintf("%.0f", median(func(r result) float64 { return float64(r.Requests) })),
			fmt.Sprintf("%.0f", median(func(r result) float64 { return float64(r.Conns) })),
			fmt.Sprintf("%.0f", median(func(r result) float64 { return float64(r.Most) })),
			fmt.Sprintf("%.2f", median(func(r result) float64 { return micros(r.tally.CPU, events) })),
			"all",
		}, " | "))
	}
	fmt.Fprintln(out)
}

func faster(events int) func(a, b result) float64 {
	return func(a, b result) float64 { return a.rate(events) / b.rate(events) }
}

func dearer(a, b result) float64 { return float64(a.measurement.CPU) / float64(b.measurement.CPU) }

func versus(a, b []result, ratio func(a, b result) float64) string {
	if len(a) != len(b) {
		return "–"
	}
	return spreadOf(len(a), func(i int) float64 { return ratio(a[i], b[i]) }).format("%.2f")
}

// target is the least that the medians of a client must reach on two cores. Zero: no target.
type target struct {
	latency time.Duration // of the sink
	client  string
	peer    string
	faster  float64 // than the peer, at least
	bound   string
	dearer  float64 // in CPU than the bound, at most
	allocs  float64 // an event, at most
}

var targets = []target{
	{client: "capture", peer: "posthog-tuned", faster: 5, bound: "limit", dearer: 1.8, allocs: 1},
	{client: "capture-derived", peer: "posthog-tuned", faster: 5, bound: "limit", dearer: 1.8, allocs: 1},
	{client: "capture-gzip", peer: "posthog-tuned-gzip", faster: 6, bound: "limit-gzip", dearer: 1.6, allocs: 1},
	{client: "capture-derived-gzip", peer: "posthog-tuned-gzip", faster: 6, bound: "limit-gzip", dearer: 1.6, allocs: 1},
	{client: importClient, peer: "posthog-tuned-gzip", faster: 5, bound: "limit-gzip", dearer: 2.2, allocs: 2},
	{latency: slowSink, client: "capture", peer: "posthog", faster: 1.5},
	{latency: slowSink, client: "capture-gzip", peer: "posthog", faster: 1.5},
	{client: "capture-v1", peer: "posthog-v1", faster: 3},
	{client: "capture-v1-gzip", peer: "posthog-v1-gzip", faster: 3},
	{latency: slowSink, client: importClient, peer: "posthog", faster: 1.5},
}

const (
	slowSink = 50 * time.Millisecond
	enough   = 400_000 // events a run: with fewer the start counts for too much
)

// judge compares the results with the targets of the clients that ran. A missed target is an error, unless the runs were short.
func (p plan) judge(out io.Writer, all map[string][]result) error {
	var missed []string
	for _, t := range targets {
		own, peer, bound := all[t.client], all[t.peer], all[t.bound]
		if t.latency != p.latency || len(own) == 0 || len(peer) != len(own) || t.bound != "" && len(bound) != len(own) {
			continue
		}
		reached, text := t.check(own, peer, bound, p.events)
		if !reached {
			missed = append(missed, t.client)
		}
		fmt.Fprintln(out, text)
	}
	if len(missed) > 0 && p.events >= enough {
		return fmt.Errorf("targets are missed by %s", strings.Join(missed, ", "))
	}
	return nil
}

func (t target) check(own, peer, bound []result, events int) (reached bool, text string) {
	median := func(at func(i int) float64) float64 { return spreadOf(len(own), at).median }
	speed := median(func(i int) float64 { return faster(events)(own[i], peer[i]) })
	reached = speed >= t.faster
	text = fmt.Sprintf("%s: %.1f× as fast as %s (at least %g)", t.client, speed, t.peer, t.faster)
	if t.bound != "" {
		cost := median(func(i int) float64 { return dearer(own[i], bound[i]) })
		allocs := median(func(i int) float64 { return float64(own[i].Allocs) / float64(events) })
		reached = reached && cost <= t.dearer && allocs <= t.allocs
		text += fmt.Sprintf(", %.2f× the CPU of %s (at most %g), %.2f allocations an event (at most %g)", cost, t.bound, t.dearer, allocs, t.allocs)
	}
	if reached {
		return true, "reached: " + text
	}
	return false, "MISSED: " + text
}
