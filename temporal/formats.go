package hogtemporal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi/formats/amplitude"
	"github.com/hogapi/hogapi/formats/ga4"
	"github.com/hogapi/hogapi/formats/generic"
	"github.com/hogapi/hogapi/formats/mixpanel"
	"github.com/hogapi/hogapi/formats/posthogexport"
	"github.com/hogapi/hogapi/formats/segment"
	"github.com/hogapi/hogapi/history"
)

const jsonLines = "jsonlines"

// vendors make a format from its options, which are JSON.
var vendors = map[string]func(options json.RawMessage) (history.Format, error){
	"amplitude":     of(amplitude.Format),
	"ga4":           of(ga4.Format),
	"generic":       ofGeneric,
	"mixpanel":      ofMixpanel,
	"posthogexport": of(posthogexport.Format),
	"segment":       of(segment.Format),
}

// Formats returns the names of the formats that a [Shard] can have.
func Formats() []string { return append([]string{jsonLines}, slices.Sorted(maps.Keys(vendors))...) }

func of[O any](format func(*O) history.Format) func(json.RawMessage) (history.Format, error) {
	return func(raw json.RawMessage) (history.Format, error) {
		options := new(O)
		if err := decode(raw, options); err != nil {
			return history.Format{}, err
		}
		return format(options), nil
	}
}

func decode(raw json.RawMessage, options any) error {
	if len(raw) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(options); err != nil {
		return fmt.Errorf("options of this format: %w", err)
	}
	return nil
}

func ofGeneric(raw json.RawMessage) (history.Format, error) {
	var options struct {
		generic.Options

		Zone string
	}
	err := decode(raw, &options)
	if err == nil {
		options.Options.Zone, err = zoneOf(options.Zone)
	}
	if err != nil {
		return history.Format{}, err
	}
	return generic.Format(&options.Options)
}

func ofMixpanel(raw json.RawMessage) (history.Format, error) {
	var options struct {
		mixpanel.Options

		Zone string
	}
	err := decode(raw, &options)
	if err == nil {
		options.Options.Zone, err = zoneOf(options.Zone)
	}
	return mixpanel.Format(&options.Options), err
}

func zoneOf(name string) (*time.Location, error) {
	if name == "" {
		return nil, nil //nolint:nilnil // no zone is one of the choices
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("options of this format: Zone: want a name such as US/Pacific: %w", err)
	}
	return zone, nil
}

func (s Shard) source() (history.Source, error) {
	if s.Format == "" || s.Format == jsonLines {
		if len(s.Options) > 0 {
			return nil, fmt.Errorf("no options for the format %q", jsonLines)
		}
		return history.JSONLines(s.Path), nil
	}
	vendor, ok := vendors[s.Format]
	if !ok {
		return nil, fmt.Errorf("one of %s", strings.Join(Formats(), ", "))
	}
	format, err := vendor(s.Options)
	if err != nil {
		return nil, err
	}
	return history.Files(format, s.Path), nil
}
