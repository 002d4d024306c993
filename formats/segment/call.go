package segment

import (
	"bytes"
	"fmt"
	"time"

	"github.com/hogapi/hogapi/formats/internal/props"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// call has the members of a call, as raw JSON; nil where absent.
type call struct {
	kind, messageID, anonymousID, userID, event, name, groupID, previousID []byte
	timestamp, originalTimestamp, sentAt                                   []byte
	properties, traits, context                                            []byte

	rest []member // what is kept under its own name
}

// member is a member of an object. Both parts are valid as long as the record is.
type member struct{ key, value []byte }

// visit notes a member of a call.
func (c *call) visit(key, value []byte) {
	switch string(key) {
	case "type":
		c.kind = value
	case "messageId":
		c.messageID = value
	case "anonymousId":
		c.anonymousID = value
	case "userId":
		c.userID = value
	case "event":
		c.event = value
	case "name":
		c.name = value
	case "groupId":
		c.groupID = value
	case "previousId":
		c.previousID = value
	case "timestamp":
		c.timestamp = value
	case "originalTimestamp":
		c.originalTimestamp = value
	case "sentAt":
		c.sentAt = value
	case "properties":
		c.properties = value
	case "traits":
		c.traits = value
	case "context":
		c.context = value
	case "_metadata", "integrations", "projectId", "receivedAt", "version", "writeKey": // of the delivery, not of the event
	default:
		c.rest = append(c.rest, member{key, value})
	}
}

// The kinds of calls.
const (
	kindTrack    = "track"
	kindPage     = "page"
	kindScreen   = "screen"
	kindIdentify = "identify"
	kindGroup    = "group"
	kindAlias    = "alias"
)

// kindOf is the kind of a call, in whatever case it is written.
func (c *call) kindOf() (string, error) {
	if props.IsText(c.kind) {
		written := c.kind[1 : len(c.kind)-1]
		for _, kind := range [...]string{kindTrack, kindPage, kindIdentify, kindScreen, kindGroup, kindAlias} {
			if string(written) == kind || bytes.EqualFold(written, []byte(kind)) {
				return kind, nil
			}
		}
	}
	return "", props.Want("type", "track, page, screen, identify, group or alias", c.kind)
}

// time is the time of a call: the corrected one, else one of the client. Zero: it has none.
func (c *call) time() (time.Time, error) {
	for _, from := range [...]struct {
		name string
		raw  []byte
	}{{"timestamp", c.timestamp}, {"originalTimestamp", c.originalTimestamp}, {"sentAt", c.sentAt}} {
		if props.IsNone(from.raw) {
			continue
		}
		if !props.IsText(from.raw) {
			return time.Time{}, props.Want(from.name, "a time as a text", from.raw)
		}
		at, err := jsonb.ParseTime(from.raw[1 : len(from.raw)-1])
		if err != nil {
			return time.Time{}, fmt.Errorf("%s: %w", from.name, err)
		}
		return at, nil
	}
	return time.Time{}, nil
}
