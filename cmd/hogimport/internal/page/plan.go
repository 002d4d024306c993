package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hogapi/hogapi/formats"
)

// Plan is what a plan of an import says, for its page.
type Plan struct {
	File, Import string
	Keyed        func(text string) string // a text with keys of the plan in place of flags

	Choices []PlanChoice
	Decide  []PlanDecision
	Files   []PlanFile
}

// PlanChoice is a choice or an answer with its reason or its effect.
type PlanChoice struct{ Key, Value, Why string }

// PlanDecision is a problem that a person has to decide.
type PlanDecision struct {
	Key, Problem, Answer string
	IsOpen               bool
	Answers              []PlanChoice
}

// PlanFile is a file of a plan.
type PlanFile struct {
	Path, Bytes, Mark string
	Records           int64
}

// Open returns the number of decisions that are open.
func (p Plan) Open() (n int64) {
	for _, d := range p.Decide {
		if d.IsOpen {
			n++
		}
	}
	return n
}

// A conversion is a record next to its events, with what changes on the way.
type conversion struct {
	formats.Conversion

	Changes []change
}

// change is what becomes of some values of a record.
type change struct{ What, Names, Why string }

// conversions returns the first examples.
func (c Check) conversions() (list []conversion) {
	const maxShown = 3
	for _, e := range c.Report.Examples[:min(len(c.Report.Examples), maxShown)] {
		list = append(list, conversion{e, c.changes(e)})
	}
	return list
}

// changes compares the values of a record with those of its first event, by their names and contents.
func (c Check) changes(e formats.Conversion) (list []change) {
	if len(e.After) == 0 {
		return nil
	}
	before, after := leaves(e.Before), leaves(e.After[0])
	if len(before) == 0 {
		return nil // the record is longer than what is kept of it, or no JSON
	}
	ends := map[string]string{} // values of the record by the last part of their names
	byValue := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		ends[last(name)] = before[name]
		byValue[before[name]] = append(byValue[before[name]], name)
	}
	used, kept := map[string]bool{}, 0
	var renamed, made, out []string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		value := after[name]
		if value == ends[last(name)] && value != "" {
			kept++
			for _, from := range byValue[value] {
				used[from] = used[from] || last(from) == last(name)
			}
			continue
		}
		from := byValue[value]
		if len(value) < 2 { // a digit tells nothing
			from = nil
		}
		switch {
		case name == "timestamp":
			made = append(made, name)
		case len(from) > 0:
			used[from[0]] = true
			renamed = append(renamed, last(from[0])+" → "+last(name))
		default:
			made = append(made, last(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if !used[name] && before[name] != "" && before[name] != "null" {
			out = append(out, last(name))
		}
	}
	zone := ""
	if c.Clock != nil && c.Clock.String() != "UTC" {
		zone = "; times are read by the clocks of " + c.Clock.String()
	}
	add := func(what string, names []string, why string) {
		if len(names) > 0 {
			list = append(list, change{what, strings.Join(slices.Compact(names), ", "), why})
		}
	}
	add("Other names", renamed, "PostHog knows the same thing by these names")
	add("Made of the record", made, "what PostHog needs in a form of its own"+zone)
	add("In no event as they are", out, "they are part of the values above, the vendor’s own bookkeeping, or empty")
	if kept > 0 {
		list = append(list, change{"As they were", fmt.Sprintf("%d values", kept), "they keep their names"})
	}
	return list
}

func last(name string) string { return name[strings.LastIndexByte(name, '\x00')+1:] }

// leaves returns the values of JSON by their names, with a NUL between the parts of a name.
func leaves(text string) map[string]string {
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.UseNumber()
	var all any
	if decoder.Decode(&all) != nil {
		return nil
	}
	found := map[string]string{}
	var walk func(name string, value any)
	walk = func(name string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for key, inner := range value {
				walk(name+"\x00"+key, inner)
			}
		case []any:
			for i, inner := range value {
				walk(fmt.Sprintf("%s[%d]", name, i), inner)
			}
		case nil:
		default:
			found[strings.TrimPrefix(name, "\x00")] = fmt.Sprint(value)
		}
	}
	walk("", all)
	return found
}
