// Package formats has functions for the formats of all vendors: it sorts the events of files by time, and links
// the ids of a person. The formats themselves are in the folders below, one package for each; [generic] reads
// any table by a map of its columns.
//
//	source := formats.Sorted(hogapi.FileSource(amplitude.Format(nil), "export.zip"), "work")
//	receipt, err := client.Import(ctx, hogapi.Concat(formats.Links(source), source), options)
//
// [generic]: https://pkg.go.dev/github.com/hogapi/hogapi/formats/generic
package formats

import "errors"

// PersonProperties says how a vendor's format sends the properties of a record's person. The
// import's GateOptions.PersonPolicy acts after it. Empty is the default of the format: PersonSet
// for PostHog's own events, which stay as they are, and PersonSetOnce for all others.
type PersonProperties string

// Person properties.
const (
	PersonSetOnce PersonProperties = "set_once" // as $set_once: existing properties of a person stay
	PersonSet     PersonProperties = "set"      // as $set, so that the newest arrival wins; first touch as $set_once
	PersonNone    PersonProperties = "none"     // not at all
)

// Check returns an error for other values.
func (p PersonProperties) Check() error {
	if p == "" || p == PersonSetOnce || p == PersonSet || p == PersonNone {
		return nil
	}
	return errors.New("PersonProperties: want PersonSetOnce, PersonSet or PersonNone")
}
