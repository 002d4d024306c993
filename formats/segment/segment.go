package segment

import (
	"cmp"
	"fmt"
	"strconv"
	"sync"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/props"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// Reasons why calls are skipped.
const (
	SkipNoID   = "no id"      // neither userId nor anonymousId
	SkipNoTime = "no time"    // neither timestamp nor originalTimestamp nor sentAt
	SkipGroup  = "group call" // with Options.NoGroups
)

// Options say how calls become events. Nil means the defaults.
type Options struct {
	// GroupType is the type of the groups of group calls and of context.groupId, such as "company":
	// Segment knows none, and PostHog needs one. A text traits.groupType of a group call goes before it.
	// Without either, a group call is rejected, and context.groupId is kept in the property context.
	GroupType string
	// NoGroups skips group calls.
	NoGroups bool
	// PersonProperties says what becomes of the traits of identify calls.
	PersonProperties formats.PersonProperties
}

// Format reads the calls that Segment and RudderStack write to files: track, page, screen, identify,
// group and alias, one JSON object each.
func Format(options *Options) hogapi.Format {
	var o Options
	if options != nil {
		o = *options
	}
	o.PersonProperties = cmp.Or(o.PersonProperties, formats.PersonSetOnce)
	pool := sync.Pool{New: func() any { return newConverter(o) }}
	return hogapi.Format{
		Name:    "segment",
		Options: o.text(),
		Layout:  hogapi.LayoutJSON,
		Convert: func(record []byte) ([]hogapi.Event, error) {
			if err := o.PersonProperties.Check(); err != nil {
				return nil, fmt.Errorf("segment: options: %w", err)
			}
			c, _ := pool.Get().(*converter)
			defer pool.Put(c)
			return c.convert(record)
		},
		ID: messageUUID,
	}
}

// text names what differs from the defaults.
func (o Options) text() (text string) {
	if o.GroupType != "" {
		text += ",group=" + strconv.QuoteToASCII(o.GroupType)
	}
	if o.NoGroups {
		text += ",groups=off"
	}
	if o.PersonProperties != formats.PersonSetOnce {
		text += ",person=" + string(o.PersonProperties)
	}
	if text == "" {
		return ""
	}
	return text[1:]
}

// space is the namespace of message ids that are no UUIDs.
var space = uuid.MustParse("8c1f6b0e-2d47-5a39-9b6e-73a1d0c5e4f2")

// messageUUID is the uuid of a call, if it has a messageId.
func messageUUID(record []byte) (id uuid.UUID) {
	_ = jsonb.Object(record, func(key, value []byte) {
		if string(key) == "messageId" {
			id = uuidOf(value)
		}
	})
	return id
}

// uuidOf is the uuid of a raw messageId.
func uuidOf(raw []byte) uuid.UUID { return props.UUID(space, props.Text(raw)) }
