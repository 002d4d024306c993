package cli

import (
	"encoding/csv"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/history"
)

// ofEvents is the number of the first keys of history.Choices, which change the events that a record becomes.
const ofEvents = 24

// differences returns the flags in which two inputs differ.
func (in *input) differences(other *input) string {
	names := in.Differences(&other.Choices)
	for i, name := range names {
		names[i] = "--" + name
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
	add := func(name string, values ...string) {
		for _, value := range values {
			words = append(words, "--"+name, shell.Quoted(value))
		}
	}
	for _, key := range in.Keys() {
		switch to := key.To.(type) {
		case *bool:
			if *to {
				words = append(words, "--"+key.Name)
			}
		case *string:
			if *to != "" {
				add(key.Name, *to)
			}
		case *[]string:
			if key.Name == "header" || key.Name == "numbers" {
				if len(*to) > 0 {
					add(key.Name, joinedColumns(*to))
				}
				continue
			}
			add(key.Name, *to...)
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
	ordered := input{Choices: history.Choices{Sort: in.Sort, Links: in.Links, Sessions: in.Sessions, SessionsAfter: in.SessionsAfter}}
	words := append([]string{""}, ordered.typed()...)
	if in.sortsByDefault() && !in.Sort {
		words = append(words, "--sort=false")
	}
	return strings.Join(words, " ")
}

func joinedColumns(columns []string) string {
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
