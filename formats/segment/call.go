package segment

import (
	"bytes"
	"fmt"
	"time"

	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// call has the members of a call, as raw JSON; nil where absent.
type call struct {
	record.Reader

	kind, messageID, anonymousID, userID, event, name, groupID, previousID []byte
	timestamp, originalTimestamp, sentAt                                   []byte
	properties, traits, context                                            []byte
}

func (c *call) bind() {
	c.Fields = record.Fields{
		"type": &c.kind, "messageId": &c.messageID, "anonymousId": &c.anonymousID, "userId": &c.userID, "event": &c.event,
		"name": &c.name, "groupId": &c.groupID, "previousId": &c.previousID, "timestamp": &c.timestamp,
		"originalTimestamp": &c.originalTimestamp, "sentAt": &c.sentAt, "properties": &c.properties, "traits": &c.traits,
		"context": &c.context,
	}.Drop("_metadata", "integrations", "projectId", "receivedAt", "version", "writeKey") // of the delivery
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

// kindOf is the kind of a call, written in any case.
func (c *call) kindOf() (string, error) {
	if record.IsText(c.kind) {
		written := c.kind[1 : len(c.kind)-1]
		for _, kind := range [...]string{kindTrack, kindPage, kindIdentify, kindScreen, kindGroup, kindAlias} {
			if string(written) == kind || bytes.EqualFold(written, []byte(kind)) {
				return kind, nil
			}
		}
	}
	return "", record.Want("type", "track, page, screen, identify, group or alias", c.kind)
}

// time is the time of a call: the corrected one, else one of the client. Zero: the call has no
// time.
func (c *call) time() (time.Time, error) {
	for _, from := range [...]struct {
		name string
		raw  []byte
	}{{"timestamp", c.timestamp}, {"originalTimestamp", c.originalTimestamp}, {"sentAt", c.sentAt}} {
		if record.IsNone(from.raw) {
			continue
		}
		if !record.IsText(from.raw) {
			return time.Time{}, record.Want(from.name, "a time as a text", from.raw)
		}
		at, err := jsonb.ParseTime(from.raw[1 : len(from.raw)-1])
		if err != nil {
			return time.Time{}, fmt.Errorf("%s: %w", from.name, err)
		}
		return at, nil
	}
	return time.Time{}, nil
}
