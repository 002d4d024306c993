package umami

import (
	"github.com/google/uuid"

	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/history"
)

// Reasons why events are skipped.
const (
	SkipNoID        = "no id"       // neither distinct_id nor session_id
	SkipPerformance = "performance" // a measurement of the speed of a page
)

// SessionKey is the property with the id of a visit, for formats.SessionOptions.Key.
const SessionKey = "umami_visit_id"

// Options control how events are read. Nil stands for the defaults.
type Options struct {
	// LookUpIP sends events with an address and without a country with $geoip_disable: false, so that PostHog looks
	// up where the address is today. Only own queries have a column ip. By default, an import turns this off.
	LookUpIP bool
	// Mapping is the version of the mapping, as in an import that an earlier release began: see formats.MappingVersion.
	// The default is the newest.
	Mapping int
}

// Format reads rows of Umami's table website_event, with the columns of its sessions.
func Format(options *Options) history.Format {
	o := record.Options(options)
	o.Mapping = record.Mapping(o.Mapping)
	f := record.Format("umami", o.Mapping, record.Flag("look up ip", o.LookUpIP), nil, func() *converter {
		return &converter{options: o, row: record.NewRows(table, prefix)}
	})
	f.Layout, f.CheckColumns = history.LayoutAny, checkColumns
	return f
}

// space is the namespace of ids that are no UUIDs.
var space = uuid.MustParse("1e5c7a94-0b3d-5f28-b6a1-c8d94e7f2035")
