package cli

import (
	"fmt"
	"strings"

	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/formats"
)

// mapping returns the version of the mapping of a vendor's format, or 0 for formats that keep events as they are.
// The input must have passed check or checkFormat.
func (in *input) mapping() int {
	if strings.HasPrefix(in.format().Options, "mapping ") {
		return formats.MappingVersion
	}
	return 0
}

// hasOtherMapping reports whether another release has begun the import, which makes other properties of the same
// records. It returns the version of that release.
func (s *state) hasOtherMapping() (was int, yes bool) {
	const first = 1 // releases that kept no version
	now := s.kept.Input.mapping()
	was = max(s.kept.Mapping, first)
	return was, now != 0 && was != now
}

const theRest = "the rest of it"

// checkMapping refuses to send more events of an import, or its rejects, with another mapping. what names them.
func (s *state) checkMapping(what string) error {
	was, isOther := s.hasOtherMapping()
	if !isOther {
		return nil
	}
	f := mappingFault(s.dir, was)
	f.Text = fmt.Sprintf("the import in %s was begun by another release, with version %d of its mapping; this release has version %d, "+
		"so %s would have other properties than the events before. Nothing was sent", s.dir, was, s.kept.Input.mapping(), what)
	if p, _, _ := s.progress(); p.Ended == isComplete {
		f.Lines = append(f.Lines, "It is complete: hogimport verify and hogimport undo do their work as before.")
	}
	return f
}

// mappingFault has the advice for an import that another release has begun.
func mappingFault(dir string, was int) *shell.Fault {
	return &shell.Fault{
		Code: shell.CodeUsage, Text: fmt.Sprintf("the import in %s was begun with version %d of the mapping, by another release", dir, was),
		Todo: "use the release of hogimport that began it. To have all events as this release makes them, first remove the sent ones, " +
			"and then import the files with a folder and a name of their own, with --state DIR and --import-id NAME",
		Next: []shell.Step{{Text: "Remove the sent events:", Command: "hogimport undo --state " + shell.Quoted(dir)}},
	}
}
