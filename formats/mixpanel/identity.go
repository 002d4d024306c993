package mixpanel

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hogapi/hogapi/formats/internal/record"
)

const devicePrefix = "$device:"

// identity are the ids of an event's person.
type identity struct {
	distinct, anonymous string
	others              []string // which belong to nobody else
	isVisitor           bool     // nobody has logged in
}

// identify finds the event's person as PostHog's own importer does, so that both give it the same one. Further ids of
// the record belong to the same person: the canonical id, which Mixpanel exports as distinct_id, the user, and the
// merged ids. So does the device, unless somebody else used it too.
func (s *converter) identify(name string) (found identity, err error) {
	var given, user, device, before, anon, identified string
	var merged []string
	if given, err = record.ShortID("distinct_id", s.get("distinct_id")); err != nil {
		return found, err
	}
	if user, err = record.ShortID("$user_id", s.get("$user_id")); err != nil {
		return found, err
	}
	if device, err = record.ShortID("$device_id", s.get("$device_id")); err != nil {
		return found, err
	}
	if s.get("$anon_id") != nil || s.get("$identified_id") != nil {
		anon, _ = record.ID("", s.get("$anon_id"))
		identified, _ = record.ID("", s.get("$identified_id"))
		if name != "$identify" && (identified == "" || identified != given) {
			anon, identified = "", ""
		}
	}
	if name == "$merge" {
		merged = idsOf(s.get("$distinct_ids"))
	}
	if raw := s.get("$distinct_id_before_identity"); record.IsText(raw) && isAnonymous(given) {
		if id, _ := record.ID("", raw); id != "" {
			given, before = id, given
		}
	}
	for _, id := range append([]string{given, user, identified, before}, merged...) {
		found.add(id)
	}
	switch {
	case anon != "":
		found.addAnonymous(anon)
	case device != "" && user != "" && found.distinct != device && found.distinct != devicePrefix+device:
		if s.options.DevicePrefix {
			device = devicePrefix + device
		}
		found.addAnonymous(device)
	case found.distinct == "":
		found.distinct = device
	}
	if found.distinct == "" && s.options.NoID != "" {
		return identity{distinct: s.options.NoID, isVisitor: true}, nil
	}
	found.isVisitor = user == "" && (found.distinct == device || strings.HasPrefix(found.distinct, devicePrefix))
	return found, nil
}

// add adds an id that belongs to nobody else.
func (i *identity) add(id string) {
	switch {
	case id == "" || id == i.distinct:
	case i.distinct == "":
		i.distinct = id
	case !slices.Contains(i.others, id):
		i.others = append(i.others, id)
	}
}

// addAnonymous adds an id that others may have used too.
func (i *identity) addAnonymous(id string) {
	switch {
	case id == "" || id == i.distinct || slices.Contains(i.others, id):
	case i.distinct == "":
		i.distinct = id
	default:
		i.anonymous = id
	}
}

// idsOf are the ids in an array.
func idsOf(raw []byte) (ids []string) {
	var elements []json.RawMessage
	if json.Unmarshal(raw, &elements) != nil {
		return nil
	}
	for _, element := range elements {
		if id, err := record.ID("", element); err == nil && id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// isAnonymous reports whether a distinct_id is absent or is that of a device: with a prefix, or of
// capitals, digits and hyphens with at least one letter.
func isAnonymous(id string) bool {
	if id == "" || strings.HasPrefix(id, devicePrefix) {
		return true
	}
	hasLetter := false
	for i := range len(id) {
		switch c := id[i]; {
		case c >= 'A' && c <= 'Z':
			hasLetter = true
		case c != '-' && (c < '0' || c > '9'):
			return false
		}
	}
	return hasLetter
}
