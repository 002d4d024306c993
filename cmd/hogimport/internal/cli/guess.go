package cli

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/hogapi/hogapi"
)

// formatByName is the format that the name of a file stands for, packed or not, or empty.
func formatByName(path string) string {
	for _, packed := range []string{".gz", ".zst"} {
		path = strings.TrimSuffix(path, packed)
	}
	for end, format := range map[string]string{".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv"} {
		if strings.HasSuffix(path, end) {
			return format
		}
	}
	return ""
}

// guess is the format of the first record of a file, for advice; empty: not known.
func guess(ctx context.Context, path string) string {
	var record []byte
	var columns []string // of a table
	probe := hogapi.Format{
		Name: "probe",
		Convert: func(raw []byte) ([]hogapi.Event, error) {
			if record == nil {
				record = slices.Clone(raw)
			}
			return nil, errors.New("a probe")
		},
		CheckColumns: func(names []string) error {
			columns = names
			return errors.New("a probe")
		},
	}
	first := func(layout hogapi.Layout) {
		probe.Layout = layout
		hogapi.FileSource(probe, path).Events(ctx, hogapi.Position{})(func(hogapi.Event, error) bool { return false })
	}
	first(hogapi.LayoutJSON)
	if record == nil {
		first(hogapi.LayoutCSV)
	}
	switch {
	case len(columns) > 1:
		return "csv"
	case len(columns) == 1 && strings.Contains(columns[0], "\t"):
		return "tsv"
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(record, &members) != nil {
		return ""
	}
	has := func(in map[string]json.RawMessage, names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return in[name] == nil })
	}
	var properties map[string]json.RawMessage
	_ = json.Unmarshal(members["properties"], &properties)
	switch {
	case has(members, "event_type") && (has(members, "device_id") || has(members, "user_id")):
		return "amplitude"
	case has(members, "event_name", "event_timestamp"):
		return "ga4"
	case has(members, "messageId") && (has(members, "type") || has(members, "event")):
		return "segment"
	case has(members, "event", "properties") && has(properties, "distinct_id") && !has(members, "timestamp"):
		return "mixpanel"
	case has(members, "uuid", "event", "distinct_id", "timestamp", "created_at"):
		return "posthog"
	case has(members, "event", "timestamp") && (has(members, "distinct_id") || has(properties, "distinct_id")):
		return "jsonl"
	}
	return ""
}

// otherFormat is the format that the files look like, where it is not the one that was given.
func (in *input) otherFormat(ctx context.Context) string {
	paths, err := in.paths()
	if err != nil || len(paths) == 0 {
		return ""
	}
	found := guess(ctx, paths[0])
	isSame := found == in.Format || in.Format == "generic" && isMapped(found) || in.Format == "rudderstack" && found == "segment"
	if isSame || isMapped(in.Format) && len(in.Map) > 0 && !isMapped(found) { // the map decides about the records
		return ""
	}
	return found
}

func (in *input) looksLike(ctx context.Context) string {
	if found := in.otherFormat(ctx); found != "" {
		return "The files look like --format " + found + ". "
	}
	return ""
}
