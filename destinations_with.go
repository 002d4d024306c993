package hogapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hogapi/hogapi/internal/optjson"
)

// With returns the destination of an update that changes only the keys of config: all other keys
// keep their values. Type and integration are sent again, as the service demands. A key can be set
// or, where the service allows it, be null; it cannot be removed. With can be repeated.
//
// d must have been read from the service, since servers differ. Those that know integrations merge
// a config into the stored one: they are sent the keys of config only. Older ones replace it: they
// are sent the whole config as it was read. Credentials are never read, so an update that would
// lose some is refused with an [*InputError] that names them: config must then set them too, or set
// null if the export has none. On all servers this includes credentials inside a key that config
// changes, such as CopyInputs. A Destination that is written without With is sent as it is.
func (d Destination) With(config DestinationConfig) Destination {
	changed := Destination{Type: d.Type, Config: config, over: func() Destination { return d }}
	if id, ok := d.Integration.Get(); ok {
		changed.Integration = Set(id)
	}
	return changed
}

// unreturned are the keys that servers which replace a config store and never return.
var unreturned = map[DestinationType][]string{
	DestinationS3:        {"aws_access_key_id", "aws_secret_access_key"},
	DestinationSnowflake: {"password", "private_key", "private_key_passphrase", "user"},
	DestinationPostgres:  {"password", "user"},
	DestinationRedshift:  {"password", "user"},
	DestinationBigQuery:  {"client_email", "private_key", "private_key_id", "token_uri"},
	DestinationHTTP:      {"token"},
	DestinationNoOp:      nil,
}

// isReplaced reports whether the server that this destination was read from may replace a config
// instead of merging it: it does not know integrations, which are in every answer of those that do.
// The other types came with integrations.
func (d Destination) isReplaced() bool {
	_, isOld := unreturned[d.Type]
	return d.Integration.IsZero() && (isOld || !d.Type.IsKnown())
}

type configKeys = optjson.Keys

// completed is the config to send for the keys that d changes, and the whole config that they make.
func (d Destination) completed(op Op, changed configKeys) (config []byte, whole configKeys, err error) {
	read := d.over()
	for ; read.over != nil; read = read.over() {
		_, below, err := read.encode(op)
		if err != nil {
			return nil, nil, err
		}
		changed = optjson.Overlay(below, changed)
	}
	var stored configKeys
	if !isNil(read.Config) {
		if _, stored, err = read.encode(op); err != nil {
			return nil, nil, err
		}
	}
	whole = optjson.Overlay(stored, changed)
	sent := whole
	if read.isReplaced() {
		err = read.checkReplacement(op, stored, whole)
	} else {
		for name := range changed {
			changed[name] = whole[name]
		}
		sent = changed
		err = refuseLoss(op, lostInside(sent), "some servers replace the whole key")
	}
	if err != nil {
		return nil, nil, err
	}
	config, err = json.Marshal(sent)
	return config, whole, err
}

// checkReplacement refuses to replace the stored config, of which only a part is read, by a whole one
// that would lose some of it.
func (d Destination) checkReplacement(op Op, stored, whole configKeys) error {
	names, isKnown := unreturned[d.Type]
	if stored == nil || !isKnown {
		return &InputError{
			Op: op, Field: "Destination",
			Want: "With on a destination that was read from the service and is of a known type: the server may replace " +
				"the whole config, and what it stores is not known; write the whole Destination without With",
		}
	}
	lost := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return whole[name] != nil })
	return refuseLoss(op, append(lost, lostInside(whole)...), "the server may replace the whole config")
}

// refuseLoss refuses to send a config without keys that the server stores.
func refuseLoss(op Op, lost []string, why string) error {
	if len(lost) == 0 {
		return nil
	}
	return &InputError{
		Op: op, Field: "Destination.Config",
		Want: fmt.Sprintf("%s to be set too, or to be null if the export has none: %s and never returns them, so this "+
			"change would lose them (a Destination written without With is sent as it is)", strings.Join(lost, ", "), why),
	}
}

// lostInside are the credentials inside copy_inputs that would be lost with it.
func lostInside(keys configKeys) (lost []string) {
	var inputs configKeys
	if json.Unmarshal(keys["copy_inputs"], &inputs) != nil || inputs == nil {
		return nil
	}
	for _, name := range []string{"authorization", "bucket_credentials"} {
		var pair configKeys
		value, isSent := inputs[name]
		if json.Unmarshal(value, &pair) == nil && pair != nil {
			_, isSent = pair["aws_secret_access_key"]
		}
		if !isSent {
			lost = append(lost, "copy_inputs."+name)
		}
	}
	return lost
}
