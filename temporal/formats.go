package hogtemporal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/amplitude"
	"github.com/hogapi/hogapi/formats/ga4"
	"github.com/hogapi/hogapi/formats/generic"
	"github.com/hogapi/hogapi/formats/mixpanel"
	"github.com/hogapi/hogapi/formats/posthogexport"
	"github.com/hogapi/hogapi/formats/segment"
)

const jsonLines = "jsonlines"

// vendors make a format of its options as JSON.
var vendors = map[string]func(options json.RawMessage) (hogapi.Format, error){
	"amplitude":     of(amplitude.Format),
	"ga4":           of(ga4.Format),
	"generic":       of(generic.Format),
	"mixpanel":      of(mixpanel.Format),
	"posthogexport": of(posthogexport.Format),
	"segment":       of(segment.Format),
}

// Formats are the names of the formats that a [Shard] can have.
func Formats() []string { return append([]string{jsonLines}, slices.Sorted(maps.Keys(vendors))...) }

func of[O any](format func(*O) hogapi.Format) func(json.RawMessage) (hogapi.Format, error) {
	return func(raw json.RawMessage) (hogapi.Format, error) {
		options := new(O)
		if len(raw) > 0 {
			decoder := json.NewDecoder(bytes.NewReader(raw))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(options); err != nil {
				return hogapi.Format{}, fmt.Errorf("options of this format: %w", err)
			}
		}
		return format(options), nil
	}
}

// source reads a shard that is a file of this machine.
func (s Shard) source() (hogapi.Source, error) {
	if s.Format == "" || s.Format == jsonLines {
		if len(s.Options) > 0 {
			return nil, fmt.Errorf("no options for the format %q", jsonLines)
		}
		return hogapi.JSONLinesFile(s.Path), nil
	}
	vendor, ok := vendors[s.Format]
	if !ok {
		return nil, fmt.Errorf("one of %s", strings.Join(Formats(), ", "))
	}
	format, err := vendor(s.Options)
	if err != nil {
		return nil, err
	}
	return hogapi.FileSource(format, s.Path), nil
}
