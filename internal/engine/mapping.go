package engine

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// WithMapping adds the version of a vendor's mapping to the options of its format. They are part of the source's
// name, so an import resumes only with the mapping that it began with. Version 1 had no such text, and some formats have it since version 4.
func WithMapping(options string, version int) string {
	text := "mapping " + strconv.Itoa(version)
	if options == "" {
		return text
	}
	return text + mappingEnd + options
}

const mappingEnd = "; " // of the text, where options follow

// inNames matches the text of WithMapping in a name: it stands in brackets, alone or before options.
var inNames = regexp.MustCompile(` \(mapping ([0-9]+)\)|\(mapping ([0-9]+)` + mappingEnd)

// mappingOf returns the version in a name.
func mappingOf(name string) string {
	found := inNames.FindStringSubmatch(name)
	if found == nil {
		return "1"
	}
	return found[1] + found[2]
}

// withMappingOf returns a name as it would be with the mapping of another name.
func withMappingOf(name, other string) string {
	name = inNames.ReplaceAllStringFunc(name, func(found string) string {
		if strings.HasSuffix(found, mappingEnd) {
			return "("
		}
		return ""
	})
	for _, at := range inNames.FindAllStringIndex(other, -1) {
		from, to := at[0], at[1]
		if other[from] == '(' { // other options have it too
			from++
		}
		if !strings.HasPrefix(name, other[:from]) {
			break
		}
		name = other[:to] + name[from:]
	}
	return name
}

// otherMapping is the error of a state with a source of the same name but another mapping, or nil.
func (o Of) otherMapping(name string) error {
	was, now := mappingOf(name), mappingOf(o.Source)
	if was == now || !o.isSource(withMappingOf(name, o.Source)) {
		return nil
	}
	return Unfit("begun with the mapping", was, fmt.Sprintf("the mapping %s of this release: the releases make other properties of the same records. "+
		"Give the version as Mapping in the options of the format, or finish the import with the release that began it; or remove its events from the project, and import with another ID and another checkpoint", now))
}
