// Package commits holds real events for the examples to import: see its README for where they come from.
package commits

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"

	_ "embed"
	"github.com/google/uuid"
	"github.com/hogapi/hogapi"
	"os"
	"path/filepath"
	"time"
)

// Count is how many events there are.
const Count = 11_576

//go:embed commits.jsonl.gz
var packed []byte

// WriteFile writes the events to a file in a folder and returns its path.
func WriteFile(folder string) (string, error) {
	path := filepath.Join(folder, "commits.jsonl.gz")
	return path, os.WriteFile(path, packed, 0o600)
}

// line is one event as it stands in the file.
type line struct {
	Event      string          `json:"event"`
	DistinctID string          `json:"distinct_id"`
	Timestamp  time.Time       `json:"timestamp"`
	UUID       uuid.UUID       `json:"uuid"`
	Properties json.RawMessage `json:"properties"`
}

// Source gives the events to an import. Their position is their number.
func Source() hogapi.Source {
	return hogapi.SourceFunc("commits", func(_ context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(yield func(hogapi.Event, error) bool) {
			unpacked, err := gzip.NewReader(bytes.NewReader(packed))
			if err != nil {
				yield(hogapi.Event{}, err)
				return
			}
			lines := json.NewDecoder(unpacked)
			for number := int64(1); ; number++ {
				var l line
				err := lines.Decode(&l)
				if errors.Is(err, io.EOF) {
					return
				}
				if err == nil && number <= after.Offset {
					continue
				}
				ev := hogapi.Event{
					Name: l.Event, DistinctID: l.DistinctID, Timestamp: l.Timestamp, UUID: l.UUID,
					RawProperties: l.Properties, Position: hogapi.Position{Offset: number},
				}
				if !yield(ev, err) || err != nil {
					return
				}
			}
		}
	})
}
