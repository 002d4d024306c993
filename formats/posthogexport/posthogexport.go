package posthogexport

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/props"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// Options say how rows become events. Nil means the defaults.
type Options struct {
	// PersonProperties says what becomes of $set. By default it stays $set: in a project without events of its own
	// persons end as they are, if the events are imported oldest first (see formats.Sorted). For a project that is
	// in use take PersonSetOnce: old values then do not replace newer ones.
	PersonProperties formats.PersonProperties
}

// Columns are those of which an event is made: the columns that a Parquet file has to be read for.
func Columns() []string {
	return []string{"uuid", "event", "distinct_id", "properties", "elements_chain", "timestamp", "ip"}
}

// Format reads rows of the events model of a batch export, as JSON objects.
func Format(options *Options) hogapi.Format {
	var o Options
	if options != nil {
		o = *options
	}
	o.PersonProperties = cmp.Or(o.PersonProperties, formats.PersonSet)
	pool := sync.Pool{New: func() any { return newConverter(o) }}
	text := ""
	if o.PersonProperties != formats.PersonSetOnce {
		text = "person=" + string(o.PersonProperties)
	}
	return hogapi.Format{
		Name:    "posthogexport",
		Options: text,
		Layout:  hogapi.LayoutJSON,
		Convert: func(record []byte) ([]hogapi.Event, error) {
			if err := o.PersonProperties.Check(); err != nil {
				return nil, fmt.Errorf("posthogexport: options: %w", err)
			}
			c, _ := pool.Get().(*converter)
			defer pool.Put(c)
			return c.convert(record)
		},
		ID: rowUUID,
	}
}

// rowUUID is the uuid of a row.
func rowUUID(record []byte) (id uuid.UUID) {
	_ = jsonb.Object(record, func(key, value []byte) {
		if string(key) == "uuid" {
			id, _ = uuidOf(value)
		}
	})
	return id
}

// uuidOf is the uuid in a raw value, which may say nothing.
func uuidOf(raw []byte) (uuid.UUID, error) {
	if props.IsNone(raw) {
		return uuid.Nil, nil
	}
	id, err := uuid.Parse(props.Text(raw))
	if err != nil {
		return uuid.Nil, props.Want("uuid", "a UUID", raw)
	}
	return id, nil
}
