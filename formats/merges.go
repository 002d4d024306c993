package formats

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/jsonb"
	"github.com/hogapi/hogapi/internal/wire"
)

// Reasons why merges are left out.
const (
	SkipMerge            = "a merge that the links replace" // by WithoutMerges
	SkipPlaceholderMerge = "a merge with a placeholder"     // by WithoutPlaceholders
)

const (
	anonymousProperty = "$anon_distinct_id"
	keptAnonymous     = "import_anon_distinct_id"
)

// WithoutMerges returns a source of the events of another source that merge no persons: [LinksWith] has joined all ids
// that belong together before. Without it, two $identify events of two users with one anonymous id make them one
// person for good.
//
// An $anon_distinct_id of a $identify event becomes the property import_anon_distinct_id. A $create_alias event does
// nothing else than to merge: it is skipped, with the reason [SkipMerge]. The events have the same uuids as before.
//
// Do not use it for events that PostHog has exported, which make the same persons again if they are imported as they
// are.
func WithoutMerges(source history.Source) history.Source {
	return history.Map(source, func(ev hogapi.Event) ([]hogapi.Event, error) {
		switch ev.Name {
		case wire.EventAlias:
			return nil, history.Skip(SkipMerge)
		case wire.EventIdentify:
			keepAnonymous(&ev)
		}
		return []hogapi.Event{ev}, nil
	})
}

// WithoutPlaceholders returns the events of another source, without merging a person with a placeholder: see
// [IsPlaceholder] and LinksOptions.RealIDs. An $anon_distinct_id of such a $identify event becomes the property
// import_anon_distinct_id, and such a $create_alias or $merge_dangerously event is skipped, with the reason
// [SkipPlaceholderMerge]. The events have the same uuids as before.
func WithoutPlaceholders(source history.Source, realIDs ...string) history.Source {
	isPlaceholder := func(id string) bool { return wire.IsPlaceholder(id) && !slices.Contains(realIDs, id) }
	return history.Map(source, func(ev hogapi.Event) ([]hogapi.Event, error) {
		switch ev.Name {
		case wire.EventAlias, "$merge_dangerously":
			if isPlaceholder(ev.DistinctID) || isPlaceholder(textOf(&ev, "alias")) {
				return nil, history.Skip(SkipPlaceholderMerge)
			}
		case wire.EventIdentify:
			if isPlaceholder(ev.DistinctID) || isPlaceholder(textOf(&ev, anonymousProperty)) {
				keepAnonymous(&ev)
			}
		}
		return []hogapi.Event{ev}, nil
	})
}

// keepAnonymous renames the property on which PostHog acts.
func keepAnonymous(ev *hogapi.Event) {
	if value, has := ev.Properties[anonymousProperty]; has {
		ev.Properties = maps.Clone(ev.Properties)
		delete(ev.Properties, anonymousProperty)
		ev.Properties[keptAnonymous] = value
	}
	if ev.RawProperties == nil {
		return
	}
	renamed := []byte{'{'}
	has := false
	err := jsonb.Object(ev.RawProperties, func(key, value []byte) {
		if len(renamed) > 1 {
			renamed = append(renamed, ',')
		}
		if string(key) == anonymousProperty {
			has, key = true, []byte(keptAnonymous)
		}
		renamed, _ = jsonb.AppendString(renamed, string(key)) // valid: it was read
		renamed = append(append(renamed, ':'), value...)
	})
	if err == nil && has { // else the gate refuses them
		ev.RawProperties = json.RawMessage(append(renamed, '}'))
	}
}
