package cli

import (
	"encoding/csv"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hogapi/hogapi/cmd/internal/shell"
)

// A setting is a flag of an input with its values: several for a flag that is repeated.
type setting struct {
	flag   string
	isOn   bool // the flag has no value, and is given
	values []string
}

// settings returns all flags of an input. The first ones, up to ofEvents, change the events that a record
// becomes.
func (in *input) settings() []setting {
	one := func(value string) []string {
		if value == "" {
			return nil
		}
		return []string{value}
	}
	return []setting{
		{flag: "--format", values: one(in.Format)}, {flag: "--header", values: one(joinedColumns(in.Header))}, {flag: "--map", values: in.Map},
		{flag: "--zone", values: one(in.Zone)}, {flag: "--group-type", values: one(in.GroupType)},
		{flag: "--table", values: one(in.Table)}, {flag: "--numbers", values: one(joinedColumns(in.Numbers))}, {flag: "--device-prefix", isOn: in.Devices},
		{flag: "--set-policy", values: one(in.SetPolicy)}, {flag: "--group", values: in.Groups}, {flag: "--no-visitor-profiles", isOn: in.NoVisitor},
		{flag: "--look-up-ip", isOn: in.LookUpIP}, {flag: "--leave-persons", isOn: in.Leave}, {flag: "--keep-nulls", isOn: in.KeepNulls}, {flag: "--no-goals", isOn: in.NoGoals}, {flag: "--no-intraday", isOn: in.NoIntraday},
		{flag: "--whole-key", isOn: in.WholeKey}, {flag: "--fingerprints", isOn: in.Fingerprints},
		{flag: "--no-id", values: one(in.NoID)}, {flag: "--skip-no-id", isOn: in.SkipNoID}, {flag: "--named-columns", isOn: in.Named},
		{flag: "--" + renameFlag, values: in.Rename}, {flag: "--" + dropFlag, values: in.Drop}, {flag: "--" + propertyFlag, values: in.RenameProperty},
		{flag: "--until", values: one(in.Until)}, {flag: "--sort", isOn: in.Sort}, {flag: "--links", isOn: in.Links},
		{flag: "--sessions", values: one(in.Sessions)}, {flag: "--sessions-after", values: one(in.SessionsAfter)},
		{flag: "--shared-devices", values: one(in.Shared)}, {flag: "--max-ids", values: one(in.MaxIDs)}, {flag: "--real-id", values: in.RealIDs},
	}
}

const ofEvents = 24

// differences returns the flags in which two inputs differ.
func (in *input) differences(other *input) string {
	var names []string
	others := other.settings()
	for i, s := range in.settings() {
		if s.isOn != others[i].isOn || !slices.Equal(s.values, others[i].values) {
			names = append(names, s.flag)
		}
	}
	return strings.Join(names, ", ")
}

// commandLine returns the files and the flags of an input as they can be typed, without the flags of orderFlags.
func commandLine(in input) string {
	in.unorder()
	return strings.Join(append(fileWords(in.Files), in.typed()...), " ")
}

// typed returns the flags of an input as they are typed.
func (in *input) typed() (words []string) {
	for _, s := range in.settings() {
		if s.isOn {
			words = append(words, s.flag)
		}
		for _, value := range s.values {
			words = append(words, s.flag, shell.Quoted(value))
		}
	}
	if in.memory != "" {
		words = append(words, "--memory", in.memory)
	}
	return words
}

// unorder takes out the flags of orderFlags.
func (in *input) unorder() { in.Sort, in.Links, in.Sessions, in.SessionsAfter = false, false, "", "" }

// orderFlags returns the flags that need all events, such as --sort, as they are typed, each after a blank.
func (in *input) orderFlags() string {
	ordered := input{Sort: in.Sort, Links: in.Links, Sessions: in.Sessions, SessionsAfter: in.SessionsAfter}
	words := append([]string{""}, ordered.typed()...)
	if in.sortsByDefault() && !in.Sort {
		words = append(words, "--sort=false")
	}
	return strings.Join(words, " ")
}

func joinedColumns(columns []string) string {
	if len(columns) == 0 {
		return ""
	}
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(columns) // to a Builder
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}

// fileWords returns files as a shell reads them. Many files become one pattern if it matches them and no
// others.
func fileWords(paths []string) (words []string) {
	const many = 4
	if len(paths) > many {
		pattern := patternOf(paths)
		found, err := filepath.Glob(pattern)
		wanted := slices.Sorted(slices.Values(paths))
		if err == nil && shell.Quoted(pattern) == pattern && slices.Equal(found, slices.Compact(wanted)) {
			return []string{pattern}
		}
	}
	const most, shown = 20, 2 // words of a command
	for i, path := range paths {
		if len(paths) > most && i == shown {
			return append(words, fmt.Sprintf("'… %d more files'", len(paths)-shown)) // which no shell takes for files
		}
		words = append(words, shell.Quoted(path))
	}
	return words
}

// patternOf puts an asterisk where names differ.
func patternOf(paths []string) string {
	prefix, suffix := paths[0], paths[0]
	for _, path := range paths[1:] {
		for !strings.HasPrefix(path, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
		for !strings.HasSuffix(path, suffix) {
			suffix = suffix[1:]
		}
	}
	shortest := slices.MinFunc(paths, func(a, b string) int { return len(a) - len(b) })
	return prefix + "*" + suffix[max(0, len(prefix)+len(suffix)-len(shortest)):]
}
