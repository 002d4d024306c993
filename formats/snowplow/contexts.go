package snowplow

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hogapi/hogapi/formats/internal/record"
)

// selfDescribing is JSON with the schema of it.
type selfDescribing struct {
	name string // of the schema
	data []byte
}

// describedJSON is a self-describing value as it is written.
type describedJSON struct {
	Schema string          `json:"schema"`
	Data   json.RawMessage `json:"data"`
}

var errDescribed = errors.New(`want self-describing JSON, with the members "schema" and "data"`)

// nameOf is the name in a schema such as iglu:com.snowplowanalytics.snowplow/link_click/jsonschema/1-0-1.
func nameOf(schema string) string {
	parts := strings.Split(strings.TrimPrefix(schema, "iglu:"), "/")
	if len(parts) < 2 {
		return ""
	}
	return parts[1]
}

func readDescribed(raw []byte) (d describedJSON, err error) {
	if json.Unmarshal(raw, &d) != nil || d.Schema == "" || len(d.Data) == 0 {
		return d, errDescribed
	}
	return d, nil
}

func readUnstruct(raw []byte) (selfDescribing, error) {
	outer, err := readDescribed(record.Inner(raw))
	if err != nil {
		return selfDescribing{}, fmt.Errorf("unstruct_event: %w", err)
	}
	inner, err := readDescribed(outer.Data)
	if err != nil {
		return selfDescribing{}, fmt.Errorf("unstruct_event: data: %w", err)
	}
	return selfDescribing{nameOf(inner.Schema), inner.Data}, nil
}

// contexts are what trackers and enrichments say of an event.
type contexts struct {
	all []selfDescribing
}

// read reads columns with lists of contexts.
func (c *contexts) read(columns ...[]byte) error {
	c.all = nil
	for _, raw := range columns {
		if record.IsNone(raw) {
			continue
		}
		outer, err := readDescribed(record.Inner(raw))
		var list []json.RawMessage
		if err != nil || json.Unmarshal(outer.Data, &list) != nil {
			return fmt.Errorf("contexts: %w", errDescribed)
		}
		for _, one := range list {
			d, err := readDescribed(one)
			if err != nil {
				return fmt.Errorf("contexts: data: %w", err)
			}
			c.all = append(c.all, selfDescribing{nameOf(d.Schema), d.Data})
		}
	}
	return nil
}

// of returns the members of the first context of a name.
func (c *contexts) of(name string) (members map[string]json.RawMessage, isThere bool) {
	for _, one := range c.all {
		if one.name == name {
			return members, json.Unmarshal(one.data, &members) == nil && members != nil
		}
	}
	return nil, false
}

// addTo adds all contexts as one property: the data of each by the name of its schema, or a list where there are
// several.
func (c *contexts) addTo(out *record.Object) {
	if len(c.all) == 0 {
		return
	}
	var found record.Object
	found.Begin()
	for i, one := range c.all {
		if found.Get(one.name) != nil {
			continue
		}
		list := []byte{'['}
		n := 0
		for _, other := range c.all[i:] {
			if other.name == one.name {
				if n++; n > 1 {
					list = append(list, ',')
				}
				list = append(list, other.data...)
			}
		}
		if n == 1 {
			found.Add(one.name, one.data)
		} else {
			found.Add(one.name, append(list, ']'))
		}
	}
	out.Keep("", "snowplow_contexts", found.JSON())
}
