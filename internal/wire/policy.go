package wire

import (
	"errors"
	"maps"
	"strings"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// rewrite applies the policies for person properties and heatmaps to the properties.
func (e *Encoder) rewrite(f *Fields, members []byte) ([]byte, error) {
	policy, s := e.gate.rules.PersonPolicy, e.seen
	if len(s.set)+len(s.setOnce) == 0 || policy == event.PersonPolicyStrip && isIdentity(f.Name) {
		policy = event.PersonPolicyKeep
	}
	strips := e.gate.rules.StripHeatmaps && s.hasHeatmap()
	if policy == event.PersonPolicyKeep && !strips {
		return members, nil
	}
	renames := strips && s.facts&hasPreviousPath != 0 && s.facts&hasCurrentURL != 0
	taken := false
	out := e.rewritten[:0]
	object := append(append([]byte{'{'}, members...), '}')
	err := jsonb.Object(object, func(key, value []byte) {
		switch text := string(key); {
		case policy != event.PersonPolicyKeep && (text == "$set" || text == "$set_once"):
		case strips && text == "$heatmap_data":
		case renames && text == previousPath:
			out = appendRawMember(out, []byte(renamedPath), value)
		default:
			taken = taken || text == renamedPath
			out = appendRawMember(out, key, value)
		}
	})
	if err == nil && renames && taken {
		err = errors.New(renamedPath + " and " + previousPath +
			" are both there: rename one, since Gate.StripHeatmaps makes the first of the second")
	}
	if err == nil && policy == event.PersonPolicySetOnce {
		var once []byte
		if once, err = e.mergedOnce(f); err == nil {
			out = appendRawMember(out, []byte("$set_once"), once)
		}
	}
	e.rewritten = out
	return out, err
}

// mergedOnce returns the event's $set and $set_once as one object, if at least one of them is in
// the properties. For keys in both, the value of $set wins, since it is newer.
func (e *Encoder) mergedOnce(f *Fields) ([]byte, error) {
	var objects [][]byte
	for _, of := range []struct {
		raw   []byte
		field map[string]any
	}{{e.seen.set, f.Set}, {e.seen.setOnce, f.SetOnce}} {
		if len(of.raw) == 0 {
			object, err := e.json.AppendMembers([]byte{'{'}, of.field)
			if err != nil {
				return nil, err
			}
			of.raw = append(object, '}')
		}
		objects = append(objects, of.raw)
	}
	seen := map[string]bool{}
	out := []byte{'{'}
	for _, object := range objects {
		err := jsonb.Object(object, func(key, value []byte) {
			if !seen[string(key)] {
				seen[string(key)] = true
				out = appendRawMember(out, key, value)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

// appendRawMember adds a member to a list of members or to an object that is not closed yet.
func appendRawMember(out, key, value []byte) []byte {
	if len(out) > 0 && out[len(out)-1] != '{' {
		out = append(out, ',')
	}
	out, _ = jsonb.AppendString(out, string(key)) // cannot fail: it was just read
	return append(append(out, ':'), value...)
}

// appendPersonProperties adds Event.Set and Event.SetOnce under the person policy.
func (e *Encoder) appendPersonProperties(b []byte, f *Fields) ([]byte, *event.Error) {
	set, once := f.Set, f.SetOnce
	if e.gate.rules.PersonPolicy == event.PersonPolicyStrip && !isIdentity(f.Name) {
		return b, nil
	}
	if set != nil && len(e.seen.set) > 0 || once != nil && len(e.seen.setOnce) > 0 {
		return nil, badReserved("$set", "$set and $set_once each either in the event's fields or in its properties")
	}
	if e.gate.rules.PersonPolicy == event.PersonPolicySetOnce {
		if len(e.seen.set)+len(e.seen.setOnce) > 0 {
			return b, nil // merged into the properties: see rewrite
		}
		if set, once = nil, f.Set; f.SetOnce != nil {
			once = maps.Clone(f.SetOnce)
			maps.Copy(once, f.Set) // they win, since they are newer
		}
	}
	for _, more := range []struct {
		begin  string
		values map[string]any
	}{{`,"$set":{`, set}, {`,"$set_once":{`, once}} {
		if more.values == nil {
			continue
		}
		var err error
		if b, err = e.json.AppendMembers(append(b, more.begin...), more.values); err != nil {
			return nil, jsonRefusal(strings.Trim(more.begin, `,":{`), err)
		}
		b = append(b, '}')
	}
	return b, nil
}
