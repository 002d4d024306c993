package mixpanel

import (
	"strings"

	"github.com/hogapi/hogapi/formats/internal/record"
)

const devicePrefix = "$device:"

type ids struct{ distinct, anonymous string }

// ids finds the event's person as PostHog's own importer does, so that both give it the same one.
func (s *converter) ids() (found ids, err error) {
	var given, user, device, anon, identified string
	for _, id := range []struct {
		name string
		raw  []byte
		text *string
	}{
		{"distinct_id", s.distinctID, &given}, {"$user_id", s.userID, &user}, {"$device_id", s.deviceID, &device},
	} {
		if *id.text, err = record.ShortID(id.name, id.raw); err != nil {
			return ids{}, err
		}
	}
	if len(s.beforeIdentity) > 0 && s.beforeIdentity[0] == '"' && isAnonymous(given) {
		if before, err := record.ID("", s.beforeIdentity); err == nil && before != "" {
			given = before
		}
	}
	switch {
	case given != "":
		found.distinct = given
	case user != "":
		found.distinct = user
	default:
		found.distinct = device
	}
	if s.anonID != nil && s.identifiedID != nil { // an event $identify
		anon, _ = record.ID("", s.anonID)
		identified, _ = record.ID("", s.identifiedID)
	}
	switch {
	case user != "" && device != "" && found.distinct != device && found.distinct != devicePrefix+device:
		if found.anonymous = device; s.options.DevicePrefix {
			found.anonymous = devicePrefix + device
		}
	case found.distinct == identified && anon != identified:
		found.anonymous = anon
	}
	return found, nil
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
