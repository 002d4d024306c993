package generic_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/formats/generic"
)

var benchRecord = []byte(`{"event":"page viewed","distinct_id":"person-4711","timestamp":"2024-05-01T12:30:00Z","uuid":"0190a6a5-6f6c-7000-8000-000000000001",` +
	`"path":"/some/page/17","agent":"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36","plan":"team","price":"12.75","tags":["one","two"]}`)

// A conversion costs at most 1.5 times what json.Unmarshal of the record costs.
func BenchmarkConvert(b *testing.B) {
	b.Run("convert", func(b *testing.B) {
		format, err := generic.Format(&generic.Options{Map: []string{"$set_once.plan=plan", "price=price|number"}})
		require.NoError(b, err)
		for b.Loop() {
			_, err := format.Convert(benchRecord)
			require.NoError(b, err)
		}
	})
	b.Run("json.Unmarshal", func(b *testing.B) {
		for b.Loop() {
			var m map[string]any
			require.NoError(b, json.Unmarshal(benchRecord, &m))
		}
	})
}
