package main

import (
	"bytes"
	stdgzip "compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
)

// BenchmarkEncode measures one event as JSON. Check uses the gate of an import: it reads, refuses and encodes as an import does, and
// sends nothing.
func BenchmarkEncode(b *testing.B) {
	ring := newRing(ringSize)
	b.Run("encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := json.Marshal(ring[i%len(ring)].properties); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("limit", func(b *testing.B) {
		var body []byte
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			body = appendEvent(body[:0], &ring[i%len(ring)], eventID(i))
		}
	})
	b.Run("check", func(b *testing.B) {
		b.ReportAllocs()
		source := hogapi.SourceFunc("ring", func(context.Context, hogapi.Position) iter.Seq2[hogapi.Event, error] {
			return func(yield func(hogapi.Event, error) bool) {
				for i := 0; b.Loop(); i++ {
					if !yield(ourEvent(&ring[i%len(ring)], i, true), nil) {
						return
					}
				}
			}
		})
		_, err := hogapi.Check(context.Background(), source, &hogapi.ImportOptions{ID: "benchmark"})
		require.NoError(b, err)
	})
}

// BenchmarkParse measures one line of a file.
func BenchmarkParse(b *testing.B) {
	path := filepath.Join(b.TempDir(), "events.jsonl")
	require.NoError(b, writeEvents(path, 50_000))
	b.Run("JSONLinesFile", func(b *testing.B) {
		b.ReportAllocs()
		for n := 0; n < b.N; {
			for _, err := range hogapi.JSONLinesFile(path).Events(context.Background(), hogapi.Position{}) {
				if err != nil {
					b.Fatal(err)
				}
				if n++; n == b.N {
					break
				}
			}
		}
	})
	b.Run("JSONLinesFile-check", func(b *testing.B) {
		b.ReportAllocs()
		for n := 0; n < b.N; {
			result, err := hogapi.Check(context.Background(), hogapi.JSONLinesFile(path), &hogapi.ImportOptions{ID: "benchmark"})
			require.NoError(b, err)
			n += int(result.Read)
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		ring := newRing(ringSize)
		var line []byte
		b.ReportAllocs()
		for i := range b.N {
			line = appendEvent(line[:0], &ring[i%len(ring)], eventID(i))
			var ev hogapi.Event
			fields := struct {
				Event, UUID string
				DistinctID  string          `json:"distinct_id"`
				Properties  json.RawMessage `json:"properties"`
			}{}
			if err := json.Unmarshal(line, &fields); err != nil {
				b.Fatal(err)
			}
			ev.RawProperties = fields.Properties
		}
	})
}

// BenchmarkGzip compresses bodies of 1,000 events.
func BenchmarkGzip(b *testing.B) {
	ring := newRing(ringSize)
	var body []byte
	for i := range batchSize {
		body = append(appendEvent(body, &ring[i], eventID(i)), ',')
	}
	type writer interface {
		io.WriteCloser
		Reset(w io.Writer)
	}
	bench := func(name string, w writer, err error) {
		require.NoError(b, err)
		b.Run(name, func(b *testing.B) {
			var out bytes.Buffer
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				out.Reset()
				w.Reset(&out)
				_, _ = w.Write(body)
				_ = w.Close()
			}
			b.ReportMetric(float64(out.Len())/batchSize, "wireB/event")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batchSize, "ns/event")
		})
	}
	for _, level := range []int{1, 2, 3, 5} {
		w, err := gzip.NewWriterLevel(io.Discard, level)
		bench(fmt.Sprintf("klauspost-%d", level), w, err)
	}
	for _, level := range []int{1, 6} {
		w, err := stdgzip.NewWriterLevel(io.Discard, level)
		bench(fmt.Sprintf("standard-%d", level), w, err)
	}
}
