package formats

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// String returns the report as a text: the report of the import, and tables of the facts about the format.
func (r CheckReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "format %s\n%s\n", r.Format, r.CheckReport)
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if r.Good > 0 {
		fmt.Fprintf(table, "in UTC\tfrom %s\tto %s\n", r.Oldest.UTC().Format(time.RFC3339), r.Newest.UTC().Format(time.RFC3339))
		fmt.Fprintf(table, "in %s\tfrom %s\tto %s\n", r.Zone, r.OldestLocal.Format(time.RFC3339), r.NewestLocal.Format(time.RFC3339))
	}
	shares(table, "distinct id", r.IDs)
	shares(table, "uuid of", r.UUIDs)
	fmt.Fprintf(table, "records with the vendor's id of an earlier one\t%d\n", r.DoubleIDs)
	_ = table.Flush()
	if r.Test != "" {
		fmt.Fprintf(&b, "test: %s\n", r.Test)
	}
	if len(r.Kept) > 0 {
		fmt.Fprintf(&b, "kept under their own names: %s\n", counted(r.Kept))
	}
	for _, e := range r.Examples {
		fmt.Fprintf(&b, "from %s\n", e.Before)
		for _, after := range e.After {
			fmt.Fprintf(&b, "  to %s\n", after)
		}
	}
	r.held(&b)
	if r.Links != nil {
		fmt.Fprintf(&b, "%s\n", r.Links)
	}
	fmt.Fprintf(&b, "to import: %d events of about %d persons", r.Good, r.Persons)
	if r.Hours > 0 {
		fmt.Fprintf(&b, ", %.1f hours at the chosen rate", r.Hours)
	}
	b.WriteString("\nbilling: historical events less than 48 hours old are billed as live ones, so the gate refuses them; " +
		"whether others are billed, your plan says")
	return b.String()
}

func (r CheckReport) held(b *strings.Builder) {
	if len(r.Held) == 0 {
		return
	}
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "day\tthe project has\tthe files have\t\n")
	for _, d := range r.Held {
		fmt.Fprintf(table, "%s\t%d\t%d\t\n", d.Day, d.Project, d.Files)
	}
	_ = table.Flush()
	if r.CutFrom != "" {
		fmt.Fprintf(b, "from %s on the project has events on every day of the files: if those are the same events, "+
			"import only what is before\n", r.CutFrom)
	}
}

// shares writes how many events are of each kind, the largest first.
func shares(table *tabwriter.Writer, what string, counts map[string]int64) {
	const percent = 100
	var all int64
	for _, n := range counts {
		all += n
	}
	for _, kind := range bySize(counts) {
		fmt.Fprintf(table, "%s: %s\t%d\t%.1f %%\n", what, kind, counts[kind], float64(percent*counts[kind])/float64(all))
	}
}

// bySize are the keys of counts, the largest first.
func bySize(counts map[string]int64) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}

// counted lists counts, the largest first.
func counted(counts map[string]int64) string {
	const most = 30
	keys := bySize(counts)
	var parts []string
	for _, key := range keys[:min(most, len(keys))] {
		parts = append(parts, fmt.Sprintf("%q %d", key, counts[key]))
	}
	if more := len(keys) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}
