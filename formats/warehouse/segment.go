package warehouse

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/formats/segment"
	"github.com/hogapi/hogapi/history"
)

// Segment reads rows of the tables that Segment and RudderStack keep in a warehouse: tracks and the tables of single
// events, pages, screens, identifies, groups and aliases. The calls are then converted as [segment.Format] does.
func Segment(calls *segment.Options, options *Options) history.Format {
	o := record.Options(options)
	t := segmentTable{table: o.Table, numbers: set(o.Numbers)}
	vendor := segment.Format(calls)
	f := format("segment-warehouse", vendor, o, t)
	if o.Table != "" && kindOfTable[o.Table] == "" {
		err := fmt.Errorf("segment-warehouse: options: Options.Table %q: want tracks, pages, screens, identifies, groups or aliases",
			o.Table)
		f.Convert = func([]byte) ([]hogapi.Event, error) { return nil, err }
	}
	return f
}

// segmentColumns maps the columns of a table of Segment or RudderStack.
var segmentColumns = record.Table{
	{From: "id", To: "messageId", Kind: record.Code},
	{From: "anonymous_id", To: "anonymousId", Kind: record.Code},
	{From: "user_id", To: "userId", Kind: record.Code},
	{From: "timestamp", To: "timestamp", Kind: record.Code, Note: "in UTC where it has no zone"},
	{From: "original_timestamp", To: "originalTimestamp", Kind: record.Code, Note: "the same"},
	{From: "sent_at", To: "sentAt", Kind: record.Code, Note: "the same"},
	{From: "event_text", To: "event", Kind: record.Code, Note: "of tracks"},
	{From: "event", To: "event", Kind: record.Code, Note: "of tracks, without event_text"},
	{From: "name", To: "name", Kind: record.Code, Note: "of pages and screens"},
	{From: "group_id", To: "groupId", Kind: record.Code, Note: "of groups"},
	{From: "previous_id", To: "previousId", Kind: record.Code, Note: "of aliases"},
	{From: "context_ip", To: "context.ip", Kind: record.Code},
	{From: "context_request_ip", To: "context.ip", Kind: record.Code, Note: "without context_ip: RudderStack"},
	{From: "context_user_agent", To: "context.userAgent", Kind: record.Code},
	{From: "context_locale", To: "context.locale", Kind: record.Code},
	{From: "context_timezone", To: "context.timezone", Kind: record.Code},
	{From: "context_session_id", To: "context.sessionId", Kind: record.Code, Note: "a number"},
	{From: "context_group_id", To: "context.groupId", Kind: record.Code},
	{From: "context_page_…", To: "context.page.…", Kind: record.Code, Note: "url, path, title, referrer, search and others"},
	{From: "context_campaign_…", To: "context.campaign.…", Kind: record.Code, Note: "name, source, medium, term, content and others"},
	{From: "context_library_…", To: "context.library.…", Kind: record.Code, Note: "name, version"},
	{From: "context_os_…", To: "context.os.…", Kind: record.Code, Note: "name, version"},
	{From: "context_device_…", To: "context.device.…", Kind: record.Code, Note: "id, manufacturer, model, name, type"},
	{From: "context_app_…", To: "context.app.…", Kind: record.Code, Note: "name, version, build, namespace"},
	{From: "context_screen_inner_width", To: "context.screen.innerWidth", Kind: record.Code, Note: "a number"},
	{From: "context_screen_inner_height", To: "context.screen.innerHeight", Kind: record.Code, Note: "a number"},
	{From: "context_screen_…", To: "context.screen.…", Kind: record.Code, Note: "width, height, density: numbers"},
	{From: "context_network_…", To: "context.network.…", Kind: record.Code, Note: "carrier; wifi, cellular, bluetooth: true or false"},
	{From: "context_traits_…", To: "context.traits.…", Kind: record.Code},
	{From: "context_…", To: "context.…", Kind: record.Code, Note: "the others, with the names of the columns"},
	{From: "received_at", Kind: record.Dropped},
	{From: "uuid", Kind: record.Dropped},
	{From: "uuid_ts", Kind: record.Dropped},
	{From: "loaded_at", Kind: record.Dropped},
	{From: "…", To: "properties.…", Kind: record.Code, Note: "of tracks, pages and screens"},
	{From: "…", To: "traits.…", Kind: record.Code, Note: "of identifies and groups"},
}

// segmentPlaces has the columns with a name, and segmentSections the beginnings of names, with the object for the
// rest.
var (
	segmentPlaces   = places(segmentColumns)
	segmentSections = sections(segmentColumns)
	segmentKinds    = numbersOf("context_session_id", "context_screen_width", "context_screen_height", "context_screen_density",
		"context_screen_inner_width", "context_screen_inner_height").
		with(truth, "context_network_wifi", "context_network_cellular", "context_network_bluetooth").
		with(rfc3339, "timestamp", "original_timestamp", "sent_at")
	kindOfTable = map[string]string{
		"tracks": "track", "pages": "page", "screens": "screen", "identifies": "identify", "groups": "group", "aliases": "alias",
	}
)

type segmentTable struct {
	table   string // of Options
	numbers map[string]bool
}

func (t segmentTable) needs() []need {
	const noID = "anonymous_id or user_id: the rows of a table users are no events; the table identifies has them"
	return []need{
		{"id", nil}, {noID, []string{"user_id", "anonymous_id"}},
		{"timestamp", []string{"original_timestamp", "sent_at"}},
	}
}

// rfc3339 is a time of a table as a call has it. A text that is no time stays, so that its call is rejected.
func rfc3339(raw []byte) []byte {
	at, err := record.TableTime(raw)
	if err != nil {
		return raw
	}
	return append(at.AppendFormat([]byte{'"'}, time.RFC3339Nano), '"')
}

// badTime is the error of the time that a call would have, if that cannot be read.
func badTime(row []column) error {
	for _, name := range [...]string{"timestamp", "original_timestamp", "sent_at"} {
		for _, c := range row {
			if c.name == name && c.value != nil {
				if _, err := record.TableTime(c.value); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				return nil
			}
		}
	}
	return nil
}

func (t segmentTable) nested(b *builder) (made *tree, id uuid.UUID, err error) {
	row := b.row
	kind, err := t.kind(row)
	err = cmp.Or(err, badTime(row))
	call := b.node("", nil)
	call.put("type", record.Quoted(kind))
	own := "properties"
	if kind == "identify" || kind == "group" {
		own = "traits"
	}
	var text []byte // of the event
	for _, c := range row {
		if c.value == nil {
			continue
		}
		if as := segmentKinds[c.name]; as != nil {
			c.value = as(c.value)
		}
		switch place := segmentPlaces[c.name]; {
		case c.name == "event_text":
			text = c.value
		case place.Kind == record.Dropped:
		case c.name == "name" && kind != "page" && kind != "screen", c.name == "group_id" && kind != "group",
			c.name == "previous_id" && kind != "alias", c.name == "event" && kind != "track":
			call.put(own+"."+c.name, value(c, t.numbers[c.name])) // another one of that name
		case c.name == "event" || c.name == "context_request_ip": // below
		case place.To != "":
			call.put(place.To, c.value)
		default:
			t.other(call, own, c)
		}
	}
	for _, c := range row {
		switch {
		case c.value == nil:
		case c.name == "event" && kind == "track" && text == nil:
			text = c.value
		case c.name == "context_request_ip" && !call.put("context.ip", c.value):
			call.put("context."+"request_ip", c.value)
		}
	}
	if text != nil {
		call.put("event", text)
	}
	return call, uuid.Nil, err
}

// other adds a column that the table does not know: to an object of the context, or to the call's own properties or
// traits.
func (t segmentTable) other(call *tree, own string, c column) {
	as := value(c, t.numbers[c.name] || segmentKinds[c.name] != nil)
	for _, section := range segmentSections {
		if rest, isIn := strings.CutPrefix(c.name, section.From); isIn && rest != "" {
			object := call
			for name := range strings.SplitSeq(strings.TrimSuffix(section.To, "."), ".") {
				object = object.object(name)
			}
			if object.value == nil && object.putName(rest, as) {
				return
			}
		}
	}
	call.object(own).putName(c.name, as)
}

var errKind = errors.New("the columns do not tell whether this is a row of screens or of identifies: set Options.Table")

// kind is the kind of call of a row.
func (t segmentTable) kind(row []column) (string, error) {
	if kind := kindOfTable[t.table]; kind != "" {
		return kind, nil
	}
	var isTrack, isGroup, isAlias, isPage, hasEmail, hasName bool
	for _, c := range row {
		switch c.name {
		case "event", "event_text":
			isTrack = true
		case "group_id":
			isGroup = true
		case "previous_id":
			isAlias = true
		case "url", "path":
			isPage = true
		case "email":
			hasEmail = true
		case "name":
			hasName = true
		}
	}
	switch {
	case isTrack:
		return "track", nil
	case isGroup:
		return "group", nil
	case isAlias:
		return "alias", nil
	case isPage:
		return "page", nil
	case hasEmail || !hasName:
		return "identify", nil
	}
	return "", errKind
}
