// Package formats has functions for the formats of all vendors: it sorts the events of files by time, and links
// the ids of a person. The formats themselves are in the folders below, one package for each; [generic] reads
// any table by a map of its columns.
//
//	source := formats.Sorted(history.Files(amplitude.Format(nil), "export.zip"), "work")
//	receipt, err := client.Import(ctx, history.Concat(formats.LinksWith(source, nil), formats.WithoutMerges(source)), options)
//
// # Sessions
//
// PostHog's web analytics (visitors, views, sessions, bounce rate, entry pages, channels, countries) shows only events
// with a $session_id, and so does each number per session. Insights, funnels and retention do not need it. The formats
// set it where the vendor's own session tells when it began. For other vendors, with or without sessions, [Sessions]
// derives sessions from the silence between events. [SessionID] makes the id of any other session.
//
// PostHog wants a UUID of version 7. Its time must not be after the first event of the session, and less than 24 hours
// before the last one. So a vendor's session of more than 24 hours is cut after each 24 hours. An event before the
// start of its own session has no session: an id with an earlier time would tear it from the events that follow, which
// are converted without it. This happens where the clock of a device is wrong and the vendor has corrected the event's
// time but not the session's. Events that the vendor makes on its server or in bulk have no session either.
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

// The versions of the way in which the formats of vendors make events of records. The version is in the options of
// these formats, so it is in the checkpoint of an import. An import continues with the version that it began with,
// which the field Mapping of a format's options names; otherwise half of its history would have other properties.
// JSON lines and posthogexport have no version, since they keep events as they are; [generic] has one since 4.
//
// Version 3 read NULL, \N and the like in tables as texts. Versions 1 and 2 are of earlier releases.
//
// [generic]: https://pkg.go.dev/github.com/hogapi/hogapi/formats/generic
const (
	MappingVersion = 4 // the newest
	OldestMapping  = 3 // that this release has too
)
