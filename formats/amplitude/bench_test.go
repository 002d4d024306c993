package amplitude_test

import (
	"testing"

	"github.com/hogapi/hogapi/formats/amplitude"
	"github.com/hogapi/hogapi/formats/internal/formattest"
)

// The bar is 1.5 times the time of json.Unmarshal into a map; measured was about half of it.
func BenchmarkConvert(b *testing.B) {
	records := formattest.Lines(b, "testdata/export.jsonl")[:2]
	formattest.Benchmark(b, amplitude.Format(nil), records)
}
